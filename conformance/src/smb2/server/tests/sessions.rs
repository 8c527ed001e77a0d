//! NEGOTIATE, sessions and trees.

use super::super::BadMessage;
use super::*;

fn negotiate(client: &mut Client, dialects: &[Dialect], contexts: &[NegotiateContext<'_>]) -> Answer {
    client.ask(&negotiate_request(dialects, contexts))
}

#[test]
fn the_highest_common_dialect_is_agreed_on() {
    for dialect in Dialect::ALL {
        let mut client = Client::new(options());
        let below: Vec<_> = Dialect::ALL.into_iter().filter(|other| *other <= dialect).collect();
        let answer = negotiate(&mut client, &below, &[preauth()]);
        let response = NegotiateResponse::parse(&answer.bytes).unwrap();
        assert_eq!((response.dialect, client.server.dialect()), (dialect, Some(dialect)));
        assert_eq!(response.capabilities.contains(Capabilities::LARGE_MTU), dialect > Dialect::SMB_2_0_2);
        assert_eq!(response.contexts.count(), usize::from(dialect == Dialect::SMB_3_1_1));
        assert_eq!(response.security_mode, SecurityMode::SIGNING_ENABLED);
    }
}

#[test]
fn without_a_common_dialect_or_a_known_hash_negotiate_fails() {
    let other_hash =
        [NegotiateContext::PreauthIntegrity { hash_algorithms: (&[HashAlgorithm(9)]).into(), salt: &[] }];
    let twice = [preauth(), preauth()];
    let cases: [(&[Dialect], &[NegotiateContext<'_>], NtStatus); 5] = [
        (&[Dialect(0x999)], &[], NtStatus::NOT_SUPPORTED),
        (&[], &[], NtStatus::INVALID_PARAMETER),
        (&[Dialect::SMB_3_1_1], &[], NtStatus::INVALID_PARAMETER),
        (&[Dialect::SMB_3_1_1], &twice, NtStatus::INVALID_PARAMETER),
        (&[Dialect::SMB_3_1_1], &other_hash, NtStatus::SMB_NO_PREAUTH_INTEGRITY_HASH_OVERLAP),
    ];
    for (dialects, contexts, status) in cases {
        let mut client = Client::new(options());
        assert_eq!(negotiate(&mut client, dialects, contexts).status(), status, "{dialects:?}");
        assert_eq!(client.server.dialect(), None);
    }
}

#[test]
fn a_second_negotiate_and_a_command_before_the_first_end_the_connection() {
    let mut client = Client::new(options());
    let early = client.message(&EchoRequest {});
    assert_eq!(client.server.take(&early), Err(BadMessage::NotNegotiated(Command::ECHO)));
    negotiate(&mut client, &[Dialect::SMB_3_0], &[]);
    let again = client.message(&negotiate_request(&[Dialect::SMB_3_0], &[]));
    assert_eq!(client.server.take(&again), Err(BadMessage::NegotiatedTwice));
}

#[test]
fn who_asks_in_smb1_for_any_dialect_of_smb2_is_asked_to_ask_again() {
    let mut client = Client::new(options());
    let mut message = Vec::new();
    Smb1Negotiate::write(&mut message, &[b"NT LM 0.12", b"SMB 2.002", b"SMB 2.???"]).unwrap();
    let served = client.server.take(&message).unwrap();
    let [Served::Answer(answer)] = &served[..] else { panic!("{served:?}") };
    assert_eq!(NegotiateResponse::parse(answer).unwrap().dialect, Dialect::SMB_2_WILDCARD);
    assert_eq!(negotiate(&mut client, &[Dialect::SMB_2_1], &[]).status(), NtStatus::SUCCESS);
    assert_eq!(client.server.take(&message), Err(BadMessage::NegotiatedTwice));
}

#[test]
fn smb1_without_smb2_ends_the_connection() {
    let mut message = Vec::new();
    Smb1Negotiate::write(&mut message, &[b"NT LM 0.12"]).unwrap();
    assert_eq!(Server::new(options()).take(&message), Err(BadMessage::Protocol(smb1::PROTOCOL_ID)));
}

#[test]
fn whoever_speaks_ntlmssp_is_a_guest() {
    let mut client = Client::new(options());
    negotiate(&mut client, &[Dialect::SMB_3_1_1], &[preauth()]);
    let first = client.ask(&SessionSetupRequest { security_buffer: FIRST, ..SessionSetupRequest::default() });
    assert_eq!(first.status(), NtStatus::MORE_PROCESSING_REQUIRED);
    let challenge = SessionSetupResponse::parse(&first.bytes).unwrap().security_buffer;
    assert!(challenge.starts_with(b"NTLMSSP\0\x02\0\0\0"), "{challenge:x?}");
    client.header.session_id = first.header.session_id;
    let last = client.ask(&SessionSetupRequest { security_buffer: LAST, ..SessionSetupRequest::default() });
    assert_eq!(last.status(), NtStatus::SUCCESS);
    assert_eq!(SessionSetupResponse::parse(&last.bytes).unwrap().flags, SessionFlags::IS_GUEST);
}

#[test]
fn ntlmssp_inside_spnego_is_answered_inside_spnego() {
    let mut client = Client::new(options());
    negotiate(&mut client, &[Dialect::SMB_3_0], &[]);
    let wrapped = [b"\x60\x20 anything ", FIRST].concat();
    let first =
        client.ask(&SessionSetupRequest { security_buffer: &wrapped, ..SessionSetupRequest::default() });
    let token = SessionSetupResponse::parse(&first.bytes).unwrap().security_buffer.to_vec();
    assert_eq!(token[0], 0xa1);
    assert!(token.windows(12).any(|window| window == b"NTLMSSP\0\x02\0\0\0"));
    client.header.session_id = first.header.session_id;
    let wrapped = [b"\xa1\x20 anything ", LAST].concat();
    let last =
        client.ask(&SessionSetupRequest { security_buffer: &wrapped, ..SessionSetupRequest::default() });
    // NegTokenResp, negState accept-completed.
    let expected: &[u8] = &[0xa1, 7, 0x30, 5, 0xa0, 3, 0x0a, 1, 0];
    assert_eq!(SessionSetupResponse::parse(&last.bytes).unwrap().security_buffer, expected);
}

#[test]
fn who_speaks_something_else_is_refused_and_nothing_is_left_of_it() {
    let mut client = Client::new(options());
    negotiate(&mut client, &[Dialect::SMB_3_0], &[]);
    let other = SessionSetupRequest { security_buffer: b"Kerberos", ..SessionSetupRequest::default() };
    assert_eq!(client.ask(&other).status(), NtStatus::LOGON_FAILURE);
    assert_eq!(client.server.sessions(), 0);
}

#[test]
fn an_echo_needs_no_session_and_everything_else_does() {
    let mut client = Client::mounted();
    client.header.session_id = SessionId(0x77);
    assert_eq!(client.ask(&EchoRequest {}).status(), NtStatus::SUCCESS);
    assert_eq!(client.ask(&LogoffRequest {}).status(), NtStatus::USER_SESSION_DELETED);
    assert_eq!(client.connect("\\\\s\\share").status(), NtStatus::USER_SESSION_DELETED);
    assert_eq!(client.ask(&TreeDisconnectRequest {}).status(), NtStatus::USER_SESSION_DELETED);
    assert_eq!(client.close(FileId::default()), NtStatus::USER_SESSION_DELETED);
    assert_eq!(client.ask(&ChangeNotifyRequest::default()).status(), NtStatus::USER_SESSION_DELETED);
}

#[test]
fn a_session_that_is_being_set_up_is_no_session_yet() {
    let mut client = Client::new(options());
    negotiate(&mut client, &[Dialect::SMB_3_0], &[]);
    let first = client.ask(&SessionSetupRequest { security_buffer: FIRST, ..SessionSetupRequest::default() });
    client.header.session_id = first.header.session_id;
    assert_eq!(client.connect("\\\\s\\share").status(), NtStatus::USER_SESSION_DELETED);
}

#[test]
fn a_session_ends_with_its_trees_and_opens() {
    let mut client = Client::mounted();
    client.open("hello");
    assert_eq!(client.server.opens(), 1);
    assert_eq!(client.ask(&LogoffRequest {}).status(), NtStatus::SUCCESS);
    assert_eq!((client.server.opens(), client.server.sessions()), (0, 0));
    assert_eq!(client.ask(&LogoffRequest {}).status(), NtStatus::USER_SESSION_DELETED);
}

#[test]
fn a_tree_ends_with_its_opens_and_leaves_those_of_others() {
    let mut client = Client::mounted();
    let first = client.open("hello");
    let before = client.header;
    client.connect("\\\\server\\SHARE");
    let second = client.open("hello");
    assert_eq!(client.close(first), NtStatus::FILE_CLOSED);
    assert_eq!(client.ask(&TreeDisconnectRequest {}).status(), NtStatus::SUCCESS);
    assert_eq!(client.ask(&TreeDisconnectRequest {}).status(), NtStatus::NETWORK_NAME_DELETED);
    client.header.target = before.target;
    assert_eq!(client.close(second), NtStatus::FILE_CLOSED);
    assert_eq!(client.close(first), NtStatus::SUCCESS);
}

#[test]
fn there_are_the_share_and_ipc_which_has_nothing() {
    let mut client = Client::mounted();
    assert_eq!(client.connect("\\\\server\\other").status(), NtStatus::BAD_NETWORK_NAME);
    let ipc = client.connect("\\\\server\\ipc$");
    assert_eq!(TreeConnectResponse::parse(&ipc.bytes).unwrap().share_type, ShareType::PIPE);
    let pipe = client.create("srvsvc", CreateDisposition::OPEN, CreateOptions::NONE);
    assert_eq!(pipe, Err(NtStatus::OBJECT_NAME_NOT_FOUND));
}

#[test]
fn a_signature_cannot_be_good() {
    let mut client = Client::mounted();
    client.header.flags = Flags::SIGNED;
    assert_eq!(client.ask(&TreeDisconnectRequest {}).status(), NtStatus::NOT_SUPPORTED);
    client.header.session_id = SessionId(0x77);
    assert_eq!(client.ask(&TreeDisconnectRequest {}).status(), NtStatus::USER_SESSION_DELETED);
}

#[test]
fn validate_negotiate_info_says_what_negotiate_said() {
    let mut client = Client::mounted_with(options(), Dialect::SMB_3_0);
    let mut input = Vec::new();
    input.extend(Capabilities::LARGE_MTU.0.to_le_bytes());
    input.extend(GUID.0);
    input.extend([1, 0, 1, 0, 0, 3]);
    let mut request = IoctlRequest {
        control_code: ControlCode::VALIDATE_NEGOTIATE_INFO,
        file_id: FileId::RELATED,
        max_output_response: 24,
        flags: IoctlFlags::IS_FSCTL,
        input: &input,
        ..IoctlRequest::default()
    };
    let answer = client.ask(&request);
    let output = IoctlResponse::parse(&answer.bytes).unwrap().output;
    assert_eq!(output[..4], Capabilities::LARGE_MTU.0.to_le_bytes());
    assert_eq!(output[4..20], *b"smbd-conformance");
    assert_eq!(output[20..], [1, 0, 0, 3]);
    request.max_output_response = 23;
    let small = client.message(&request);
    assert!(matches!(client.server.take(&small), Err(BadMessage::Negotiation(_))));
    request.max_output_response = 24;
    request.input = &input[1..];
    let other = client.message(&request);
    assert!(matches!(client.server.take(&other), Err(BadMessage::Negotiation(_))));
}

#[test]
fn other_controls_are_refused() {
    let mut client = Client::mounted();
    for (control_code, status) in [
        (ControlCode::QUERY_NETWORK_INTERFACE_INFO, NtStatus::NOT_SUPPORTED),
        (ControlCode::DFS_GET_REFERRALS, NtStatus::FS_DRIVER_REQUIRED),
        (ControlCode::SRV_COPYCHUNK, NtStatus::INVALID_DEVICE_REQUEST),
        (ControlCode(0xffff_ffff), NtStatus::INVALID_DEVICE_REQUEST),
    ] {
        let request = IoctlRequest { control_code, ..IoctlRequest::default() };
        assert_eq!(client.ask(&request).status(), status);
    }
}
