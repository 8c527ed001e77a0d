//! Which connection goes to whom, and what its owner is told of before.

use super::rig::{Rig, negotiate, setup};
use crate::broker::Log;
use crate::wire::{Call, Negotiation};
use smbd_smb2::wire::Guid;

const GUID: [u8; 16] = [3; 16];

fn hold_client(rig: &mut Rig, owner: crate::broker::OwnerId) -> Vec<String> {
    rig.call(owner, Call::SetClientGuid { client_guid: Guid(GUID), is_held: true })
}

pub(super) fn negotiation() -> Negotiation {
    Negotiation {
        server_guid: Guid([9; 16]),
        security_mode: 1,
        dialect_max: 0x0311,
        capabilities: 0x7F,
        max_transact_size: 1 << 16,
        max_read_size: 1 << 20,
        max_write_size: 2 << 20,
        ciphers: vec![2, 1],
        signing: vec![1, 2],
        transforms: vec![],
        blob: b"blob".to_vec(),
    }
}

/// The default acceptor says that the broker answers NEGOTIATE.
pub(super) fn answering(rig: &mut Rig, owner: crate::broker::OwnerId) {
    let did = rig.call(owner, Call::SetParameters(Box::new(super::quotas::parameters(Some(negotiation())))));
    assert!(did[0].ends_with("done"), "{did:?}");
}

#[test]
fn a_session_comes_before_a_client_and_a_client_before_the_default_acceptor() {
    let mut rig = Rig::new();
    let acceptor = rig.acceptor(0);
    let (by_client, by_session) = (rig.owner(), rig.owner());
    answering(&mut rig, acceptor);
    hold_client(&mut rig, by_client);
    rig.hold_session(by_session, 5);
    for (guid, session, expected) in [
        (GUID, 5, "3 <- new c1 by SessionId, negotiated +socket c1"),
        (GUID, 6, "2 <- new c2 by ClientGuid, negotiated +socket c2"),
        (GUID, 0, "2 <- new c3 by ClientGuid, negotiated +socket c3"),
        ([4; 16], 5, "3 <- new c4 by SessionId, negotiated +socket c4"),
        ([4; 16], 6, "1 <- new c5 by Default, negotiated +socket c5"),
        // No ClientGuid at all.
        ([0; 16], 0, "1 <- new c6 by Default, negotiated +socket c6"),
    ] {
        let client = rig.client();
        rig.say(client, "negotiate", negotiate(guid));
        rig.name("answer", "answer");
        rig.broker.negotiated(client, Some("answer".into()));
        rig.did();
        let did = rig.say(client, "setup", setup(session));
        assert_eq!(did[0], expected);
    }
}

#[test]
fn a_client_is_routed_at_its_negotiate_if_the_broker_does_not_answer_it() {
    let mut rig = Rig::new();
    rig.acceptor(0);
    let by_client = rig.owner();
    hold_client(&mut rig, by_client);
    let client = rig.client();
    assert_eq!(
        rig.say(client, "negotiate", negotiate(GUID)),
        ["2 <- new c1 by ClientGuid +socket c1", "c1 <- New negotiate"]
    );
    let client = rig.client();
    assert_eq!(
        rig.say(client, "negotiate of another", negotiate([4; 16])),
        ["1 <- new c2 by Default +socket c2", "c2 <- New negotiate of another"]
    );
}

#[test]
fn what_is_no_message_of_smb2_goes_to_the_default_acceptor_as_it_is() {
    let mut rig = Rig::new();
    rig.acceptor(0);
    let client = rig.client();
    assert_eq!(rig.say(client, "noise", "noise"), ["1 <- new c1 by Default +socket c1", "c1 <- New noise"]);
}

#[test]
fn a_session_or_a_client_that_another_owner_holds_cannot_be_set_or_forgotten() {
    let mut rig = Rig::new();
    let (first, second) = (rig.owner(), rig.owner());
    assert_eq!(rig.hold_session(first, 5), ["1 <- 3 done"]);
    assert_eq!(rig.hold_session(second, 5), ["2 <- 4 refused: Held"]);
    let forget = || Call::SetSessionId { session_id: 5, is_held: false };
    assert_eq!(rig.call(second, forget()), ["2 <- 5 refused: NotHeld"]);
    assert_eq!(hold_client(&mut rig, first), ["1 <- 6 done"]);
    assert_eq!(hold_client(&mut rig, second), ["2 <- 7 refused: Held"]);
    assert_eq!(
        rig.call(second, Call::SetClientGuid { client_guid: Guid(GUID), is_held: false }),
        ["2 <- 8 refused: NotHeld"]
    );
    // Again is no error, and then it is free.
    assert_eq!(rig.hold_session(first, 5), ["1 <- 9 done"]);
    assert_eq!(rig.call(first, forget()), ["1 <- 10 done"]);
    assert_eq!(rig.hold_session(second, 5), ["2 <- 11 done"]);
}

#[test]
fn there_is_one_default_acceptor_at_a_time() {
    let mut rig = Rig::new();
    let first = rig.acceptor(0);
    let second = rig.owner();
    assert_eq!(rig.call(second, Call::Listen { is_on: true }), ["2 <- 5 refused: Taken"]);
    assert_eq!(rig.call(second, Call::Listen { is_on: false }), ["2 <- 6 refused: NotAcceptor"]);
    assert_eq!(rig.call(first, Call::Listen { is_on: false }), ["1 <- 7 done"]);
    assert!(!rig.broker.takes_connections());
    assert_eq!(rig.call(second, Call::Listen { is_on: true }), ["2 <- 8 done"]);
    assert!(rig.broker.takes_connections());
}

#[test]
fn an_unknown_session_is_refused_without_a_default_acceptor_and_the_log_names_it() {
    let mut rig = Rig::new();
    let owner = rig.owner();
    rig.hold_session(owner, 5);
    let client = rig.client();
    assert_eq!(rig.say(client, "setup", setup(6)), ["c1 disconnect 0"]);
    let Some(Log::Ends { reason, .. }) = rig.logs.last() else { panic!("{:?}", rig.logs) };
    assert_eq!(
        reason.to_string(),
        "SESSION_SETUP binds SessionId 0x6, which no owner holds, and none is the default acceptor (MS-SMB2 3.3.5.5)"
    );
    assert_eq!(rig.ended(client), [""; 0]);
    let client = rig.client();
    assert_eq!(rig.say(client, "negotiate", negotiate(GUID)), ["c2 disconnect 0"]);
}

#[test]
fn what_was_exchanged_goes_as_it_was_to_the_owner_whose_session_is_bound() {
    let mut rig = Rig::new();
    let acceptor = rig.acceptor(0);
    let holder = rig.owner();
    rig.hold_session(holder, 5);
    let client = rig.client();
    rig.say(client, "negotiate", negotiate(GUID));
    assert_eq!(rig.send(client, "response"), ["c1 send response"]);
    rig.broker.sent(client);
    assert_eq!(rig.did(), ["c1 <- sent 1"]);
    rig.say(client, "echo", "echo");
    assert_eq!(
        rig.say(client, "setup", setup(5)),
        [
            "c1 socket closed",
            "1 <- moved c1",
            "2 <- new c1 by SessionId, negotiated +socket c1",
            "c1 <- PastRequest negotiate",
            "c1 <- PastResponse response",
            "c1 <- PastRequest echo",
            "c1 <- New setup",
        ]
    );
    // It stays there, whatever comes.
    rig.hold_session(acceptor, 6);
    assert_eq!(rig.say(client, "second setup", setup(6)), ["c1 <- New second setup"]);
}

#[test]
fn what_the_broker_answered_itself_comes_before_session_setup_as_past() {
    let mut rig = Rig::new();
    let acceptor = rig.acceptor(0);
    answering(&mut rig, acceptor);
    let client = rig.client();
    assert_eq!(rig.say(client, "negotiate", negotiate(GUID)), ["c1 negotiate negotiate"]);
    assert!(!rig.broker.wants_message(client));
    rig.name("response", "the broker's");
    rig.broker.negotiated(client, Some("the broker's".into()));
    assert_eq!(rig.did(), ["c1 send response"]);
    assert!(rig.broker.wants_message(client));
    rig.broker.sent(client);
    assert_eq!(
        rig.say(client, "setup", setup(0)),
        [
            "1 <- new c1 by Default, negotiated +socket c1",
            "c1 <- PastRequest negotiate",
            "c1 <- PastResponse response",
            "c1 <- New setup",
        ]
    );
}

#[test]
fn a_negotiate_that_the_broker_cannot_answer_ends_the_connection() {
    let mut rig = Rig::new();
    let acceptor = rig.acceptor(0);
    answering(&mut rig, acceptor);
    let client = rig.client();
    rig.say(client, "negotiate", negotiate(GUID));
    rig.broker.negotiated(client, None);
    assert_eq!(rig.did(), ["c1 disconnect 0"]);
    // Neither another time nor for nobody.
    rig.broker.negotiated(client, Some("late".into()));
    assert_eq!(rig.did(), [""; 0]);
}

#[test]
fn a_client_that_does_not_wait_for_the_answer_to_negotiate_is_not_served() {
    let mut rig = Rig::new();
    let acceptor = rig.acceptor(0);
    let client = rig.client();
    rig.say(client, "negotiate", negotiate(GUID));
    assert_eq!(rig.say(client, "setup", setup(0)), ["c1 disconnect 0"]);
    answering(&mut rig, acceptor);
    let client = rig.client();
    rig.say(client, "negotiate", negotiate(GUID));
    assert_eq!(rig.say(client, "setup", setup(0)), ["c2 disconnect 0"]);
}

#[test]
fn a_session_that_its_owner_binds_itself_moves_nothing() {
    let mut rig = Rig::new();
    let acceptor = rig.acceptor(0);
    rig.hold_session(acceptor, 5);
    let client = rig.client();
    rig.say(client, "negotiate", negotiate(GUID));
    rig.send(client, "response");
    assert_eq!(rig.say(client, "setup", setup(5)), ["c1 <- New setup"]);
}
