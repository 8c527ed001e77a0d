//! Sessions on several connections: how they get there, and what is the same on all of them (3.3.5.5, 3.3.5.15.11).

use std::net::IpAddr;

use smbd_smb2::wire::{
    Capabilities, Cipher, CloseRequest, ControlCode, CreateDisposition, CreateOptions, Dialect, EchoRequest,
    FileId, Flags, Guid, Header, InterfaceCapabilities, IoctlFlags, IoctlRequest, IoctlResponse,
    LogoffRequest, MessageId, NegotiateContext, NegotiateResponse, NetworkInterface, NetworkInterfaces,
    NtStatus, ReadRequest, SessionId, SessionSetupFlags, SessionSetupRequest, SigningAlgorithm, WriteRequest,
};

use crate::bound::{Binding, USUAL, several};
use crate::rig::{NOW, Protect, RDMA, Rig, TCP, opened, params};

/// The user of all tests, on a connection of its own.
fn as_usual(first: &Rig) -> Binding<'static> {
    Binding { user: "tester", password: "correct horse", session_id: first.session_id, signs: true }
}

/// A second connection of the same client, which has negotiated the same.
fn second(first: &Rig) -> Rig {
    let mut second = first.another(TCP);
    second.signings.clone_from(&first.signings);
    second.negotiate(&[first.dialect], &[USUAL.1]);
    second
}

fn write(rig: &mut Rig, file_id: FileId, offset: u64, data: &[u8]) -> NtStatus {
    let header = rig.header::<WriteRequest<'_>>(data.len() as u64);
    rig.ask(&header, &WriteRequest { file_id, offset, data, ..WriteRequest::default() }).status()
}

fn read(rig: &mut Rig, file_id: FileId, length: u32) -> Vec<u8> {
    let header = rig.header::<ReadRequest<'_>>(length.into());
    let answer = rig.ask(&header, &ReadRequest { file_id, length, ..ReadRequest::default() });
    assert_eq!(answer.status(), NtStatus::SUCCESS);
    smbd_smb2::wire::ReadResponse::parse(&answer.bytes).unwrap().data.to_vec()
}

#[test]
fn a_session_is_used_on_all_of_its_connections_with_the_same_files_and_tree_connects() {
    for dialect in [Dialect::SMB_3_0, Dialect::SMB_3_0_2, Dialect::SMB_3_1_1] {
        for protect in [Protect::Nothing, Protect::Sign, Protect::Seal] {
            let mut first = Rig::new(several(), TCP);
            first.negotiate(&[dialect], &[Cipher::AES_128_CCM]);
            first.log_in("tester", "correct horse");
            first.connect("data");
            let file_id = first.file("a");
            let mut second = first.bound(RDMA);
            let mut third = first.bound(TCP);
            for (at, rig) in [&mut first, &mut second, &mut third].into_iter().enumerate() {
                rig.protect = protect;
                assert_eq!(write(rig, file_id, at as u64 * 3, b"abc"), NtStatus::SUCCESS, "{dialect} {at}");
            }
            assert_eq!(read(&mut second, file_id, 100), b"abcabcabc");
            let other = second.file("b");
            assert_eq!(write(&mut first, other, 0, b"x"), NtStatus::SUCCESS, "a file of another connection");
            let close = CloseRequest { file_id, ..CloseRequest::default() };
            assert_eq!(third.status(&close), NtStatus::SUCCESS);
            assert_eq!(write(&mut first, file_id, 0, b"x"), NtStatus::FILE_CLOSED);
        }
    }
}

#[test]
fn each_connection_signs_with_a_key_of_its_own() {
    let mut first = Rig::ready(several(), TCP);
    let mut second = first.bound(TCP);
    second.protect = Protect::Sign;
    let keys = (first.keys.take(), second.keys.take());
    (first.keys, second.keys) = (keys.1, keys.0);
    // 3.3.5.2.4: verified with Channel.SigningKey.
    assert_eq!(second.status(&EchoRequest::default()), NtStatus::ACCESS_DENIED);
    std::mem::swap(&mut first.keys, &mut second.keys);
    let answer = second.request(&EchoRequest::default());
    assert_eq!(answer.status(), NtStatus::SUCCESS);
    assert!(
        answer.header.flags.contains(Flags::SIGNED),
        "and verified by the rig with the key of this channel"
    );
}

#[test]
fn a_session_that_nobody_has_cannot_be_bound_nor_one_of_no_number() {
    let mut first = Rig::ready(several(), TCP);
    for session_id in [SessionId(first.session_id.0 ^ 1), SessionId::NONE] {
        let mut second = second(&first);
        let how = Binding { session_id, ..as_usual(&first) };
        assert_eq!(second.bind_with(&mut first, how), NtStatus::USER_SESSION_DELETED);
    }
}

#[test]
fn a_binding_in_another_dialect_is_refused() {
    let mut first = Rig::ready(several(), TCP);
    let mut second = first.another(TCP);
    second.negotiate(&[Dialect::SMB_3_0_2], &[Cipher::AES_128_CCM]);
    assert_eq!(second.bind(&mut first), NtStatus::INVALID_PARAMETER);
}

#[test]
fn a_binding_with_another_cipher_or_another_signing_algorithm_is_refused() {
    let mut first = Rig::ready(several(), TCP);
    let mut second = first.another(TCP);
    second.negotiate(&[USUAL.0], &[Cipher::AES_256_GCM]);
    assert_eq!(second.bind(&mut first), NtStatus::INVALID_PARAMETER);
    let mut third = first.another(TCP);
    third.signings = vec![SigningAlgorithm::HMAC_SHA256];
    third.negotiate(&[USUAL.0], &[USUAL.1]);
    assert_eq!(third.bind(&mut first), NtStatus::INVALID_PARAMETER);
}

#[test]
fn a_binding_that_is_not_signed_is_refused() {
    let mut first = Rig::ready(several(), TCP);
    let mut second = second(&first);
    let how = Binding { signs: false, ..as_usual(&first) };
    assert_eq!(second.bind_with(&mut first, how), NtStatus::INVALID_PARAMETER);
}

#[test]
fn a_binding_of_a_client_with_another_guid_is_refused() {
    let mut first = Rig::ready(several(), TCP);
    let mut second = first.another(TCP);
    second.client_guid = Guid([0xc2; 16]);
    second.negotiate(&[USUAL.0], &[USUAL.1]);
    assert_eq!(second.bind(&mut first), NtStatus::USER_SESSION_DELETED);
}

#[test]
fn a_session_whose_user_is_not_known_yet_cannot_be_bound() {
    let mut first = Rig::ready(several(), TCP);
    let mut other = second(&first);
    let token = [0x60; 4];
    let begin = SessionSetupRequest { security_buffer: &token, ..SessionSetupRequest::default() };
    // It is refused for its token, and has a session until then only; so a whole first message is sent.
    assert_ne!(other.status(&begin), NtStatus::MORE_PROCESSING_REQUIRED);
    let session_id = other.begin_login();
    let mut third = second(&first);
    let how = Binding { session_id, ..as_usual(&first) };
    assert_eq!(third.bind_with(&mut first, how), NtStatus::REQUEST_NOT_ACCEPTED);
}

#[test]
fn sessions_of_guests_and_anonymous_users_are_not_bound() {
    for user in ["unknown", ""] {
        let mut params = several();
        (params.guests, params.anonymous) = (true, true);
        let mut first = Rig::new(params, TCP);
        first.negotiate(&[USUAL.0], &[USUAL.1]);
        assert_eq!(first.log_in(user, "x").status(), NtStatus::SUCCESS);
        // There is no key to sign with, and that is not looked at first.
        let mut keyed = second(&first);
        keyed.log_in("tester", "correct horse");
        let mut third = second(&first);
        let how = Binding { session_id: first.session_id, ..as_usual(&first) };
        assert_eq!(third.bind_with(&mut keyed, how), NtStatus::NOT_SUPPORTED, "{user:?}");
    }
}

#[test]
fn a_session_is_not_bound_to_a_connection_that_it_is_on() {
    let mut first = Rig::ready(several(), TCP);
    let mut second = first.bound(TCP);
    assert_eq!(second.bind(&mut first), NtStatus::REQUEST_NOT_ACCEPTED);
    let signer = &mut first.keys.take().unwrap().signer;
    let message = first.binding_request(Some(signer), &[]);
    let answer = first.answer_to(message);
    assert_eq!(Header::parse(&answer).unwrap().status, NtStatus::REQUEST_NOT_ACCEPTED);
}

#[test]
fn a_binding_that_is_signed_with_another_key_is_refused() {
    let mut first = Rig::ready(several(), TCP);
    let mut second = second(&first);
    let mut third = first.bound(TCP);
    // Channel.SigningKey of a bound connection is not Session.SigningKey.
    let how = as_usual(&first);
    assert_eq!(second.bind_with(&mut third, how), NtStatus::ACCESS_DENIED);
    assert_eq!(second.bind(&mut first), NtStatus::SUCCESS);
}

#[test]
fn the_user_of_a_binding_is_the_one_of_the_session_and_proves_it() {
    let mut params = several();
    params.guests = true;
    let mut first = Rig::ready(params, TCP);
    let mut second = second(&first);
    let wrong = Binding { password: "wrong", ..as_usual(&first) };
    assert_eq!(second.bind_with(&mut first, wrong), NtStatus::LOGON_FAILURE);
    let guest = Binding { user: "unknown", ..as_usual(&first) };
    assert_eq!(second.bind_with(&mut first, guest), NtStatus::NOT_SUPPORTED);
    let other = Binding { user: "colleague", password: "another horse", ..as_usual(&first) };
    assert_eq!(second.bind_with(&mut first, other), NtStatus::NOT_SUPPORTED);
    let nobody = Binding { user: "", ..as_usual(&first) };
    assert_ne!(second.bind_with(&mut first, nobody), NtStatus::SUCCESS);
    // CH-3: the session is as it was, and so is the connection.
    first.file("a");
    assert_eq!(second.bind(&mut first), NtStatus::SUCCESS);
}

#[test]
fn a_session_has_no_more_channels_than_it_may_have_and_gets_one_for_each_that_is_lost() {
    let mut first = Rig::ready(several(), TCP);
    let bound = [first.bound(TCP), first.bound(TCP)];
    let mut fourth = second(&first);
    assert_eq!(fourth.bind(&mut first), NtStatus::INSUFFICIENT_RESOURCES);
    bound[0].connection.closed();
    assert_eq!(fourth.bind(&mut first), NtStatus::SUCCESS);
}

#[test]
fn two_bindings_at_once_get_one_channel_if_there_is_one() {
    let mut params = several();
    params.channels_max = 2;
    let mut first = Rig::ready(params, TCP);
    let mut rigs = [second(&first), second(&first)];
    let mut steps = rigs.each_mut().map(|rig| rig.begin_binding(&mut first));
    let statuses = [0, 1].map(|at| rigs[at].end_binding(&mut first, &mut steps[at]));
    assert_eq!(statuses, [NtStatus::SUCCESS, NtStatus::INSUFFICIENT_RESOURCES]);
}

#[test]
fn bindings_count_as_sessions_of_their_connection() {
    let mut params = several();
    params.sessions_max = 1;
    let mut first = Rig::ready(params, TCP);
    let mut second = second(&first);
    second.log_in("tester", "correct horse");
    assert_eq!(second.bind(&mut first), NtStatus::INSUFFICIENT_RESOURCES);
}

#[test]
fn a_server_with_one_channel_says_so_and_binds_nothing() {
    let mut first = Rig::new(params(), TCP);
    first.knows_channels = true;
    let answer = first.negotiate(&[USUAL.0], &[USUAL.1]);
    let response = NegotiateResponse::parse(&answer.bytes).unwrap();
    assert!(!response.capabilities.contains(Capabilities::MULTI_CHANNEL));
    first.log_in("tester", "correct horse");
    let mut second = second(&first);
    let how = Binding { signs: false, ..as_usual(&first) };
    assert_eq!(second.bind_with(&mut first, how), NtStatus::REQUEST_NOT_ACCEPTED);
}

#[test]
fn the_capability_is_told_to_those_that_have_it() {
    for knows in [true, false] {
        let mut rig = Rig::new(several(), TCP);
        rig.knows_channels = knows;
        let answer = rig.negotiate(&[USUAL.0], &[USUAL.1]);
        let response = NegotiateResponse::parse(&answer.bytes).unwrap();
        assert_eq!(response.capabilities.contains(Capabilities::MULTI_CHANNEL), knows);
    }
}

#[test]
fn a_session_is_none_on_a_connection_that_it_is_not_bound_to() {
    let mut first = Rig::ready(several(), TCP);
    let mut second = second(&first);
    second.session_id = first.session_id;
    assert_eq!(second.status(&LogoffRequest::default()), NtStatus::USER_SESSION_DELETED);
    let (keys, tree_id) = (first.keys.take(), first.tree_id);
    (second.keys, second.tree_id) = (keys, tree_id);
    second.protect = Protect::Sign;
    assert_eq!(second.status(&LogoffRequest::default()), NtStatus::USER_SESSION_DELETED);
    let begin = SessionSetupRequest::default();
    assert_eq!(second.status(&begin), NtStatus::USER_SESSION_DELETED, "nor does anybody log in again");
    second.protect = Protect::Seal;
    let header = second.header::<EchoRequest>(0);
    second.silent(&header, &EchoRequest::default());
    assert!(second.closed.is_some() && first.closed.is_none(), "3.3.5.2.1.1, of this connection only");
}

#[test]
fn a_user_authenticates_again_on_any_connection_and_the_keys_stay() {
    let mut first = Rig::ready(several(), TCP);
    let file_id = first.file("a");
    let mut second = first.bound(TCP);
    second.protect = Protect::Sign;
    assert_eq!(second.log_in("tester", "correct horse").status(), NtStatus::SUCCESS);
    for rig in [&mut first, &mut second] {
        rig.protect = Protect::Sign;
        assert_eq!(write(rig, file_id, 0, b"x"), NtStatus::SUCCESS);
    }
    assert_eq!(second.log_in("tester", "wrong").status(), NtStatus::LOGON_FAILURE);
    assert_eq!(write(&mut first, file_id, 0, b"x"), NtStatus::USER_SESSION_DELETED, "on all of them");
}

#[test]
fn logoff_on_one_connection_ends_the_session_on_all_and_the_connections_stay() {
    let mut first = Rig::ready(several(), TCP);
    first.file("a");
    let mut second = first.bound(TCP);
    second.protect = Protect::Sign;
    assert_eq!(second.status(&LogoffRequest::default()), NtStatus::SUCCESS);
    assert_eq!(first.files.open_count(), 0);
    for rig in [&mut first, &mut second] {
        assert_eq!(rig.status(&LogoffRequest::default()), NtStatus::USER_SESSION_DELETED);
        assert!(rig.connection.deadline().is_some(), "somebody has to log in");
    }
}

#[test]
fn all_connections_of_a_client_log_in_with_one_dialect() {
    let first = Rig::ready(several(), TCP);
    let mut second = first.another(TCP);
    second.negotiate(&[Dialect::SMB_3_0], &[]);
    assert_eq!(second.log_in("tester", "correct horse").status(), NtStatus::USER_SESSION_DELETED);
    let mut third = super::channels::second(&first);
    assert_eq!(third.log_in("tester", "correct horse").status(), NtStatus::SUCCESS);
}

#[test]
fn whoever_has_not_proved_who_it_is_fixes_no_dialect_for_the_owner_of_its_client_guid() {
    let mut params = several();
    (params.guests, params.anonymous) = (true, true);
    for user in ["nobody", ""] {
        let mut guest = Rig::new(params.clone(), TCP);
        guest.negotiate(&[Dialect::SMB_3_0], &[]);
        assert_eq!(guest.log_in(user, "").status(), NtStatus::SUCCESS);
        let mut owner = guest.another(TCP);
        owner.negotiate(&[Dialect::SMB_3_1_1], &[USUAL.1]);
        assert_eq!(owner.log_in("tester", "correct horse").status(), NtStatus::SUCCESS, "{user}");
        let mut late = guest.another(TCP);
        late.negotiate(&[Dialect::SMB_3_0], &[]);
        assert_eq!(late.log_in(user, "").status(), NtStatus::SUCCESS, "{user}");
    }
}

#[test]
fn the_dialect_of_a_client_is_that_of_users_who_are_logged_in() {
    let mut first = Rig::ready(several(), TCP);
    let mut second = first.another(TCP);
    first.request(&LogoffRequest::default());
    second.negotiate(&[Dialect::SMB_3_0], &[]);
    assert_eq!(second.log_in("tester", "correct horse").status(), NtStatus::SUCCESS);
}

#[test]
fn aes_gmac_is_the_last_choice_where_a_session_can_be_bound() {
    use SigningAlgorithm as Algorithm;
    let all = [Algorithm::AES_GMAC, Algorithm::HMAC_SHA256, Algorithm::AES_CMAC];
    for (params, knows_channels, offer, chosen) in [
        (several(), true, &all[..], Algorithm::AES_CMAC),
        (several(), true, &all[..2], Algorithm::HMAC_SHA256),
        (several(), true, &all[..1], Algorithm::AES_GMAC),
        (several(), false, &all[..], Algorithm::AES_GMAC),
        (params(), true, &all[..], Algorithm::AES_GMAC),
    ] {
        let mut rig = Rig::new(params, TCP);
        rig.knows_channels = knows_channels;
        rig.signings = offer.to_vec();
        let answer = rig.negotiate(&[USUAL.0], &[USUAL.1]);
        let response = NegotiateResponse::parse(&answer.bytes).unwrap();
        let signing = response.contexts.iter().find_map(|context| match context.unwrap() {
            NegotiateContext::Signing(list) => list.get(0),
            _ => None,
        });
        assert_eq!(signing, Some(chosen));
    }
}

#[test]
fn with_aes_gmac_a_binding_whose_answer_cannot_have_a_nonce_of_its_own_is_refused() {
    let mut first = Rig::new(several(), TCP);
    first.signings = vec![SigningAlgorithm::AES_GMAC];
    first.negotiate(&[USUAL.0], &[USUAL.1]);
    first.give_echoes(2);
    first.log_in("tester", "correct horse");
    // SE-2: the last answer of the login has the id 4.
    let signer = &mut first.keys.as_mut().unwrap().signer;
    signer.leave(MessageId(4));
    let mut signed = Vec::new();
    for _ in 0..2 {
        let mut other = second(&first);
        let mut binding = first.keys.as_mut().unwrap().signer.binding(1).unwrap();
        other.next_id = binding.first_id();
        other.session_id = first.session_id;
        let token = other.first_token();
        let mut message = other.binding_request(None, &token);
        binding.sign_in_place(&mut message).unwrap();
        let answer = other.answer_to(message.clone());
        let header = Header::parse(&answer).unwrap();
        assert_eq!(header.status, NtStatus::MORE_PROCESSING_REQUIRED);
        signed.push((header.message_id, header.flags.contains(Flags::SIGNED)));
        let mut again = second(&first);
        (again.session_id, again.next_id) = (first.session_id, header.message_id.0);
        let header = Header::parse(&again.answer_to(message)).unwrap();
        assert_eq!(header.status, NtStatus::REQUEST_NOT_ACCEPTED, "the same id once more");
        assert!(!header.flags.contains(Flags::SIGNED), "the same id once more");
    }
    assert_eq!(signed, [(MessageId(1), true), (MessageId(2), true)]);
}

fn interface(index: u32, address: &str) -> NetworkInterface {
    NetworkInterface {
        index,
        capabilities: InterfaceCapabilities::RSS_CAPABLE,
        link_speed: 10_000_000_000,
        address: Some(address.parse::<IpAddr>().unwrap()),
    }
}

fn interfaces(rig: &mut Rig, max_output_response: u32) -> Result<Vec<NetworkInterface>, NtStatus> {
    let request = IoctlRequest {
        control_code: ControlCode::QUERY_NETWORK_INTERFACE_INFO,
        file_id: FileId::RELATED,
        max_output_response,
        flags: IoctlFlags::IS_FSCTL,
        ..IoctlRequest::default()
    };
    let answer = rig.request(&request);
    if answer.status() != NtStatus::SUCCESS {
        return Err(answer.status());
    }
    let response = IoctlResponse::parse(&answer.bytes).unwrap();
    assert_eq!((response.file_id, response.control_code), (FileId::RELATED, request.control_code));
    Ok(NetworkInterfaces::from(response.output).iter().map(Result::unwrap).collect())
}

#[test]
fn interfaces_are_told_to_clients_that_can_use_another_but_none_without_a_number() {
    let told = [interface(2, "10.9.0.1"), interface(2, "fd00::1")];
    let mut params = several();
    params.interfaces = vec![told[0], interface(0, "127.0.0.1"), told[1]];
    let mut rig = Rig::ready(params.clone(), TCP);
    assert_eq!(interfaces(&mut rig, 65536), Ok(told.to_vec()));
    assert_eq!(interfaces(&mut rig, 303), Err(NtStatus::BUFFER_TOO_SMALL));
    assert_eq!(interfaces(&mut rig, 304).map(|told| told.len()), Ok(2));
    params.channels_max = 1;
    assert_eq!(interfaces(&mut Rig::ready(params, TCP), 65536), Err(NtStatus::NOT_SUPPORTED));
}

#[test]
fn files_of_a_session_count_on_each_of_its_connections_and_on_no_other() {
    let mut params = several();
    params.opens_max = 2;
    let mut first = Rig::ready(params, TCP);
    let mut bound = first.bound(TCP);
    first.file("a");
    bound.file("b");
    for rig in [&mut first, &mut bound] {
        let answer = rig.create("c", CreateDisposition::CREATE, CreateOptions::NONE);
        assert_eq!(answer.status(), NtStatus::INSUFFICIENT_RESOURCES);
    }
    let mut other = second(&first);
    other.log_in("tester", "correct horse");
    other.connect("data");
    opened(&other.create("c", CreateDisposition::CREATE, CreateOptions::NONE));
}

#[test]
fn a_connection_that_joins_has_its_own_time_to_log_in() {
    let first = Rig::ready(several(), TCP);
    let mut second = second(&first);
    let deadline = second.connection.deadline().unwrap();
    assert_eq!(deadline, NOW + several().setup_timeout);
    second.connection.timeout(deadline);
    second.drive();
    assert!(second.closed.is_some());
    let mut first = first;
    first.file("a");
}

#[test]
fn a_request_that_binds_is_one_by_its_flag_only() {
    let mut first = Rig::ready(several(), TCP);
    let mut second = second(&first);
    second.session_id = first.session_id;
    let request = SessionSetupRequest { flags: SessionSetupFlags(0x80), ..SessionSetupRequest::default() };
    assert_eq!(second.status(&request), NtStatus::USER_SESSION_DELETED);
    first.file("a");
}
