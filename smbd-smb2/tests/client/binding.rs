//! A session on two connections (3.2.4.2.3, 3.2.5.3.3): what has to fit, who signs with which key, and which nonces are used.

use std::collections::BTreeSet;
use std::time::Duration;

use smbd_smb2::client::*;
use smbd_smb2::security::SecurityError;
use smbd_smb2::wire::header::field;
use smbd_smb2::wire::*;

use crate::bindable::Says;
use crate::flows::{content, read, write};
use crate::server::{SESSION, Setup};
use crate::world::{Got, World, fresh, initiator, rdma};

const SIGNINGS: [SigningAlgorithm; 2] = [SigningAlgorithm::AES_GMAC, SigningAlgorithm::AES_CMAC];

pub fn params() -> Params {
    Params { bindings: 1, ..Params::default() }
}

pub fn setup() -> Setup {
    Setup { multi_channel: true, ..Setup::default() }
}

/// A second connection, to which a session of the first one can be bound.
fn second(first: &mut World, setup: Setup, params: Params, says: Says) -> World {
    let mut second = World::new(setup, params);
    second.server.on_binding = Some(first.server.bindable(says).on_binding());
    second.run();
    second
}

/// A session with a share on two connections.
pub fn bound(setup: Setup, params: Params) -> ([World; 2], [SessionHandle; 2], [TreeHandle; 2]) {
    let (mut first, session, tree) = World::connected(setup.clone(), params.clone());
    let mut second = second(&mut first, setup, params, Says::default());
    let export = first.client.export(session).unwrap();
    assert_eq!(export.session_id(), SESSION);
    let bind = second.client.bind(second.now, export, initiator("secret"), fresh()).unwrap();
    let Got::Session(other) = second.wait(bind) else {
        panic!("{:?} {:?}", second.results, second.ended);
    };
    let shared = second.client.share_tree(other, &first.client.export_tree(tree).unwrap()).unwrap();
    ([first, second], [session, other], [tree, shared])
}

/// What comes of a binding, once the second connection is changed.
fn outcome(change: impl FnOnce(&mut World), password: &str, says: Says) -> (Got, Option<Reason>) {
    let (mut first, session, _) = World::connected(setup(), params());
    let mut second = second(&mut first, setup(), params(), says);
    change(&mut second);
    let export = first.client.export(session).unwrap();
    let bind = second.client.bind(second.now, export, initiator(password), fresh()).unwrap();
    (second.wait(bind), second.ended.take())
}

fn says(change: impl FnOnce(&mut Says)) -> (Got, Option<Reason>) {
    let mut says = Says::default();
    change(&mut says);
    outcome(|_| {}, "secret", says)
}

#[test]
fn files_are_read_and_written_on_both_connections_of_a_session() {
    for dialect in [Dialect::SMB_3_0, Dialect::SMB_3_0_2, Dialect::SMB_3_1_1] {
        for signing in SIGNINGS {
            for (require_signing, encrypt_session) in [(false, false), (true, false), (false, true)] {
                let cipher = match dialect {
                    Dialect::SMB_3_1_1 => Cipher::AES_256_GCM,
                    _ => Cipher::AES_128_CCM,
                };
                let signing =
                    if dialect == Dialect::SMB_3_1_1 { signing } else { SigningAlgorithm::AES_CMAC };
                let setup = Setup {
                    dialect,
                    signing,
                    require_signing,
                    encrypt_session,
                    cipher: Some(cipher),
                    ..setup()
                };
                let (mut worlds, sessions, trees) = bound(setup, params());
                let expected = match (require_signing, encrypt_session) {
                    (true, _) => Protection::Signed,
                    (_, true) => Protection::Encrypted,
                    _ => Protection::None,
                };
                for (world, (session, tree)) in worlds.iter_mut().zip(sessions.into_iter().zip(trees)) {
                    assert_eq!(world.client.session_id(session), Some(SESSION));
                    assert_eq!(world.client.protection(tree), Some(expected));
                    let data = content(100_000);
                    assert_eq!(world.act(tree, &write(&data, None)), Got::Written(100_000));
                    let id = world.submit(tree, &read(0, 100_000, None));
                    assert_eq!(world.wait(id), Got::Read(100_000));
                    assert_eq!(world.data[&id], data);
                }
                let keys = worlds.each_ref().map(|world| &world.client);
                let [one, other] = [0, 1].map(|at| keys[at].application_key(sessions[at]).unwrap().expose());
                assert_eq!(one, other);
            }
        }
    }
}

#[test]
fn no_nonce_is_used_twice_over_all_connections() {
    let setup =
        Setup { encrypt_session: true, transforms: Some(vec![RdmaTransformId::ENCRYPTION]), ..setup() };
    for cipher in [Cipher::AES_128_CCM, Cipher::AES_128_GCM] {
        let setup = Setup { cipher: Some(cipher), ..setup.clone() };
        let rdma_transforms = smbd_smb2::security::RdmaTransforms::ALL;
        let params = Params { transport: rdma(), rdma_transforms, ..params() };
        let (mut worlds, _, trees) = bound(setup, params);
        let mut nonces = Vec::new();
        for (world, tree) in worlds.iter_mut().zip(trees) {
            world.memory.buffers.insert(BufferId(1), content(300_000));
            world.act(tree, &write(&content(300_000), Some(BufferId(1))));
            world.act(tree, &read(0, 100, None));
            nonces.extend(world.server.nonces.drain(..).map(|mut nonce| {
                nonce.resize(16, 0);
                nonce
            }));
            let sealed = |text: &String| {
                let bytes: Vec<u8> = (0..text.len())
                    .step_by(2)
                    .map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap())
                    .collect();
                bytes
                    .starts_with(&transform::PROTOCOL_ID)
                    .then(|| transform::field::NONCE.get(&bytes).unwrap().to_vec())
            };
            nonces.extend(world.server.bytes.iter().filter_map(sealed));
        }
        let distinct: BTreeSet<_> = nonces.iter().collect();
        assert!(nonces.len() > 8, "{nonces:?}");
        assert_eq!(distinct.len(), nonces.len(), "{nonces:02x?}");
    }
}

#[test]
fn a_binding_is_signed_with_message_ids_that_its_session_does_without() {
    for bindings in [1, 3] {
        let params = Params { bindings, ..params() };
        let (mut first, session, tree) =
            World::connected(Setup { require_signing: true, ..setup() }, params.clone());
        let last_of_login = 2 * u64::from(bindings) + 1;
        let ids = |world: &World, wanted: fn(&Header) -> bool| -> Vec<u64> {
            world.server.headers.iter().filter(|it| wanted(it)).map(|it| it.message_id.0).collect()
        };
        let is_setup = |it: &Header| it.command == Command::SESSION_SETUP;
        let is_signed = |it: &Header| it.flags.contains(Flags::SIGNED);
        assert_eq!(ids(&first, is_setup), [last_of_login - 1, last_of_login]);
        first.act(tree, &read(0, 0, None));
        let mut used: BTreeSet<u64> = ids(&first, is_signed).into_iter().collect();
        for _ in 0..bindings {
            let mut second = second(
                &mut first,
                Setup { require_signing: true, ..setup() },
                params.clone(),
                Says::default(),
            );
            let export = first.client.export(session).unwrap();
            let bind = second.client.bind(second.now, export, initiator("secret"), fresh()).unwrap();
            assert!(matches!(second.wait(bind), Got::Session(_)), "{:?}", second.ended);
            for id in
                ids(&second, |it| it.command == Command::SESSION_SETUP && it.flags.contains(Flags::SIGNED))
            {
                assert!(id < last_of_login && used.insert(id), "{id} comes twice: {used:?}");
            }
        }
        let again = first.client.export(session).map(|_| ());
        assert_eq!(again, Err(BindError::TooMany { max: bindings }.into()));
    }
}

#[test]
fn a_connection_that_has_used_the_message_ids_of_a_binding_is_refused() {
    let (mut first, session, _) = World::connected(setup(), params());
    let mut second = World::new(setup(), params());
    second.login();
    let export = first.client.export(session).unwrap();
    // Another session with another SessionId would be possible otherwise.
    let refused = second.client.can_bind(&export).unwrap_err();
    assert_eq!(refused, BindError::Twice(SESSION).into());
    let mut third = World::new(setup(), params());
    third.run();
    let echo = SingleMessage { command: Command::ECHO, payload: 1, body: &[4, 0, 0, 0] };
    third.client.message(third.now, None, echo).unwrap();
    let refused = third.client.bind(third.now, export, initiator("secret"), fresh()).unwrap_err();
    assert_eq!(refused, BindError::MessageIds { next: 2, first: 1 }.into());
}

#[test]
fn a_request_between_those_of_a_binding_ends_the_connection_before_a_nonce_is_used_twice() {
    let (mut first, session, _) = World::connected(setup(), params());
    let mut second = second(&mut first, setup(), params(), Says::default());
    let export = first.client.export(session).unwrap();
    let bind = second.client.bind(second.now, export, initiator("secret"), fresh()).unwrap();
    let echo = SingleMessage { command: Command::ECHO, payload: 1, body: &[4, 0, 0, 0] };
    second.client.message(second.now, None, echo).unwrap();
    assert_eq!(second.wait(bind), Got::Failed(Failure::Closed));
    let kept = SecurityError::NonceKept { message_id: MessageId(3), next: 2, end: 3 };
    assert_eq!(second.ended, Some(Reason::Security(kept)));
}

#[test]
fn both_connections_have_to_be_of_one_client_and_one_server_with_one_dialect_cipher_and_signature() {
    let refused = |second: Setup, params: Params| {
        let (mut first, session, _) = World::connected(setup(), self::params());
        let export = first.client.export(session).unwrap();
        let mut second = World::new(second, params);
        assert_eq!(second.client.can_bind(&export), Err(Refused::NotNegotiated));
        second.run();
        second.client.bind(second.now, export, initiator("secret"), fresh()).unwrap_err()
    };
    let of = |setup| refused(setup, params());
    let (got, expected) = (Dialect::SMB_3_0_2, Dialect::SMB_3_1_1);
    assert_eq!(of(Setup { dialect: got, ..setup() }), BindError::Dialect { got, expected }.into());
    let (got, expected) = (Guid([8; 16]), Guid([9; 16]));
    assert_eq!(of(Setup { server_guid: got, ..setup() }), BindError::ServerGuid { got, expected }.into());
    let (got, expected) = (Some(Cipher::AES_256_GCM), Some(Cipher::AES_128_GCM));
    assert_eq!(of(Setup { cipher: got, ..setup() }), BindError::Cipher { got, expected }.into());
    let (got, expected) = (SigningAlgorithm::AES_CMAC, SigningAlgorithm::AES_GMAC);
    assert_eq!(of(Setup { signing: got, ..setup() }), BindError::Signing { got, expected }.into());
    let expected = SecurityMode::SIGNING_ENABLED;
    let got = expected | SecurityMode::SIGNING_REQUIRED;
    assert_eq!(
        of(Setup { require_signing: true, ..setup() }),
        BindError::SecurityMode { got, expected }.into()
    );
    let expected = Capabilities::LARGE_MTU | Capabilities::MULTI_CHANNEL;
    let got = Capabilities::MULTI_CHANNEL;
    assert_eq!(
        of(Setup { multi_credit: false, ..setup() }),
        BindError::Capabilities { got, expected }.into()
    );
    let got = Capabilities::LARGE_MTU;
    assert_eq!(of(Setup { multi_channel: false, ..setup() }), BindError::NoMultiChannel(got).into());
    let (got, expected) = (Guid([1; 16]), Guid([0; 16]));
    let other = Params { client_guid: got, ..params() };
    assert_eq!(refused(setup(), other), BindError::ClientGuid { got, expected }.into());
    let never = Params { bindings: 0, ..params() };
    assert_eq!(refused(setup(), never), BindError::TooMany { max: 0 }.into());
}

#[test]
fn sessions_of_guests_and_of_servers_without_multichannel_are_not_given_away() {
    let guest = Setup { session_flags: SessionFlags::IS_GUEST, ..setup() };
    let (mut first, session, _) = World::connected(guest, Params { allow_guests: true, ..params() });
    assert_eq!(first.client.export(session).map(|_| ()), Err(BindError::NoKeys.into()));
    let (mut first, session, _) = World::connected(Setup { multi_channel: false, ..setup() }, params());
    let refused = BindError::NoMultiChannel(Capabilities::LARGE_MTU);
    assert_eq!(first.client.export(session).map(|_| ()), Err(refused.into()));
    let (mut first, session, _) = World::connected(setup(), Params::default());
    assert_eq!(first.client.export(session).map(|_| ()), Err(BindError::TooMany { max: 0 }.into()));
    assert!(!first.server.bytes[0].is_empty());
}

#[test]
fn multichannel_is_offered_only_if_sessions_may_be_bound() {
    for (bindings, offered) in [(0, false), (1, true)] {
        let mut world = World::new(setup(), Params { bindings, ..params() });
        let mut nothing = Arrived::nothing();
        let Output::Send { message, .. } = world.client.poll(world.now, &mut nothing) else { panic!() };
        let request = NegotiateRequest::parse(message[0]).unwrap();
        assert_eq!(request.capabilities.contains(Capabilities::MULTI_CHANNEL), offered);
    }
}

#[test]
fn the_last_answer_to_a_binding_is_signed_with_the_connections_own_key() {
    assert!(matches!(says(|_| {}), (Got::Session(_), None)));
    // A server that signs, and does not say so.
    assert!(matches!(says(|says| says.shows_flag = false), (Got::Session(_), None)));
    assert_eq!(says(|says| says.signs_last = false), (Got::Failed(Failure::UnsignedSession), None));
    let broken = outcome(
        |second| {
            second.on_the_way = Some(Box::new(|bytes| {
                if field::STATUS.get(bytes) == Ok(NtStatus::SUCCESS) {
                    field::SIGNATURE.set(bytes, [7; 16]).unwrap();
                }
            }));
        },
        "secret",
        Says::default(),
    );
    let status = NtStatus::SUCCESS;
    let reason = Reason::Signature { message_id: MessageId(2), command: Command::SESSION_SETUP, status };
    assert_eq!(broken, (Got::Failed(Failure::Closed), Some(reason)));
}

#[test]
fn an_answer_in_the_middle_of_a_binding_is_verified_if_it_is_signed() {
    assert!(matches!(says(|says| says.signs_first = false), (Got::Session(_), None)));
    let broken = outcome(
        |second| {
            second.on_the_way = Some(Box::new(|bytes| {
                if field::STATUS.get(bytes) == Ok(NtStatus::MORE_PROCESSING_REQUIRED) {
                    field::SIGNATURE.set(bytes, [7; 16]).unwrap();
                }
            }));
        },
        "secret",
        Says::default(),
    );
    let status = NtStatus::MORE_PROCESSING_REQUIRED;
    let reason = Reason::Signature { message_id: MessageId(1), command: Command::SESSION_SETUP, status };
    assert_eq!(broken, (Got::Failed(Failure::Closed), Some(reason)));
}

#[test]
fn a_guests_answer_to_a_binding_fails_it() {
    let flags = SessionFlags::IS_GUEST;
    assert_eq!(
        says(|says| says.flags = flags),
        (Got::Failed(Failure::GuestBinding { flags: flags.0 }), None)
    );
}

#[test]
fn whether_messages_are_encrypted_is_what_the_session_says_and_not_the_answer_to_its_binding() {
    // 3.2.5.3.3: the small server says ENCRYPT_DATA.
    let (worlds, _, [_, tree]) = bound(setup(), params());
    assert_eq!(worlds[1].client.protection(tree), Some(Protection::None));
}

#[test]
fn a_binding_that_the_server_refuses_fails_with_its_status() {
    let (got, end) = outcome(|_| {}, "wrong", Says::default());
    assert_eq!((got, end), (Got::Failed(Failure::Status(NtStatus::LOGON_FAILURE)), None));
    let (got, end) = outcome(
        |second| {
            let refused = vec![NtStatus::REQUEST_NOT_ACCEPTED];
            second.server.fail.insert(Command::SESSION_SETUP, refused);
        },
        "secret",
        Says::default(),
    );
    assert_eq!((got, end), (Got::Failed(Failure::Status(NtStatus::REQUEST_NOT_ACCEPTED)), None));
}

#[test]
fn a_server_that_stops_at_any_message_of_a_binding_is_given_up_in_time() {
    let timeout = Duration::from_secs(3);
    let params = Params { timeout, ..params() };
    let mut silent = World::new(setup(), params.clone());
    silent.server.deaf.push(Command::NEGOTIATE);
    silent.run();
    silent.pass(timeout);
    assert_eq!(silent.ended, Some(Reason::NotNegotiated(timeout)));
    for answers in [0, 1] {
        let (mut first, session, _) = World::connected(setup(), params.clone());
        let mut second = second(&mut first, setup(), params.clone(), Says::default());
        let mut answer = second.server.on_binding.take().unwrap();
        second.server.on_binding = Some(Box::new(move |server, header, request, bytes| {
            server.deaf.push(Command::SESSION_SETUP);
            answer(server, header, request, bytes)
        }));
        if answers == 0 {
            second.server.deaf.push(Command::SESSION_SETUP);
        }
        let export = first.client.export(session).unwrap();
        let bind = second.client.bind(second.now, export, initiator("secret"), fresh()).unwrap();
        second.run();
        second.pass(timeout - Duration::from_nanos(1));
        assert_eq!(second.results.get(&bind), None);
        second.pass(Duration::from_nanos(1));
        assert_eq!(second.results[&bind], Got::Failed(Failure::TimedOut), "{answers} answers");
    }
}

#[test]
fn a_session_is_authenticated_again_and_given_away_on_its_first_connection_only() {
    let ([_, mut second], [_, session], _) = bound(setup(), params());
    let refused = second.client.reauthenticate(second.now, session, initiator("secret"), fresh());
    assert_eq!(refused, Err(BindError::NotFirst.into()));
    assert_eq!(second.client.export(session).map(|_| ()), Err(BindError::NotFirst.into()));
}

#[test]
fn a_tree_connect_of_another_session_is_not_taken() {
    let ([first, mut second], [_, session], [tree, _]) = bound(setup(), params());
    let mut export = first.client.export_tree(tree).unwrap();
    assert!(second.client.share_tree(session, &export).is_ok());
    let other = World::connected(setup(), params());
    export = other.0.client.export_tree(other.2).unwrap();
    assert!(second.client.share_tree(session, &export).is_ok(), "the same ids are the same session");
}
