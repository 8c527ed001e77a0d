//! Law 1: every id comes back once. What comes twice, late, early or from nowhere is refused and changes nothing.

use std::hash::{DefaultHasher, Hasher};

use proptest::prelude::*;
use smbd_core::error::{ConnectReason, Misuse, WorkError};
use smbd_core::wire::DataTransfer;
use smbd_core::{Access, Close, Head, Input, Limits, Params, PhaseName, RdmaVerb, Role, WrId};

use crate::pair::{DATA, LIMITS, LOST, REQUEST, Side, data, request};

fn params() -> Params {
    Params { keepalive: None, send_credit_timeout: None, ..Params::example() }
}

fn fingerprint(side: &Side) -> u64 {
    let mut hasher = DefaultHasher::new();
    side.connection.fingerprint(side.now, &mut hasher);
    hasher.finish()
}

/// Says the input is refused with `expected` and nothing changes.
fn refused(side: &mut Side, input: Input<'_>, expected: Misuse) {
    let before = (fingerprint(side), *side.connection.stats(), side.connection.outstanding());
    assert_eq!(side.connection.handle(side.now, input), Err(expected), "{input:?}");
    let after = (fingerprint(side), *side.connection.stats(), side.connection.outstanding());
    assert_eq!(before, after, "{input:?} changed something");
}

fn completions(id: WrId) -> Vec<Input<'static>> {
    let mut inputs = vec![Input::Failed { id, error: WorkError::Flushed }];
    match id {
        WrId::Recv(id) => {
            inputs.push(Input::Received { id, head: Head::of(&data(&DATA)), len: 20, invalidated: None });
        }
        WrId::Send(id) => inputs.push(Input::Sent { id }),
        WrId::Rdma(id) => inputs.push(Input::RdmaDone { id }),
        WrId::Reg(id) => inputs.extend([Input::Deregistered { id }, Input::BindComplete { id }]),
    }
    inputs
}

fn side() -> Side {
    let mut side = Side::accepted(params(), &REQUEST);
    side.receive_data(DataTransfer { credits_granted: 10, ..DATA });
    side.settle();
    side
}

/// Ids of each kind that were completed.
fn used_ids(side: &mut Side) -> Vec<WrId> {
    let recv = side.posted[0].0;
    side.receive_data(DATA);
    side.send(8);
    side.rdma(RdmaVerb::Write, 8, &[(0, 8)], 0);
    let reg = side.connection.register(side.now, Access::Read, 1).unwrap();
    side.drain();
    let (send, rdma) = (side.sends[0], side.rdma[0]);
    side.settle();
    side.connection.deregister(side.now, reg).unwrap();
    side.settle();
    vec![recv.into(), send.into(), rdma.into(), reg.into()]
}

#[test]
fn a_completion_that_comes_twice_is_refused_and_changes_nothing() {
    let mut side = side();
    for id in used_ids(&mut side) {
        for input in completions(id) {
            refused(&mut side, input, Misuse::UnknownWork(id));
        }
    }
}

#[test]
fn a_completion_of_an_older_use_of_the_slot_is_refused() {
    let mut side = side();
    let used = used_ids(&mut side);
    // All four slots are in use again, under names of a later generation.
    side.device.registers = false;
    side.send(8);
    side.rdma(RdmaVerb::Write, 8, &[(0, 8)], 0);
    side.connection.register(side.now, Access::Read, 1).unwrap();
    side.drain();
    for id in used {
        for input in completions(id) {
            refused(&mut side, input, Misuse::UnknownWork(id));
        }
    }
}

#[test]
fn a_completion_after_drained_is_refused() {
    let mut side = side();
    let used = used_ids(&mut side);
    let posted: Vec<WrId> = side.posted.iter().map(|(id, _)| (*id).into()).collect();
    side.connection.close(side.now, Close::Abort);
    side.drain();
    assert_eq!(side.connection.phase(), PhaseName::Drained);
    for id in used.into_iter().chain(posted) {
        for input in completions(id) {
            refused(&mut side, input, Misuse::UnknownWork(id));
        }
    }
    refused(&mut side, LOST, Misuse::WrongPhase { input: "Disconnected", phase: "Drained" });
}

#[test]
fn a_head_that_does_not_fit_the_length_is_refused() {
    let mut side = side();
    let (id, _) = side.posted[0];
    for (head, len) in [(20, 21), (20, 19), (31, 32), (31, 100), (32, 31), (0, 1)] {
        let bytes = vec![0; head];
        let input = Input::Received { id, head: Head::of(&bytes), len, invalidated: None };
        let head = u32::try_from(head).unwrap();
        refused(&mut side, input, Misuse::HeadLength { head, len });
    }
}

#[test]
fn the_transport_speaks_once_and_in_order() {
    let wrong = |input, phase| Misuse::WrongPhase { input, phase };
    let failed = Input::ConnectFailed { reason: ConnectReason::Refused };
    let mut side = Side::new(Role::Acceptor, params());
    let connected = Input::Connected { limits: LIMITS };
    for polled in 0..2 {
        // Before Accept has left, at first with nothing posted at all.
        refused(&mut side, connected, wrong("Connected", "Connecting"));
        refused(&mut side, failed, wrong("ConnectFailed", "Connecting"));
        refused(&mut side, LOST, wrong("Disconnected", "Connecting"));
        if polled == 0 {
            side.poll();
        }
    }
    let (id, _) = side.posted[0];
    let early = Input::Received { id, head: Head::of(&request(&REQUEST)), len: 20, invalidated: None };
    refused(&mut side, early, wrong("Received", "Connecting"));
    side.drain();
    side.connect();
    refused(&mut side, connected, wrong("Connected", "Negotiating"));
    refused(&mut side, failed, wrong("ConnectFailed", "Negotiating"));
    side.receive(&request(&REQUEST));
    side.drain();
    refused(&mut side, connected, wrong("Connected", "Established"));
    side.device.flushes = false;
    side.handle(LOST);
    for input in [connected, failed, LOST] {
        assert!(matches!(side.connection.handle(side.now, input), Err(Misuse::WrongPhase { .. })));
    }
}

#[test]
fn a_connection_that_failed_is_not_disconnected_as_well() {
    let mut side = Side::new(Role::Initiator, params());
    side.drain();
    side.device.flushes = false;
    side.handle(Input::ConnectFailed { reason: ConnectReason::Unreachable });
    refused(&mut side, LOST, Misuse::WrongPhase { input: "Disconnected", phase: "Closing" });
    side.drain();
    side.flush();
    side.drain();
    assert_eq!(side.connection.phase(), PhaseName::Drained);
}

#[test]
fn impossible_limits_are_refused() {
    let mut side = Side::new(Role::Initiator, params());
    side.drain();
    for (limits, field, got, needed) in [
        (Limits { send_queue: 1, ..LIMITS }, "send_queue", 1, 2),
        (Limits { send_queue: 0, ..LIMITS }, "send_queue", 0, 2),
        (Limits { rdma_len_max: 0, ..LIMITS }, "rdma_len_max", 0, 1),
    ] {
        refused(&mut side, Input::Connected { limits }, Misuse::Limits { field, got, needed });
    }
    side.connect();
}

#[test]
fn a_fragment_of_another_connection_or_another_time_is_refused() {
    let mut one = side();
    let mut other = side();
    one.release = false;
    let data = DataTransfer { data_offset: 24, data_length: 8, ..DATA };
    one.receive_data(data);
    one.drain();
    let fragment = one.fragments.pop().unwrap();
    let before = fingerprint(&other);
    // There this slot is posted, or free, or was used before.
    assert_eq!(other.connection.release(other.now, fragment), Err(Misuse::ForeignFragment));
    assert_eq!(fingerprint(&other), before);
    other.check();
}

#[test]
fn an_input_refused_does_not_keep_the_right_one_from_coming() {
    let mut side = side();
    side.send(8);
    side.drain();
    let id = side.sends[0];
    let raw = WrId::from(id).to_raw();
    let forged = WrId::from_raw(raw + (1 << 16)).unwrap();
    for input in completions(forged) {
        refused(&mut side, input, Misuse::UnknownWork(forged));
    }
    assert!(side.complete_send());
}

proptest! {
    #[test]
    fn no_made_up_id_is_taken(raw: u64, index in 0..70_u64, generation in 0..5_u64, kind in 1..5_u64) {
        let mut side = side();
        used_ids(&mut side);
        side.send(8);
        side.rdma(RdmaVerb::Write, 8, &[(0, 8)], 0);
        side.drain();
        let mut known: Vec<WrId> = side.posted.iter().map(|(id, _)| (*id).into()).collect();
        known.extend(side.sends.iter().map(|id| WrId::from(*id)));
        known.extend(side.rdma.iter().map(|id| WrId::from(*id)));
        for raw in [raw, kind << 56 | generation << 16 | index] {
            let Some(id) = WrId::from_raw(raw) else { continue };
            if known.contains(&id) {
                continue;
            }
            for input in completions(id) {
                refused(&mut side, input, Misuse::UnknownWork(id));
            }
        }
    }
}
