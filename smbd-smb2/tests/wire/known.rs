//! Bytes that others sent: the mount of a share of Linux 6.12 by Linux 6.12, over SMB Direct.

use smbd_smb2::wire::*;

/// The bytes that hexadecimal digits stand for.
pub fn bytes(digits: &str) -> Vec<u8> {
    let digits: Vec<_> = digits.chars().filter_map(|digit| digit.to_digit(16)).collect();
    digits.chunks(2).map(|pair| (pair[0] * 16 + pair[1]) as u8).collect()
}

/// With the bytes of a slice on one line.
fn shown(text: &str) -> String {
    let (mut shown, mut digits) = (String::new(), String::new());
    for line in text.lines() {
        let content = line.trim_start();
        if let Some(byte) = content.strip_suffix(',').and_then(|byte| byte.parse::<u8>().ok()) {
            if digits.is_empty() {
                digits += &line[..line.len() - content.len()];
            }
            digits += &format!("{byte:02x}");
        } else {
            for line in [&digits[..], line].into_iter().filter(|line| !line.is_empty()) {
                shown += line;
                shown += "\n";
            }
            digits.clear();
        }
    }
    shown
}

/// Reads a message of one element; what is built of what was read is read as the same.
fn request(digits: &str) -> String {
    let message = bytes(digits);
    let (header, body) = (Header::parse(&message).unwrap(), Request::parse(&message).unwrap());
    let mut again = Vec::new();
    write_element(&mut again, &header, &body).unwrap();
    assert_eq!(Request::parse(&again), Ok(body));
    shown(&format!("{header:#?}\n{body:#?}"))
}

fn response(digits: &str) -> String {
    let message = bytes(digits);
    let (header, body) = (Header::parse(&message).unwrap(), Response::parse(&message).unwrap());
    let mut again = Vec::new();
    write_element(&mut again, &header, &body).unwrap();
    assert_eq!(Response::parse(&again), Ok(body));
    shown(&format!("{header:#?}\n{body:#?}"))
}

const THE_NEGOTIATE_OF_LINUX: &str = "\
    fe534d42400000000000000000000a000000000000000000000000000000000015010000000000000000000000000000 \
    00000000000000000000000000000000240001000100000077000000b6696e639d4c45528f063f1f13a884b568000000 \
    04000000110300000100260000000000010020000100ac81667dbb931fcbb9105555117ca0e3d402dee27e1e2d3dcc03 \
    6e42dc5f06b00000020008000000000003000200040001000500100000000000310030002e0039002e0030002e003100 \
    000110000000000093ad25509cb411e7b42383de968bcd7c";

#[test]
fn the_negotiate_of_linux_is_read() {
    insta::assert_snapshot!(request(THE_NEGOTIATE_OF_LINUX));
}

const THE_ANSWER_OF_KSMBD_TO_IT: &str = "\
    fe534d424000000000000000000001000100000000000000000000000000000015010000000000000000000000000000 \
    000000000000000000000000000000004100010011030300000000000000000000000000000000000c00000000001000 \
    00004000000040002aab0a2c8879dd01000000000000000080004a00d0000000604806062b0601050502a03e303ca00e \
    300c060a2b06010401823702020aa32a3028a0261b246e6f745f646566696e65645f696e5f5246433431373840706c65 \
    6173655f69676e6f72650000000000000100260000000000010020000100db4f6dc476e68ec9701340f8e51da97754a6 \
    b5746bdb15925b150cf799e390d3000002000400000000000100020000000000000110000000000093ad25509cb411e7 \
    b42383de968bcd7c";

#[test]
fn the_answer_of_ksmbd_to_it_is_read() {
    insta::assert_snapshot!(response(THE_ANSWER_OF_KSMBD_TO_IT));
}

const A_TREE_CONNECT: &str = "\
    fe534d424000010000000000030040000800000000000000030000000000000015010000000000000100000000000000 \
    93c1fad78ac9dc3ee1ac9d91f604f7a60900000048001e005c005c00310030002e0039002e0030002e0031005c004900 \
    500043002400";

#[test]
fn a_tree_connect_is_read() {
    insta::assert_snapshot!(request(A_TREE_CONNECT));
}

const THE_ANSWER_TO_A_TREE_CONNECT: &str = "\
    fe534d424000010000000000030040000900000000000000030000000000000015010000010000000100000000000000 \
    ca57ad6bc75005fea2b2ca8775071ae3100002000000000000000000a9001f00";

#[test]
fn the_answer_to_a_tree_connect_is_read() {
    insta::assert_snapshot!(response(THE_ANSWER_TO_A_TREE_CONNECT));
}

const A_CREATE_WITH_CONTEXTS: &str = "\
    fe534d42400001000000000005000a00000000000000000020000000000000002f010000020000000100000000000000 \
    000000000000000000000000000000003900000902000000000000000000000000000000000000008000008000000000 \
    07000000010000004000000078000a00880000004000000066002e00620069006e000000000000002800000010000400 \
    000018001000000044486e51000000000000000000000000000000000000000000000000100004000000000000000000 \
    5146696400000000";

#[test]
fn a_create_with_contexts_is_read() {
    insta::assert_snapshot!(request(A_CREATE_WITH_CONTEXTS));
}

const THE_ANSWER_TO_A_CREATE: &str = "\
    fe534d42400001000000000005000a000100000000000000050000000000000015010000020000000100000000000000 \
    000000000000000000000000000000005900000001000000b51df8198879dd01b51df8198879dd01f4c681298879dd01 \
    f4c681298879dd0100000000000000000000000000000000100000000000000001000000000000000100000000000000 \
    980000003800000000000000100004000000180020000000514669640000000003000000000000000200000000000000 \
    00000000000000000000000000000000";

#[test]
fn the_answer_to_a_create_is_read() {
    insta::assert_snapshot!(response(THE_ANSWER_TO_A_CREATE));
}

const A_READ_BY_RDMA: &str = "\
    fe534d42400002000000000008000a00000000000000000021000000000000002f010000020000000100000000000000 \
    000000000000000000000000000000003100000000000200000000000000000008000000000000000800000000000000 \
    0000000002000000000000007000100000507e01010011ff3704000000000200";

#[test]
fn a_read_by_rdma_is_read() {
    insta::assert_snapshot!(request(A_READ_BY_RDMA));
}

const THE_ANSWER_TO_A_READ_BY_RDMA: &str = "\
    fe534d42400002000000000008000a00010000000000000021000000000000002f010000020000000100000000000000 \
    0000000000000000000000000000000011005000000000000000020000000000";

#[test]
fn the_answer_to_a_read_by_rdma_is_read() {
    insta::assert_snapshot!(response(THE_ANSWER_TO_A_READ_BY_RDMA));
}

const A_WRITE_BY_RDMA: &str = "\
    fe534d42400004000000000009000c0000000000000000002d0000000000000030010000020000000100000000000000 \
    000000000000000000000000000000003100000000000000000000000000000009000000000000000900000000000000 \
    02000000400d030070001000000000000020cd01010011ff39040000400d0300";

#[test]
fn a_write_by_rdma_is_read() {
    insta::assert_snapshot!(request(A_WRITE_BY_RDMA));
}

const THE_ANSWER_TO_A_WRITE_BY_RDMA: &str = "\
    fe534d42400004000000000009000c0001000000000000002d0000000000000030010000020000000100000000000000 \
    0000000000000000000000000000000011000000400d03000000000000000000";

#[test]
fn the_answer_to_a_write_by_rdma_is_read() {
    insta::assert_snapshot!(response(THE_ANSWER_TO_A_WRITE_BY_RDMA));
}

const AN_IOCTL: &str = "\
    fe534d4240000100000000000b000a000000000000000000060000000000000015010000020000000100000000000000 \
    0000000000000000000000000000000039000000fc011400ffffffffffffffffffffffffffffffff0000000000000000 \
    00000000000000000000000000400000010000000000000000";

#[test]
fn an_ioctl_is_read() {
    insta::assert_snapshot!(request(AN_IOCTL));
}

const THE_END_OF_A_DIRECTORY: &str = "\
    fe534d4240000100060000800e000a0001000000000000001b000000000000002c010000020000000100000000000000 \
    00000000000000000000000000000000090000000000000000";

#[test]
fn the_end_of_a_directory_is_read() {
    insta::assert_snapshot!(response(THE_END_OF_A_DIRECTORY));
}

const A_FLUSH: &str = "\
    fe534d42400001000000000007000a000000000000000000280000000000000030010000020000000100000000000000 \
    00000000000000000000000000000000180000000000000009000000000000000900000000000000";

#[test]
fn a_flush_is_read() {
    insta::assert_snapshot!(request(A_FLUSH));
}

const A_SET_INFO: &str = "\
    fe534d42400001000000000011000a000000000000000000290000000000000030010000020000000100000000000000 \
    000000000000000000000000000000002100011408000000600000000000000009000000000000000900000000000000 \
    0000000000000000";

#[test]
fn a_set_info_is_read() {
    insta::assert_snapshot!(request(A_SET_INFO));
}

/// The offer of 4.1.
#[test]
fn the_dialects_of_the_offer_in_the_first_example_are_read() {
    let header = "ff534d42 72 00000000 18 53c8 0000 0000000000000000 0000 ffff fffe 0000 0000 00 6d00";
    let names = "\x02PC NETWORK PROGRAM 1.0\0\x02LANMAN1.0\0\x02Windows for Workgroups 3.1a\0\x02LM1.2X002\0\x02LANMAN2.1\0\
                 \x02NT LM 0.12\0\x02SMB 2.002\0";
    let message = [&bytes(header)[..], names.as_bytes()].concat();
    let Ok(Message::Smb1Negotiate(negotiate)) = Message::parse(&message) else { panic!("not told") };
    assert_eq!(negotiate.dialects().count(), 7);
    assert_eq!(negotiate.dialects().last(), Some(Smb1Negotiate::SMB_2_002));
    // A server's answer is none, and neither is another command.
    for (at, value) in [(9, 0x98), (4, 0x73)] {
        let mut other = message.clone();
        other[at] = value;
        assert!(matches!(Message::parse(&other), Ok(Message::Other(_))));
    }
}
