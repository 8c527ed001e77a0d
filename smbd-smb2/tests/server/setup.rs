//! NEGOTIATE, SESSION_SETUP, LOGOFF, TREE_CONNECT (3.3.5.3 to 3.3.5.8).

use smbd_smb2::server::Reason;
use smbd_smb2::wire::{
    Cipher, Command, Dialect, EchoRequest, HashAlgorithm, Header, List, LogoffRequest, NegotiateContext,
    NegotiateRequest, NegotiateResponse, NtStatus, Records, SecurityMode, SessionFlags, SessionId,
    SessionSecurityMode, SessionSetupFlags, SessionSetupRequest, SessionSetupResponse, ShareFlags, ShareType,
    SigningAlgorithm, Smb1Negotiate, Text, TreeConnectRequest, TreeConnectResponse, TreeDisconnectRequest,
};

use crate::rig::{Protect, RDMA, Rig, TCP, message, params};

const ALL: [Cipher; 4] = [Cipher::AES_128_CCM, Cipher::AES_128_GCM, Cipher::AES_256_CCM, Cipher::AES_256_GCM];

/// A NEGOTIATE of 3.1.1 with these contexts: its status.
fn negotiate(contexts: &[NegotiateContext<'_>]) -> NtStatus {
    let mut rig = Rig::new(params(), TCP);
    let request = NegotiateRequest {
        dialects: List::from(&[Dialect::SMB_3_1_1]),
        contexts: Records::from(contexts),
        ..NegotiateRequest::default()
    };
    rig.status(&request)
}

fn preauth(algorithms: &[HashAlgorithm]) -> NegotiateContext<'_> {
    NegotiateContext::PreauthIntegrity { hash_algorithms: List::from(algorithms), salt: &[1; 32] }
}

/// cifs.ko 6.12 makes signing keys of 256 bits with a cipher of 256 bits (SE-1), and signs TREE_CONNECT in each session.
#[test]
fn a_client_that_offers_ciphers_of_both_lengths_gets_one_of_128_bits() {
    let answer = Rig::new(params(), TCP).negotiate(&[Dialect::SMB_3_1_1], &ALL);
    let response = NegotiateResponse::parse(&answer.bytes).unwrap();
    let chosen = response.contexts.iter().find_map(|context| match context.unwrap() {
        NegotiateContext::Encryption(ciphers) => ciphers.get(0),
        _ => None,
    });
    assert_eq!(chosen, Some(Cipher::AES_128_GCM));
}

#[test]
fn the_highest_common_dialect_is_chosen() {
    for (offered, expected) in [
        (&[Dialect::SMB_2_1, Dialect::SMB_3_0][..], Dialect::SMB_3_0),
        (&[Dialect::SMB_3_0_2, Dialect::SMB_3_0], Dialect::SMB_3_0_2),
        (&Dialect::ALL, Dialect::SMB_3_1_1),
    ] {
        let answer = Rig::new(params(), TCP).negotiate(offered, &[]);
        assert_eq!(NegotiateResponse::parse(&answer.bytes).unwrap().dialect, expected);
    }
    let answer = Rig::new(params(), TCP).negotiate(&[Dialect::SMB_2_0_2, Dialect::SMB_2_1], &[]);
    assert_eq!(answer.status(), NtStatus::NOT_SUPPORTED);
}

#[test]
fn a_negotiate_without_a_dialect_or_with_a_signature_is_refused() {
    assert_eq!(Rig::new(params(), TCP).status(&NegotiateRequest::default()), NtStatus::INVALID_PARAMETER);
    let mut rig = Rig::new(params(), TCP);
    let request =
        NegotiateRequest { dialects: List::from(&[Dialect::SMB_3_0]), ..NegotiateRequest::default() };
    let mut header = rig.header::<NegotiateRequest<'_>>(0);
    header.flags = smbd_smb2::wire::Flags::SIGNED;
    assert_eq!(rig.ask(&header, &request).status(), NtStatus::INVALID_PARAMETER);
}

#[test]
fn of_each_context_there_is_one_at_most_and_of_preauthentication_exactly_one() {
    let sha = [HashAlgorithm::SHA_512];
    let ciphers = NegotiateContext::Encryption(List::from(&[Cipher::AES_128_GCM]));
    let signing = NegotiateContext::Signing(List::from(&[SigningAlgorithm::AES_CMAC]));
    let none = NegotiateContext::Signing(List::EMPTY);
    let bad = NtStatus::INVALID_PARAMETER;
    assert_eq!(negotiate(&[ciphers]), bad);
    assert_eq!(negotiate(&[preauth(&sha), preauth(&sha)]), bad);
    assert_eq!(negotiate(&[preauth(&sha), ciphers, ciphers]), bad);
    assert_eq!(negotiate(&[preauth(&sha), signing, signing]), bad);
    assert_eq!(negotiate(&[preauth(&sha), none]), bad);
    assert_eq!(negotiate(&[preauth(&sha), ciphers, signing]), NtStatus::SUCCESS);
    let other = [HashAlgorithm(7)];
    assert_eq!(negotiate(&[preauth(&other)]), NtStatus::SMB_NO_PREAUTH_INTEGRITY_HASH_OVERLAP);
    assert_eq!(negotiate(&[preauth(&[])]), NtStatus::SMB_NO_PREAUTH_INTEGRITY_HASH_OVERLAP);
}

#[test]
fn a_client_of_smb1_is_told_that_there_is_smb2_and_negotiates_again() {
    let mut rig = Rig::new(params(), TCP);
    let mut first = Vec::new();
    Smb1Negotiate::write(
        &mut first,
        &[b"NT LM 0.12", Smb1Negotiate::SMB_2_002, Smb1Negotiate::SMB_2_WILDCARD],
    )
    .unwrap();
    rig.give(&mut first);
    let answer = rig.answers().pop().unwrap();
    let response = NegotiateResponse::parse(&answer.bytes).unwrap();
    assert_eq!((answer.header.message_id.0, response.dialect), (0, Dialect::SMB_2_WILDCARD));
    rig.next_id = 1;
    rig.negotiate(&Dialect::ALL, &[Cipher::AES_128_GCM]);
    assert_eq!(rig.log_in("tester", "correct horse").status(), NtStatus::SUCCESS);
}

#[test]
fn a_client_of_smb1_without_smb2_or_twice_ends_the_connection() {
    let negotiate = |names: &[&[u8]]| {
        let mut message = Vec::new();
        Smb1Negotiate::write(&mut message, names).unwrap();
        message
    };
    let mut rig = Rig::new(params(), TCP);
    rig.give(&mut negotiate(&[b"NT LM 0.12"]));
    assert_eq!(rig.closed, Some(Reason::NoDialect));
    let mut rig = Rig::new(params(), TCP);
    rig.give(&mut negotiate(&[Smb1Negotiate::SMB_2_WILDCARD]));
    rig.give(&mut negotiate(&[Smb1Negotiate::SMB_2_WILDCARD]));
    assert_eq!(rig.closed, Some(Reason::OutOfOrder(Command::NEGOTIATE)));
}

#[test]
fn a_user_logs_in_with_every_dialect_and_cipher() {
    for dialect in [Dialect::SMB_3_0, Dialect::SMB_3_0_2, Dialect::SMB_3_1_1] {
        for cipher in ALL {
            let mut rig = Rig::new(params(), TCP);
            rig.negotiate(&[dialect], &[cipher]);
            let answer = rig.log_in("tester", "correct horse");
            assert_eq!(answer.status(), NtStatus::SUCCESS);
            assert!(
                answer.header.flags.contains(smbd_smb2::wire::Flags::SIGNED),
                "the last answer is signed"
            );
            for protect in [Protect::Sign, Protect::Seal] {
                rig.protect = protect;
                let echo = rig.request(&EchoRequest::default());
                assert_eq!(echo.status(), NtStatus::SUCCESS);
                assert_eq!(echo.is_encrypted, protect == Protect::Seal);
                let is_signed = echo.header.flags.contains(smbd_smb2::wire::Flags::SIGNED);
                assert_eq!(is_signed, protect == Protect::Sign);
            }
        }
    }
}

#[test]
fn a_wrong_password_an_unknown_user_and_nobody_are_refused() {
    for (user, password) in [("tester", "wrong"), ("other", "correct horse"), ("", "")] {
        let mut rig = Rig::new(params(), TCP);
        rig.negotiate(&[Dialect::SMB_3_1_1], &[]);
        assert_eq!(rig.log_in(user, password).status(), NtStatus::LOGON_FAILURE, "{user}");
        assert_eq!(rig.log_in("tester", "correct horse").status(), NtStatus::SUCCESS, "and may try again");
    }
}

#[test]
fn guests_and_nobody_are_let_in_if_the_server_says_so_and_use_what_is_for_them() {
    let mut params = params();
    params.guests = true;
    params.anonymous = true;
    for (user, flag) in [("other", SessionFlags::IS_GUEST), ("", SessionFlags::IS_NULL)] {
        let mut rig = Rig::new(params.clone(), TCP);
        rig.negotiate(&[Dialect::SMB_3_1_1], &[]);
        let answer = rig.log_in(user, "whatever");
        assert_eq!(answer.status(), NtStatus::SUCCESS);
        assert_eq!(SessionSetupResponse::parse(&answer.bytes).unwrap().flags, flag);
        assert!(rig.keys.is_none());
        assert_eq!(rig.connect("data").status(), NtStatus::ACCESS_DENIED);
        assert_eq!(rig.connect("read").status(), NtStatus::SUCCESS);
    }
}

#[test]
fn a_binding_is_refused_and_a_session_that_is_not_there_is_none() {
    let mut rig = Rig::new(params(), TCP);
    rig.negotiate(&[Dialect::SMB_3_1_1], &[]);
    let binding = SessionSetupRequest { flags: SessionSetupFlags::BINDING, ..SessionSetupRequest::default() };
    assert_eq!(rig.status(&binding), NtStatus::REQUEST_NOT_ACCEPTED);
    rig.session_id = SessionId(77);
    assert_eq!(rig.status(&SessionSetupRequest::default()), NtStatus::USER_SESSION_DELETED);
}

#[test]
fn sessions_of_a_connection_have_a_limit() {
    let mut params = params();
    params.sessions_max = 2;
    let mut rig = Rig::new(params, TCP);
    rig.negotiate(&[Dialect::SMB_3_1_1], &[]);
    for expected in [NtStatus::SUCCESS, NtStatus::SUCCESS, NtStatus::INSUFFICIENT_RESOURCES] {
        (rig.session_id, rig.keys) = (SessionId::NONE, None);
        assert_eq!(rig.log_in("tester", "correct horse").status(), expected);
    }
}

#[test]
fn a_user_authenticates_again_as_the_same_or_the_session_ends() {
    let mut rig = Rig::ready(params(), TCP);
    rig.protect = Protect::Sign;
    assert_eq!(rig.log_in("TESTER", "correct horse").status(), NtStatus::SUCCESS);
    assert_eq!(rig.status(&EchoRequest::default()), NtStatus::SUCCESS, "with the same keys");
    let session_id = rig.session_id;
    assert_eq!(rig.log_in("tester", "wrong").status(), NtStatus::LOGON_FAILURE);
    rig.session_id = session_id;
    assert_eq!(rig.status(&EchoRequest::default()), NtStatus::USER_SESSION_DELETED);
}

#[test]
fn a_new_session_says_which_one_it_replaces_and_that_one_ends_if_it_is_of_the_same_user() {
    let mut old = Rig::ready(params(), TCP);
    let file = old.file("a");
    let mut rig = Rig::seeded(params(), TCP, 0x78);
    rig.negotiate(&[Dialect::SMB_3_1_1], &[]);
    let previous =
        SessionSetupRequest { previous_session_id: old.session_id, ..SessionSetupRequest::default() };
    assert_eq!(rig.log_in_with("tester", "correct horse", &previous).status(), NtStatus::SUCCESS);
    assert_eq!(rig.replaced, [(old.session_id.0, "tester".to_owned())]);
    old.connection.end_session(old.now, old.session_id.0, "somebody");
    old.drive();
    assert_eq!(old.files.open_count(), 1);
    old.connection.end_session(old.now, old.session_id.0, "TESTER");
    old.drive();
    assert_eq!(old.files.open_count(), 0, "{file} is closed");
    assert_eq!(old.status(&LogoffRequest::default()), NtStatus::USER_SESSION_DELETED);
}

#[test]
fn logoff_closes_files_and_its_answer_is_still_signed() {
    let mut rig = Rig::ready(params(), TCP);
    rig.file("a");
    rig.protect = Protect::Sign;
    let answer = rig.request(&LogoffRequest::default());
    assert_eq!(answer.status(), NtStatus::SUCCESS);
    assert!(answer.header.flags.contains(smbd_smb2::wire::Flags::SIGNED));
    assert_eq!(rig.files.open_count(), 0);
    assert_eq!(rig.status(&LogoffRequest::default()), NtStatus::USER_SESSION_DELETED);
}

#[test]
fn signing_is_required_if_either_side_says_so() {
    let mut server = params();
    server.signing_required = true;
    let client = SessionSetupRequest {
        security_mode: SessionSecurityMode::SIGNING_REQUIRED,
        ..SessionSetupRequest::default()
    };
    for (params, request) in [(server, SessionSetupRequest::default()), (params(), client)] {
        let mut rig = Rig::new(params, TCP);
        rig.negotiate(&[Dialect::SMB_3_1_1], &[]);
        rig.log_in_with("tester", "correct horse", &request);
        assert_eq!(rig.status(&EchoRequest::default()), NtStatus::ACCESS_DENIED);
        rig.protect = Protect::Sign;
        assert_eq!(rig.status(&EchoRequest::default()), NtStatus::SUCCESS);
    }
    let mut rig = Rig::ready(params(), TCP);
    assert_eq!(rig.status(&EchoRequest::default()), NtStatus::SUCCESS, "if neither does");
}

#[test]
fn the_answer_to_negotiate_says_that_signing_is_required() {
    let mut params = params();
    params.signing_required = true;
    let answer = Rig::new(params, TCP).negotiate(&[Dialect::SMB_3_0], &[]);
    let mode = NegotiateResponse::parse(&answer.bytes).unwrap().security_mode;
    assert_eq!(mode, SecurityMode::SIGNING_ENABLED | SecurityMode::SIGNING_REQUIRED);
}

#[test]
fn a_server_that_encrypts_everything_refuses_whatever_is_not_encrypted() {
    let mut params = params();
    params.encrypted = true;
    let mut rig = Rig::new(params.clone(), TCP);
    rig.negotiate(&[Dialect::SMB_3_1_1], &[]);
    assert_eq!(rig.log_in("tester", "correct horse").status(), NtStatus::ACCESS_DENIED, "who cannot encrypt");
    let mut rig = Rig::new(params, TCP);
    rig.negotiate(&[Dialect::SMB_3_1_1], &[Cipher::AES_256_GCM]);
    let answer = rig.log_in("tester", "correct horse");
    let flags = SessionSetupResponse::parse(&answer.bytes).unwrap().flags;
    assert_eq!(flags, SessionFlags::ENCRYPT_DATA);
    let refused = rig.connect("data");
    assert_eq!((refused.status(), refused.is_encrypted), (NtStatus::ACCESS_DENIED, true));
    rig.protect = Protect::Seal;
    assert_eq!(rig.connect("data").status(), NtStatus::SUCCESS);
    rig.file("a");
}

#[test]
fn a_share_that_is_encrypted_refuses_whatever_is_not() {
    let mut rig = Rig::ready(params(), TCP);
    let answer = rig.connect("secret");
    let flags = TreeConnectResponse::parse(&answer.bytes).unwrap().share_flags;
    assert_eq!((flags, answer.is_encrypted), (ShareFlags::ENCRYPT_DATA, false));
    let disconnect = TreeDisconnectRequest::default();
    let refused = rig.request(&disconnect);
    assert_eq!((refused.status(), refused.is_encrypted), (NtStatus::ACCESS_DENIED, true));
    rig.protect = Protect::Seal;
    rig.file("a");
    let mut rig = Rig::new(params(), TCP);
    rig.negotiate(&[Dialect::SMB_3_1_1], &[]);
    rig.log_in("tester", "correct horse");
    assert_eq!(rig.connect("secret").status(), NtStatus::ACCESS_DENIED, "who cannot encrypt");
}

#[test]
fn a_tree_connect_of_3_1_1_that_is_not_protected_ends_the_connection() {
    let mut rig = Rig::ready(params(), TCP);
    let request = TreeConnectRequest { path: Text::from("\\\\s\\data"), ..TreeConnectRequest::default() };
    let header = rig.header::<TreeConnectRequest<'_>>(0);
    rig.silent(&header, &request);
    assert_eq!(rig.closed, Some(Reason::UnprotectedTreeConnect));
    let mut rig = Rig::new(params(), TCP);
    rig.negotiate(&[Dialect::SMB_3_0_2], &[]);
    rig.log_in("tester", "correct horse");
    assert_eq!(rig.status(&request), NtStatus::SUCCESS, "in 3.0.2 it need not be");
}

#[test]
fn shares_are_found_in_any_capitals_and_others_are_not_there() {
    let mut rig = Rig::ready(params(), TCP);
    assert_eq!(rig.connect("DATA").status(), NtStatus::SUCCESS);
    assert_eq!(rig.connect("nothing").status(), NtStatus::BAD_NETWORK_NAME);
    assert_eq!(rig.connect("").status(), NtStatus::BAD_NETWORK_NAME);
    let pipes = rig.connect("IPC$");
    assert_eq!(TreeConnectResponse::parse(&pipes.bytes).unwrap().share_type, ShareType::PIPE);
    rig.protect = Protect::Sign;
    for path in ["", "data", "\\\\server", "\\server\\data"] {
        let request = TreeConnectRequest { path: Text::from(path), ..TreeConnectRequest::default() };
        assert_eq!(rig.status(&request), NtStatus::INVALID_PARAMETER, "{path}");
    }
}

#[test]
fn a_share_is_for_its_users() {
    let mut params = params();
    params.shares[0].users = vec!["Somebody".into()];
    params.shares[1].users = vec!["TESTER".into()];
    let mut rig = Rig::new(params, TCP);
    rig.negotiate(&[Dialect::SMB_3_1_1], &[Cipher::AES_128_GCM]);
    rig.log_in("tester", "correct horse");
    assert_eq!(rig.connect("data").status(), NtStatus::ACCESS_DENIED);
    assert_eq!(rig.connect("secret").status(), NtStatus::SUCCESS);
}

#[test]
fn tree_connects_have_a_limit_and_a_disconnect_closes_its_files_only() {
    let mut params = params();
    params.trees_max = 2;
    let mut rig = Rig::ready(params, TCP);
    rig.file("a");
    let first = rig.tree_id;
    rig.connect("data");
    rig.file("b");
    assert_eq!(rig.connect("data").status(), NtStatus::INSUFFICIENT_RESOURCES);
    assert_eq!(rig.status(&TreeDisconnectRequest::default()), NtStatus::SUCCESS);
    assert_eq!(rig.files.open_count(), 1);
    assert_eq!(rig.status(&TreeDisconnectRequest::default()), NtStatus::NETWORK_NAME_DELETED);
    rig.tree_id = first;
    assert_eq!(rig.status(&TreeDisconnectRequest::default()), NtStatus::SUCCESS);
    assert_eq!(rig.files.open_count(), 0);
}

#[test]
fn nobody_who_logs_in_in_time_ends_the_connection() {
    let mut rig = Rig::new(params(), RDMA);
    let deadline = rig.connection.deadline().unwrap();
    rig.connection.timeout(deadline - 1);
    rig.drive();
    assert_eq!(rig.closed, None);
    rig.connection.timeout(deadline);
    rig.drive();
    assert_eq!(rig.closed, Some(Reason::SetupTimeout));
    assert_eq!(Rig::ready(params(), TCP).connection.deadline(), None);
}

#[test]
fn after_the_end_nothing_is_said_any_more() {
    let mut rig = Rig::ready(params(), TCP);
    rig.connection.closed();
    rig.drive();
    assert_eq!(rig.closed.take(), Some(Reason::Closed));
    let header = Header::request::<EchoRequest>(rig.next_id);
    rig.give(&mut message(&header, &EchoRequest::default()));
    assert!(rig.answers().is_empty() && rig.closed.is_none());
}

#[test]
fn a_connection_that_nobody_uses_any_more_has_a_deadline_again() {
    let mut rig = Rig::ready(params(), TCP);
    rig.protect = Protect::Sign;
    rig.request(&LogoffRequest::default());
    let deadline = rig.connection.deadline().unwrap();
    rig.connection.timeout(deadline);
    rig.drive();
    assert_eq!(rig.closed, Some(Reason::SetupTimeout));
}

#[test]
fn a_session_that_is_replaced_on_its_own_connection_ends_at_once() {
    let mut rig = Rig::ready(params(), TCP);
    rig.file("a");
    let previous =
        SessionSetupRequest { previous_session_id: rig.session_id, ..SessionSetupRequest::default() };
    (rig.session_id, rig.keys) = (SessionId::NONE, None);
    assert_eq!(rig.log_in_with("tester", "correct horse", &previous).status(), NtStatus::SUCCESS);
    assert_eq!((rig.files.open_count(), rig.replaced.len()), (0, 0));
}
