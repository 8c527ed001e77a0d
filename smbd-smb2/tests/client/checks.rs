//! What a received message has to be (3.2.5.1, 3.2.5.2, 3.2.5.3, 3.2.5.14.12): each check, and what a broken one ends.

use smbd_smb2::client::*;
use smbd_smb2::security::{AuthError, SecurityError};
use smbd_smb2::wire::header::field;
use smbd_smb2::wire::*;

use crate::flows::{read, write};
use crate::server::{Answer, Change, SESSION, Setup};
use crate::world::{Got, World, fresh, initiator, rdma};

fn signed() -> Setup {
    Setup { require_signing: true, ..Setup::default() }
}

fn encrypted() -> Setup {
    Setup { encrypt_session: true, ..Setup::default() }
}

/// A READ of 100 bytes whose answer is changed on its way.
fn changed(setup: Setup, change: impl FnMut(&mut Vec<u8>) + 'static) -> (World, Got) {
    let (mut world, _, tree) = World::connected(setup, Params::default());
    world.server.file = vec![7; 1000];
    world.on_the_way = Some(Box::new(change));
    let id = world.submit(tree, &read(0, 100, None));
    world.run();
    let got = world.results.get(&id).cloned().unwrap_or(Got::Other("no result".into()));
    (world, got)
}

/// The reason for which a connection ends after such a change. The operation has its one result all the same.
fn end(setup: Setup, change: impl FnMut(&mut Vec<u8>) + 'static) -> Reason {
    let (world, got) = changed(setup, change);
    assert_eq!(got, Got::Failed(Failure::Closed));
    assert!(world.data.is_empty());
    world.ended.expect("an end")
}

fn set<T: Value>(at: &'static Field<T>, value: T) -> impl FnMut(&mut Vec<u8>) + 'static {
    move |bytes| at.set(bytes, value).unwrap()
}

#[test]
fn what_is_no_message_of_smb2_ends_the_connection() {
    let ends = [b"\xfcSMB", b"\xffSMB"].map(|id| end(Setup::default(), set(&field::PROTOCOL_ID, *id)));
    assert_eq!(ends, [Reason::Compressed, Reason::ProtocolId { got: *b"\xffSMB" }]);
    let short = end(Setup::default(), |bytes| bytes.truncate(20));
    assert!(matches!(short, Reason::Wire(WireError::Truncated { got: 20, .. })), "{short:?}");
    assert!(matches!(
        end(Setup::default(), set(&field::STRUCTURE_SIZE, 63)),
        Reason::Wire(WireError::Value { .. })
    ));
    assert!(matches!(
        end(Setup::default(), set(&field::NEXT_COMMAND, 84)),
        Reason::Wire(WireError::Misaligned { .. })
    ));
}

#[test]
fn a_request_from_the_server_ends_the_connection() {
    let reason = end(Setup::default(), set(&field::FLAGS, Flags::NONE));
    assert_eq!(reason, Reason::Request { command: Command::READ, message_id: MessageId(4) });
}

#[test]
fn an_answer_to_no_request_is_discarded_and_told() {
    let (world, got) = changed(Setup::default(), set(&field::MESSAGE_ID, MessageId(77)));
    assert_eq!((got, world.ended), (Got::Other("no result".into()), None));
    let said = format!("{:?}", Output::Discarded(Discarded::UnknownMessageId(MessageId(77))));
    assert_eq!(world.said.last(), Some(&said));
}

#[test]
fn an_answer_that_comes_twice_counts_once() {
    let (mut world, _, tree) = World::connected(Setup::default(), Params::default());
    let id = world.submit(tree, &read(0, 0, None));
    let mut nothing = Arrived::nothing();
    let Output::Send { message, .. } = world.client.poll(world.now, &mut nothing) else { panic!() };
    world.server.receive(&message.concat(), &mut world.memory);
    let again = world.server.out[0].clone();
    assert_eq!(world.wait(id), Got::Read(0));
    world.deliver(again);
    let said = format!("{:?}", Output::Discarded(Discarded::UnknownMessageId(MessageId(4))));
    assert_eq!(world.said.last(), Some(&said));
    // The server sees to it that no credit is spent that it has not granted.
    assert_eq!(world.act(tree, &write(&[1; 1_000_000], None)), Got::Written(1_000_000));
}

#[test]
fn the_command_of_an_answer_is_that_of_its_request() {
    let reason = end(Setup::default(), set(&field::COMMAND, Command::WRITE));
    let (got, expected) = (Command::WRITE, Command::READ);
    assert_eq!(reason, Reason::Command { message_id: MessageId(4), got, expected });
}

#[test]
fn a_signed_request_needs_a_signed_answer_with_a_good_signature() {
    let bad = |status| Reason::Signature { message_id: MessageId(4), command: Command::READ, status };
    let (success, denied) = (NtStatus::SUCCESS, NtStatus::ACCESS_DENIED);
    for signing in [SigningAlgorithm::AES_GMAC, SigningAlgorithm::AES_CMAC] {
        let setup = || Setup { signing, ..signed() };
        assert_eq!(end(setup(), set(&field::SIGNATURE, [1; 16])), bad(success));
        assert_eq!(end(setup(), set(&field::FLAGS, Flags::SERVER_TO_REDIR)), bad(success));
        assert_eq!(end(setup(), |bytes| *bytes.last_mut().unwrap() ^= 1), bad(success));
        // An error is no exception.
        assert_eq!(end(setup(), set(&field::STATUS, denied)), bad(denied));
    }
    let said = "0x0000000000000004: the answer to a signed READ has a wrong signature, or none (3.2.5.1.3)";
    assert_eq!(bad(success).to_string(), said);
    let unverified = format!("{said}; it says STATUS_ACCESS_DENIED, which nothing verifies");
    assert_eq!(bad(denied).to_string(), unverified);
}

#[test]
fn an_encrypted_request_needs_an_answer_that_is_encrypted_for_its_session() {
    let (mut world, _, tree) = World::connected(encrypted(), Params::default());
    world.server.file = vec![7; 1000];
    world.server.setup.encrypt_session = false;
    let id = world.submit(tree, &read(0, 100, None));
    let Output::Send { .. } = world.client.poll(world.now, &mut Arrived::nothing()) else { panic!() };
    let mut bytes = Vec::new();
    let header = Header { session_id: SESSION, ..Header::request::<ReadResponse<'_>>(4) };
    write_element(&mut bytes, &header, &ReadResponse { data: &[9; 100], ..Default::default() }).unwrap();
    world.deliver(Answer { bytes, invalidate: None });
    let reason = Reason::NotEncrypted { message_id: MessageId(4), command: Command::READ };
    assert_eq!((world.ended, &world.results[&id]), (Some(reason), &Got::Failed(Failure::Closed)));
    assert!(world.data.is_empty());
}

#[test]
fn an_encrypted_message_is_what_was_encrypted_for_a_session_that_is_there() {
    let transform_flags = &transform::field::FLAGS;
    assert_eq!(end(encrypted(), set(transform_flags, TransformFlags(3))), SecurityError::Flags(3).into());
    assert_eq!(
        end(encrypted(), |bytes| *bytes.last_mut().unwrap() ^= 1),
        SecurityError::BadEncryption.into()
    );
    assert_eq!(end(encrypted(), |bytes| bytes.truncate(transform::LEN)), SecurityError::Empty.into());
    let short = end(encrypted(), |bytes| bytes.truncate(transform::LEN - 1));
    assert!(matches!(short, Reason::Wire(WireError::Truncated { .. })), "{short:?}");
    let unknown = SessionId(99);
    assert_eq!(
        end(encrypted(), set(&transform::field::SESSION_ID, unknown)),
        Reason::UnknownSession { session_id: unknown }
    );
}

/// A READ whose answer is changed before it is encrypted.
fn changed_within(change: impl FnMut(&mut Vec<u8>) + 'static) -> Reason {
    let (mut world, _, tree) = World::connected(encrypted(), Params::default());
    world.server.file = vec![7; 1000];
    world.server.before_signing = Some(Box::new(change));
    world.submit(tree, &read(0, 100, None));
    world.run();
    world.ended.expect("an end")
}

#[test]
fn what_is_encrypted_is_a_message_of_its_session_and_nothing_else() {
    for id in [*b"\xfdSMB", *b"\xfcSMB", *b"none"] {
        assert_eq!(changed_within(set(&field::PROTOCOL_ID, id)), Reason::Nested { got: id });
    }
    let (got, expected) = (SessionId(1), SESSION);
    assert_eq!(changed_within(set(&field::SESSION_ID, got)), Reason::OtherSession { got, expected });
}

#[test]
fn a_pending_answer_has_an_async_id() {
    let reason = end(Setup::default(), set(&field::STATUS, NtStatus::PENDING));
    assert_eq!(reason, Reason::PendingWithoutAsyncId { message_id: MessageId(4) });
}

#[test]
fn an_answer_that_cannot_be_read_fails_its_operation_only() {
    let (world, got) = changed(Setup::default(), set(&read::response::STRUCTURE_SIZE, 18));
    assert!(matches!(got, Got::Failed(Failure::Malformed(WireError::Value { value: 18, .. }))), "{got:?}");
    assert_eq!(world.ended, None);
}

#[test]
fn an_answer_with_more_data_than_asked_for_gives_none() {
    let (mut world, _, tree) = World::connected(Setup::default(), Params::default());
    world.server.file = vec![7; 1000];
    world.server.before_signing = Some(Box::new(|bytes| {
        bytes.extend_from_slice(&[8; 20]);
        read::response::DATA_LENGTH.set(bytes, 120).unwrap();
    }));
    let got = world.act(tree, &read(0, 100, None));
    let section = "3.2.5.11";
    assert_eq!(got, Got::Failed(Failure::TooMuch { field: "DataLength", got: 120, max: 100, section }));
    assert!(world.data.is_empty());
}

#[test]
fn a_read_with_a_channel_that_is_answered_in_the_message_is_a_failure_and_not_nothing() {
    let params = || Params { transport: rdma(), ..Params::default() };
    let cases: [(Change, Failure); 3] = [
        (
            Box::new(|bytes| {
                bytes.extend_from_slice(&[8; 20]);
                read::response::DATA_LENGTH.set(bytes, 20).unwrap();
                read::response::DATA_OFFSET.set(bytes, 80).unwrap();
            }),
            Failure::InlineData { got: 20 },
        ),
        (Box::new(|bytes| set_flags(bytes)), Failure::Transform(TransformError::NotNegotiated)),
        (
            Box::new(|bytes| read::response::DATA_REMAINING.set(bytes, 5001).unwrap()),
            Failure::TooMuch { field: "DataRemaining", got: 5001, max: 5000, section: "3.2.5.11" },
        ),
    ];
    for (change, failure) in cases {
        let (mut world, _, tree) = World::connected(Setup::default(), params());
        world.server.file = vec![7; 10_000];
        world.memory.buffers.insert(BufferId(1), vec![0; 5000]);
        world.server.before_signing = Some(change);
        assert_eq!(world.act(tree, &read(0, 5000, Some(BufferId(1)))), Got::Failed(failure));
    }
}

fn set_flags(bytes: &mut [u8]) {
    read::response::FLAGS.set(bytes, ReadResponseFlags::RDMA_TRANSFORM).unwrap();
}

/// The reason for which a connection ends with its first answer.
fn refused(setup: Setup, params: Params, change: impl FnMut(&mut Vec<u8>) + 'static) -> Option<Reason> {
    let mut world = World::new(setup, params);
    world.server.before_signing = Some(Box::new(change));
    world.run();
    world.ended
}

#[test]
fn an_answer_to_negotiate_that_offers_what_was_not_asked_for_ends_the_connection() {
    use smbd_smb2::wire::negotiate::response;
    let negotiate = |setup: Setup, params: Params| match refused(setup, params, |_| ()) {
        Some(Reason::Negotiate(error)) => error,
        other => panic!("{other:?}"),
    };
    let newest = Params { min_dialect: Dialect::SMB_3_1_1, ..Params::default() };
    let old = Setup { dialect: Dialect::SMB_3_0, ..Setup::default() };
    assert_eq!(negotiate(old, newest), NegotiateError::Dialect(Dialect::SMB_3_0));
    let small = Setup { max_size: 65535, ..Setup::default() };
    let field = "MaxTransactSize";
    assert_eq!(negotiate(small, Params::default()), NegotiateError::TooSmall { field, got: 65535 });
    let only_ccm = Params { ciphers: vec![Cipher::AES_128_CCM], ..Params::default() };
    let not_offered = NegotiateError::NotOffered { context: ContextType::ENCRYPTION, value: 2 };
    assert_eq!(negotiate(Setup::default(), only_ccm), not_offered);
    let required = Params { require_encryption: true, ..Params::default() };
    let none = Setup { cipher: None, ..Setup::default() };
    assert_eq!(negotiate(none, required), NegotiateError::NoEncryption);
    let cut = refused(Setup::default(), Params::default(), set(&response::NEGOTIATE_CONTEXT_COUNT, 0));
    let count = NegotiateError::Contexts { context: ContextType::PREAUTH_INTEGRITY, count: 0 };
    assert_eq!(cut, Some(count.into()));
    let failed = refused(Setup::default(), Params::default(), set(&field::STATUS, NtStatus::NOT_SUPPORTED));
    assert_eq!(failed, Some(NegotiateError::Status(NtStatus::NOT_SUPPORTED).into()));
}

#[test]
fn a_changed_negotiation_is_found_out_in_every_dialect() {
    for dialect in [Dialect::SMB_3_0, Dialect::SMB_3_0_2] {
        let setup = Setup { dialect, validated_capabilities: Some(Capabilities::DFS), ..Setup::default() };
        let mut world = World::new(setup, Params::default());
        let session = world.login();
        let tree = world.client.connect(world.now, session, "share").unwrap();
        assert_eq!(world.wait(tree), Got::Failed(Failure::Closed));
        assert_eq!(world.ended, Some(Reason::Validation { field: "Capabilities" }));
    }
    // In 3.1.1 the keys differ.
    let mut world = World::new(Setup::default(), Params::default());
    world.on_the_way = Some(Box::new(set(&negotiate::response::SERVER_START_TIME, 1)));
    world.run();
    world.on_the_way = None;
    let login = world.client.login(world.now, initiator("secret"), fresh(), SessionId::NONE).unwrap();
    assert_eq!(world.wait(login), Got::Failed(Failure::Closed));
    assert!(matches!(world.ended, Some(Reason::Signature { command: Command::SESSION_SETUP, .. })));
}

#[test]
fn the_answer_to_validate_negotiate_info_is_signed_and_no_refusal() {
    let setup = Setup { dialect: Dialect::SMB_3_0_2, ..Setup::default() };
    let ended = |status: Option<NtStatus>, strip: bool| {
        let mut world = World::new(setup.clone(), Params::default());
        let session = world.login();
        world.server.fail.insert(Command::IOCTL, status.into_iter().collect());
        world.on_the_way = strip.then(|| Box::new(|bytes: &mut Vec<u8>| strip_signature(bytes)) as Change);
        world.client.connect(world.now, session, "share").unwrap();
        world.run();
        world.ended
    };
    assert_eq!(ended(None, false), None);
    assert_eq!(ended(Some(NtStatus::NOT_SUPPORTED), false), None);
    assert!(matches!(ended(Some(NtStatus::ACCESS_DENIED), false), Some(Reason::Validation { .. })));
    assert!(matches!(ended(None, true), Some(Reason::Signature { command: Command::IOCTL, .. })));
}

fn strip_signature(bytes: &mut [u8]) {
    field::FLAGS.set(bytes, Flags::SERVER_TO_REDIR).unwrap();
    field::SIGNATURE.set(bytes, [0; 16]).unwrap();
}

#[test]
fn the_last_answer_of_a_login_in_3_1_1_is_signed() {
    let mut world = World::new(Setup::default(), Params::default());
    world.run();
    world.on_the_way = Some(Box::new(|bytes| strip_signature(bytes)));
    let login = world.client.login(world.now, initiator("secret"), fresh(), SessionId::NONE).unwrap();
    assert_eq!(world.wait(login), Got::Failed(Failure::UnsignedSession));
}

#[test]
fn a_wrong_password_fails_the_login_and_nothing_else() {
    let mut world = World::new(Setup::default(), Params::default());
    world.run();
    let login = world.client.login(world.now, initiator("wrong"), fresh(), SessionId::NONE).unwrap();
    assert_eq!(world.wait(login), Got::Failed(Failure::Status(NtStatus::LOGON_FAILURE)));
    assert_eq!(world.ended, None);
}

#[test]
fn a_guest_is_refused_unless_allowed_and_never_where_signing_is_required() {
    let setup = Setup { session_flags: SessionFlags::IS_GUEST, ..Setup::default() };
    let login = |allow_guests, require_signing| {
        let params = Params { allow_guests, require_signing, ..Params::default() };
        let mut world = World::new(setup.clone(), params);
        world.run();
        let login = world.client.login(world.now, initiator("secret"), fresh(), SessionId::NONE).unwrap();
        (world.wait(login), world.ended)
    };
    let guest = Some(Reason::Guest { flags: 1 });
    assert_eq!(login(false, false), (Got::Failed(Failure::Closed), guest.clone()));
    assert_eq!(login(true, true), (Got::Failed(Failure::Closed), guest));
    let (got, ended) = login(true, false);
    assert!(matches!(got, Got::Session(_)) && ended.is_none(), "{got:?} {ended:?}");
}

#[test]
fn nobody_logs_in_without_keys_and_not_where_signing_or_encryption_is_required() {
    use smbd_smb2::security::{Credentials, Initiator, NtlmClient};
    let login = |require_signing, require_encryption| {
        let params = Params { require_signing, require_encryption, ..Params::default() };
        let mut world = World::new(Setup::default(), params);
        world.run();
        let ntlm = NtlmClient::new(Credentials::Anonymous, "CLIENT".into(), String::new());
        let initiator = Initiator::new(vec![Box::new(ntlm)]);
        let login = world.client.login(world.now, initiator, fresh(), SessionId::NONE).unwrap();
        world.wait(login)
    };
    assert!(matches!(login(false, false), Got::Session(_)));
    assert_eq!(login(true, false), Got::Failed(Failure::Unprotected { required: "signing" }));
    assert_eq!(login(false, true), Got::Failed(Failure::Unprotected { required: "encryption" }));
}

#[test]
fn a_token_out_of_order_fails_the_login() {
    let mut world = World::new(Setup::default(), Params::default());
    world.run();
    world.on_the_way = Some(Box::new(|bytes| {
        if field::STATUS.get(bytes) == Ok(NtStatus::MORE_PROCESSING_REQUIRED) {
            field::STATUS.set(bytes, NtStatus::SUCCESS).unwrap();
        }
    }));
    let login = world.client.login(world.now, initiator("secret"), fresh(), SessionId::NONE).unwrap();
    assert_eq!(world.wait(login), Got::Failed(Failure::Auth(AuthError::OutOfOrder)));
}

#[test]
fn an_unprotected_word_that_a_session_is_gone_ends_the_session_and_not_the_connection() {
    let (mut world, _, tree) = World::connected(signed(), Params::default());
    world.on_the_way = Some(Box::new(|bytes| {
        strip_signature(bytes);
        field::STATUS.set(bytes, NtStatus::USER_SESSION_DELETED).unwrap();
    }));
    let reads = [world.submit(tree, &read(0, 10, None)), world.submit(tree, &read(0, 10, None))];
    world.run();
    for id in reads {
        assert_eq!(world.results[&id], Got::Failed(Failure::SessionEnded));
    }
    assert!(world.said.iter().any(|said| said.starts_with("SessionEnded")), "{:?}", world.said);
    assert_eq!(world.ended, None);
    assert!(world.client.submit(world.now, tree, &read(0, 1, None)).is_err());
}
