//! What is checked of every message (3.3.5.2.1 to 3.3.5.2.11).

use smbd_smb2::security::SecurityError;
use smbd_smb2::server::Reason;
use smbd_smb2::wire::{
    Capabilities, Cipher, CloseRequest, Command, ControlCode, Dialect, EchoRequest, FileId, Flags, Guid,
    Header, InfoType, IoctlFlags, IoctlRequest, IoctlResponse, NtStatus, QueryInfoRequest, ReadRequest,
    SecurityMode, SessionId, TreeId, WriteRequest, transform,
};

use crate::rig::{Protect, RDMA, Rig, TCP, message, params};

fn ready() -> Rig {
    Rig::ready(params(), TCP)
}

/// An ECHO, as it is changed by `change`: what came of it.
fn echo(rig: &mut Rig, change: impl Fn(&mut Header)) -> Vec<NtStatus> {
    let mut header = rig.header::<EchoRequest>(0);
    change(&mut header);
    let answers = rig.ask_all(&header, &EchoRequest::default());
    answers.iter().map(|answer| answer.status()).collect()
}

#[test]
fn before_negotiate_nothing_else_is_answered_3_3_5_2_2() {
    for transport in [TCP, RDMA] {
        let mut rig = Rig::new(params(), transport);
        assert_eq!(echo(&mut rig, |_| {}), []);
        assert_eq!(rig.closed, Some(Reason::OutOfOrder(Command::ECHO)));
    }
}

#[test]
fn a_second_negotiate_ends_the_connection_3_3_5_4() {
    let mut rig = ready();
    let header = rig.header::<smbd_smb2::wire::NegotiateRequest<'_>>(0);
    rig.give(&mut message(&header, &smbd_smb2::wire::NegotiateRequest::default()));
    assert_eq!(rig.closed, Some(Reason::OutOfOrder(Command::NEGOTIATE)));
}

#[test]
fn what_is_none_of_smb2_ends_the_connection_3_3_5_2() {
    for bytes in [&b""[..], b"\xfeSM", b"GET / HTTP/1.1\r\n\r\n", b"\xffSMB\x73", b"\xfdSMB", b"\xfcSMB"] {
        let mut rig = ready();
        rig.give(&mut bytes.to_vec());
        assert!(rig.closed.is_some(), "{bytes:?}");
        assert!(rig.answers().is_empty());
    }
    let mut rig = ready();
    let mut compressed = b"\xfcSMB".to_vec();
    compressed.resize(40, 0);
    rig.give(&mut compressed);
    assert_eq!(rig.closed, Some(Reason::Compressed));
}

#[test]
fn a_message_that_is_too_long_ends_the_connection_3_3_5_2() {
    let mut rig = ready();
    let mut long = message(&rig.header::<EchoRequest>(0), &EchoRequest::default());
    long.resize(68 * 1024 + 1, 0);
    rig.give(&mut long);
    assert_eq!(
        rig.closed,
        Some(Reason::TooLong { len: 68 * 1024 + 1, max: 68 * 1024 }),
        "a command without data"
    );
    let mut rig = ready();
    rig.give(&mut vec![0; (8 << 20) + 256 + 53]);
    assert!(matches!(rig.closed, Some(Reason::TooLong { .. })));
}

#[test]
fn an_unknown_command_or_half_a_header_ends_the_connection_3_3_5_2_6() {
    for command in [Command::SERVER_TO_CLIENT_NOTIFICATION, Command(99)] {
        let mut rig = ready();
        assert_eq!(echo(&mut rig, |header| header.command = command), []);
        assert_eq!(rig.closed, Some(Reason::UnknownCommand(command)));
    }
    let mut rig = ready();
    let mut half = message(&rig.header::<EchoRequest>(0), &EchoRequest::default());
    half.truncate(63);
    rig.give(&mut half);
    assert!(matches!(rig.closed, Some(Reason::Malformed(_))));
}

#[test]
fn a_request_that_is_none_of_its_structure_is_refused_3_3_5_2_6() {
    let mut rig = ready();
    let mut bad = message(&rig.header::<CloseRequest>(0), &CloseRequest::default());
    bad[64] = 23;
    rig.give(&mut bad);
    assert_eq!(rig.answers()[0].status(), NtStatus::INVALID_PARAMETER);
    let mut short = message(&rig.header::<CloseRequest>(0), &CloseRequest::default());
    short.truncate(80);
    rig.give(&mut short);
    assert_eq!(rig.answers()[0].status(), NtStatus::INVALID_PARAMETER);
}

#[test]
fn a_message_id_outside_of_the_window_ends_the_connection_3_3_5_2_3() {
    for (message_id, charge) in [(0, 1), (1 << 40, 1), (u64::MAX, 1), (u64::MAX - 1, 3)] {
        let mut rig = ready();
        let change = |header: &mut Header| {
            (header.message_id.0, header.credit_charge) = (message_id, charge);
        };
        assert_eq!(echo(&mut rig, change), []);
        assert_eq!(rig.closed, Some(Reason::Sequence { message_id, count: charge.into() }));
    }
}

#[test]
fn all_ids_of_a_charge_have_to_be_in_the_window_3_3_5_2_3() {
    let mut rig = ready();
    let left = u16::try_from(rig.credits()).unwrap();
    let mut other = ready();
    assert_eq!(echo(&mut rig, |header| header.credit_charge = left), [NtStatus::SUCCESS]);
    assert_eq!(echo(&mut other, |header| header.credit_charge = left + 1), []);
    assert!(matches!(other.closed, Some(Reason::Sequence { .. })));
}

#[test]
fn a_wrong_signature_is_refused_and_one_of_nobody_too_3_3_5_2_4() {
    let mut rig = ready();
    rig.protect = Protect::Sign;
    let header = rig.header::<EchoRequest>(0);
    let mut bytes = message(&header, &EchoRequest::default());
    rig.keys.as_ref().unwrap().signer.sign_in_place(&mut bytes).unwrap();
    bytes[50] ^= 1;
    rig.give(&mut bytes);
    assert_eq!(rig.answers()[0].status(), NtStatus::ACCESS_DENIED);
    rig.protect = Protect::Nothing;
    let signed = |session_id: u64| {
        move |header: &mut Header| {
            (header.flags, header.session_id) = (Flags::SIGNED, SessionId(session_id));
        }
    };
    assert_eq!(echo(&mut rig, signed(77)), [NtStatus::USER_SESSION_DELETED]);
    let mut params = params();
    params.guests = true;
    let mut rig = Rig::new(params, TCP);
    rig.negotiate(&[Dialect::SMB_3_1_1], &[]);
    rig.log_in("somebody", "whatever");
    let id = rig.session_id.0;
    assert_eq!(echo(&mut rig, signed(id)), [NtStatus::NOT_SUPPORTED], "a guest has no key");
}

#[test]
fn a_changed_request_is_not_carried_out_3_3_5_2_4() {
    let mut rig = ready();
    let file = rig.file("a");
    let header = rig.header::<WriteRequest<'_>>(0);
    let write = WriteRequest { file_id: file, data: b"data", ..WriteRequest::default() };
    let mut bytes = message(&header, &write);
    rig.keys.as_ref().unwrap().signer.sign_in_place(&mut bytes).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    rig.give(&mut bytes);
    assert_eq!(rig.answers()[0].status(), NtStatus::ACCESS_DENIED);
    assert_eq!(rig.files.used(), 0);
}

#[test]
fn an_encrypted_message_that_is_changed_or_of_nobody_ends_the_connection_3_3_5_2_1_1() {
    let sealed = |rig: &mut Rig| {
        let mut bytes = message(&rig.header::<EchoRequest>(0), &EchoRequest::default());
        let (sealer, _) = rig.keys.as_mut().unwrap().encryption.as_mut().unwrap();
        let front = sealer.seal_message(rig.session_id, &mut [&mut bytes]).unwrap();
        [&front[..], &bytes].concat()
    };
    for at in [4, 20, 60] {
        let mut rig = ready();
        let mut bytes = sealed(&mut rig);
        bytes[at] ^= 1;
        rig.give(&mut bytes);
        assert_eq!(rig.closed, Some(Reason::Security(SecurityError::BadEncryption)), "{at}");
    }
    let mut rig = ready();
    let mut bytes = sealed(&mut rig);
    transform::field::SESSION_ID.set(&mut bytes, SessionId(9)).unwrap();
    rig.give(&mut bytes);
    assert_eq!(rig.closed, Some(Reason::NoKeys { session_id: 9 }));
    let mut rig = ready();
    let mut bytes = sealed(&mut rig);
    transform::field::FLAGS.set(&mut bytes, smbd_smb2::wire::TransformFlags(2)).unwrap();
    rig.give(&mut bytes);
    assert_eq!(rig.closed, Some(Reason::Security(SecurityError::Flags(2))));
    let mut rig = ready();
    let mut bytes = sealed(&mut rig);
    bytes.truncate(transform::LEN);
    rig.give(&mut bytes);
    assert!(rig.closed.is_some(), "nothing in it");
}

#[test]
fn what_is_encrypted_is_of_the_session_that_encrypted_it_3_3_5_2_1_1() {
    for related in [false, true] {
        let mut rig = ready();
        rig.protect = Protect::Seal;
        let header = rig.header::<EchoRequest>(0);
        let header = if related { header.related() } else { Header { session_id: SessionId(3), ..header } };
        rig.send(message(&header, &EchoRequest::default()));
        assert_eq!(rig.closed, Some(Reason::OtherSession));
    }
}

#[test]
fn a_charge_has_to_cover_what_is_sent_and_what_is_asked_for_3_3_5_2_5() {
    let mut rig = ready();
    let file_id = rig.file("a");
    let with_charge = |rig: &mut Rig, charge: u16| {
        let header = rig.header::<ReadRequest<'_>>(u64::from(charge.max(1)) * 65536);
        Header { credit_charge: charge, ..header }
    };
    let read = ReadRequest { file_id, length: 65537, ..ReadRequest::default() };
    for (charge, expected) in
        [(0, NtStatus::INVALID_PARAMETER), (1, NtStatus::INVALID_PARAMETER), (2, NtStatus::END_OF_FILE)]
    {
        let header = with_charge(&mut rig, charge);
        assert_eq!(rig.ask(&header, &read).status(), expected, "READ, {charge}");
    }
    let write = WriteRequest { file_id, data: &[1; 65537], ..WriteRequest::default() };
    for (charge, expected) in [(1, NtStatus::INVALID_PARAMETER), (2, NtStatus::SUCCESS)] {
        let header = with_charge(&mut rig, charge);
        let header = Header { command: Command::WRITE, ..header };
        assert_eq!(rig.ask(&header, &write).status(), expected, "WRITE, {charge}");
    }
    let query = QueryInfoRequest {
        file_id,
        info_type: InfoType::FILE,
        info_class: 5,
        output_buffer_length: 65537,
        ..QueryInfoRequest::default()
    };
    assert_eq!(rig.status(&query), NtStatus::INVALID_PARAMETER);
}

#[test]
fn a_session_has_to_be_there_and_done_3_3_5_2_9() {
    let mut rig = ready();
    rig.session_id = SessionId(5);
    assert_eq!(rig.status(&CloseRequest::default()), NtStatus::USER_SESSION_DELETED);
    assert_eq!(echo(&mut rig, |_| {}), [NtStatus::USER_SESSION_DELETED]);
    assert_eq!(echo(&mut rig, |header| header.session_id = SessionId::NONE), [NtStatus::SUCCESS], "3.3.5.17");
}

#[test]
fn an_older_channel_sequence_changes_nothing_3_3_5_2_10() {
    let mut rig = ready();
    let file_id = rig.file("a");
    let write = WriteRequest { file_id, data: b"x", ..WriteRequest::default() };
    let mut with = |sequence: u16| {
        let mut header = rig.header::<WriteRequest<'_>>(0);
        header.status = NtStatus(sequence.into());
        rig.ask(&header, &write).status()
    };
    let unavailable = NtStatus(0xC000_0467);
    assert_eq!(
        [with(0), with(3), with(2), with(3)],
        [NtStatus::SUCCESS, NtStatus::SUCCESS, unavailable, NtStatus::SUCCESS]
    );
    assert_eq!(with(3_u16.wrapping_add(0x8000)), unavailable);
    assert_eq!(with(3 + 0x7FFF), NtStatus::SUCCESS);
}

#[test]
fn a_tree_connect_has_to_be_there_3_3_5_2_11() {
    let mut rig = ready();
    let file_id = rig.file("a");
    rig.tree_id = TreeId(99);
    let close = CloseRequest { file_id, ..CloseRequest::default() };
    assert_eq!(rig.status(&close), NtStatus::NETWORK_NAME_DELETED);
}

/// FSCTL_VALIDATE_NEGOTIATE_INFO in 3.0.2, as the client of the rig negotiated, changed by `change`.
fn validate(change: impl Fn(&mut Vec<u8>)) -> Rig {
    let mut rig = Rig::new(params(), TCP);
    rig.negotiate(&[Dialect::SMB_3_0, Dialect::SMB_3_0_2], &[Cipher::AES_128_CCM]);
    rig.log_in("tester", "correct horse");
    rig.connect("data");
    let mut input = (Capabilities::LARGE_MTU | Capabilities::ENCRYPTION).0.to_le_bytes().to_vec();
    input.extend_from_slice(&[0xc1; 16]);
    for value in [SecurityMode::SIGNING_ENABLED.0, 2, 0x0300, 0x0302] {
        input.extend_from_slice(&value.to_le_bytes());
    }
    change(&mut input);
    rig.protect = Protect::Sign;
    let request = IoctlRequest {
        control_code: ControlCode::VALIDATE_NEGOTIATE_INFO,
        file_id: FileId::RELATED,
        flags: IoctlFlags::IS_FSCTL,
        max_output_response: 24,
        input: &input,
        ..IoctlRequest::default()
    };
    let header = rig.header::<IoctlRequest<'_>>(0);
    let answers = rig.ask_all(&header, &request);
    if let Some(answer) = answers.first() {
        let output = IoctlResponse::parse(&answer.bytes).unwrap().output.to_vec();
        let expected = [
            &(Capabilities::LARGE_MTU | Capabilities::ENCRYPTION).0.to_le_bytes()[..],
            &Guid([0x51; 16]).0,
            &[1, 0, 2, 3],
        ];
        assert_eq!(output, expected.concat());
    }
    rig
}

#[test]
fn a_negotiation_that_was_changed_on_the_way_ends_the_connection_3_3_5_15_12() {
    assert_eq!(validate(|_| {}).closed, None);
    for (at, field) in
        [(0, "Capabilities"), (4, "Guid"), (20, "SecurityMode"), (22, "Dialects"), (24, "Dialects")]
    {
        assert_eq!(validate(|input| input[at] ^= 1).closed, Some(Reason::Tampered { field }), "{at}");
    }
    assert_eq!(validate(|input| input.truncate(10)).closed, Some(Reason::Tampered { field: "InputCount" }));
}
