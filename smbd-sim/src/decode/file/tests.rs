use super::source::Order;
use super::*;

impl Order {
    fn u16_bytes(self, value: u16) -> [u8; 2] {
        match self {
            Self::Little => value.to_le_bytes(),
            Self::Big => value.to_be_bytes(),
        }
    }

    fn u32_bytes(self, value: u32) -> [u8; 4] {
        match self {
            Self::Little => value.to_le_bytes(),
            Self::Big => value.to_be_bytes(),
        }
    }
}

const BOTH: [Order; 2] = [Order::Little, Order::Big];

fn pcap(endian: Order, magic: u32, link: u32, records: &[(u32, u32, &[u8])]) -> Vec<u8> {
    let mut out = Vec::new();
    out.extend(endian.u32_bytes(magic));
    out.extend(endian.u16_bytes(2));
    out.extend(endian.u16_bytes(4));
    for word in [0, 0, 65_535, link] {
        out.extend(endian.u32_bytes(word));
    }
    for (seconds, fraction, data) in records {
        let len = data.len() as u32;
        for word in [*seconds, *fraction, len, len + 1] {
            out.extend(endian.u32_bytes(word));
        }
        out.extend_from_slice(data);
    }
    out
}

fn block(endian: Order, kind: u32, body: &[u8]) -> Vec<u8> {
    let total = endian.u32_bytes(body.len() as u32 + 12);
    [&endian.u32_bytes(kind)[..], &total, body, &total].concat()
}

fn section(endian: Order) -> Vec<u8> {
    let body =
        [&endian.u32_bytes(0x1a2b_3c4d)[..], &endian.u16_bytes(1), &endian.u16_bytes(0), &[0xff; 8]].concat();
    block(endian, 0x0a0d_0d0a, &body)
}

fn interface(endian: Order, link: u16, options: &[(u16, &[u8])]) -> Vec<u8> {
    let mut body = [&endian.u16_bytes(link)[..], &[0; 6]].concat();
    for (code, value) in options {
        body.extend(endian.u16_bytes(*code));
        body.extend(endian.u16_bytes(value.len() as u16));
        body.extend_from_slice(value);
        body.resize(body.len().next_multiple_of(4), 0);
    }
    block(endian, 1, &body)
}

fn packet(endian: Order, interface: u32, ticks: u64, data: &[u8]) -> Vec<u8> {
    let len = data.len() as u32;
    let mut body = Vec::new();
    for word in [interface, (ticks >> 32) as u32, ticks as u32, len, len] {
        body.extend(endian.u32_bytes(word));
    }
    body.extend_from_slice(data);
    body.resize(body.len().next_multiple_of(4), 0);
    block(endian, 6, &body)
}

fn frames(bytes: &[u8]) -> Result<Vec<Frame>, FileError> {
    let mut reader = FrameReader::new(bytes)?;
    let mut frames = Vec::new();
    while let Some(frame) = reader.next_frame()? {
        frames.push(frame);
    }
    Ok(frames)
}

#[test]
fn pcap_is_read_in_both_byte_orders_and_both_resolutions() {
    for endian in BOTH {
        for (magic, nanoseconds) in [(0xa1b2_c3d4, 1_000_007_000), (0xa1b2_3c4d, 1_000_000_007)] {
            let file = pcap(endian, magic, 1, &[(1, 7, b"abc"), (2, 0, b"")]);
            let frames = frames(&file).unwrap();
            assert_eq!(frames.len(), 2);
            let first = Frame {
                number: 1,
                time_ns: nanoseconds,
                link: LinkType::Ethernet,
                original_len: 4,
                data: b"abc".to_vec(),
            };
            assert_eq!(frames[0], first);
            assert_eq!((frames[1].number, frames[1].time_ns), (2, 2_000_000_000));
        }
    }
}

#[test]
fn link_types_are_told_apart() {
    let of = |link| frames(&pcap(Order::Little, 0xa1b2_c3d4, link, &[(0, 0, b"x")])).unwrap()[0].link;
    assert_eq!([of(101), of(228), of(229), of(12)], [LinkType::RawIp; 4]);
    assert_eq!((of(113), of(276), of(147)), (LinkType::LinuxSll, LinkType::LinuxSll2, LinkType::Other(147)));
}

#[test]
fn pcapng_is_read_in_both_byte_orders_with_the_clock_of_each_interface() {
    for endian in BOTH {
        let offset = match endian {
            Order::Little => 5_i64.to_le_bytes(),
            Order::Big => 5_i64.to_be_bytes(),
        };
        let file = [
            section(endian),
            interface(endian, 1, &[]),
            interface(endian, 101, &[(2, b"eth1"), (9, &[9]), (14, &offset), (0, b"")]),
            interface(endian, 113, &[(9, &[0x80 | 10])]),
            block(endian, 0x0bad, b"whatever"),
            packet(endian, 0, 3_000_001, b"abcde"),
            packet(endian, 1, 1 << 33, b"f"),
            packet(endian, 2, 1024 + 512, b""),
        ]
        .concat();
        let frames = frames(&file).unwrap();
        let seen: Vec<_> =
            frames.iter().map(|frame| (frame.link, frame.time_ns, frame.data.as_slice())).collect();
        assert_eq!(
            seen,
            [
                (LinkType::Ethernet, 3_000_001_000, b"abcde".as_slice()),
                (LinkType::RawIp, 5_000_000_000 + (1 << 33), b"f"),
                (LinkType::LinuxSll, 1_500_000_000, b""),
            ]
        );
    }
}

#[test]
fn a_second_section_has_its_own_byte_order_and_interfaces() {
    let file = [
        section(Order::Little),
        interface(Order::Little, 1, &[]),
        packet(Order::Little, 0, 1, b"a"),
        section(Order::Big),
        interface(Order::Big, 276, &[]),
        packet(Order::Big, 0, 2, b"b"),
    ]
    .concat();
    let frames = frames(&file).unwrap();
    assert_eq!(
        frames.iter().map(|frame| frame.link).collect::<Vec<_>>(),
        [LinkType::Ethernet, LinkType::LinuxSll2]
    );
    assert_eq!(frames[1].number, 2);
}

#[test]
fn a_simple_packet_is_as_long_as_the_interface_allows() {
    let endian = Order::Little;
    let mut short = interface(endian, 1, &[]);
    short[12] = 2;
    let body = [&5_u32.to_le_bytes()[..], b"ab\0\0"].concat();
    let file = [section(endian), short, block(endian, 3, &body)].concat();
    let frames = frames(&file).unwrap();
    assert_eq!((frames[0].original_len, frames[0].data.as_slice()), (5, b"ab".as_slice()));
}

fn text(bytes: &[u8]) -> String {
    frames(bytes).unwrap_err().to_string()
}

#[test]
fn every_error_names_record_offset_needed_and_got() {
    let little = Order::Little;
    let good = pcap(little, 0xa1b2_c3d4, 1, &[(1, 2, b"abc")]);
    let mut huge = good.clone();
    huge[24 + 8..24 + 12].copy_from_slice(&u32::MAX.to_le_bytes());
    let mut version = good.clone();
    version[4] = 3;
    let mut trailer = [section(little), interface(little, 1, &[])].concat();
    let last = trailer.len() - 4;
    trailer[last] ^= 8;
    let mut length = [section(little), interface(little, 1, &[])].concat();
    length[28 + 4] = 21;
    let mut inside = [section(little), interface(little, 1, &[]), packet(little, 0, 0, b"abc")].concat();
    inside[28 + 20 + 8 + 12] = 200;
    let errors = [
        text(b""),
        text(b"\x7fELF"),
        text(&good[..10]),
        text(&good[..30]),
        text(&good[..41]),
        text(&huge),
        text(&version),
        text(&section(little)[..9]),
        text(&trailer),
        text(&length),
        text(&inside),
        text(&[section(little), packet(little, 0, 0, b"")].concat()),
    ];
    insta::assert_snapshot!(errors.join("\n"));
}

#[test]
fn an_empty_file_and_a_compressed_one_are_told_from_one_of_another_kind() {
    assert_eq!(text(b""), "the file is empty");
    for (first, format, program) in [
        (&[0x1f, 0x8b, 8, 0][..], "gzip", "zcat"),
        (&[0x28, 0xb5, 0x2f, 0xfd], "zstd", "zstdcat"),
        (b"\xfd7zXZ\0", "xz", "xzcat"),
        (b"BZh91AY", "bzip2", "bzcat"),
    ] {
        let expected = format!(
            "the file is compressed ({format}); read what is in it from a pipe: `{program} FILE | COMMAND -`"
        );
        assert_eq!(text(first), expected);
    }
    assert_eq!(text(b"BZ"), "not a capture file: the first bytes are [42, 5a], neither pcap nor pcapng");
}

#[test]
fn a_false_length_allocates_no_more_than_the_file_has() {
    // 16 MiB are allowed by the limit; `Source` grows with what is there, so this is quick and small.
    let mut file = pcap(Order::Little, 0xa1b2_c3d4, 1, &[(0, 0, b"abc")]);
    file[24 + 8..24 + 12].copy_from_slice(&RECORD_MAX.to_le_bytes());
    let error = frames(&file).unwrap_err();
    assert!(matches!(error, FileError::Truncated { needed: 0x100_0000, got: 3, .. }), "{error}");
}
