//! Equal for what behaves the same, different for what does not.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hasher};
use std::time::Duration;

use smbd_core::error::WorkError;
use smbd_core::wire::{DataTransfer, Flags, NegotiateRequest};
use smbd_core::{Access, Close, Input, Instant, Params, RdmaVerb, Role, Token};

use crate::pair::{DATA, LIMITS, LOST, REQUEST, Side, data, request};

fn fingerprint(side: &Side) -> u64 {
    let mut hasher = DefaultHasher::new();
    side.connection.fingerprint(side.now, &mut hasher);
    hasher.finish()
}

fn params() -> Params {
    Params { receive_credit_max: 20, ..Params::example() }
}

fn side() -> Side {
    let mut side = Side::accepted(params(), &NegotiateRequest { credits_requested: 20, ..REQUEST });
    side.receive_data(DataTransfer { credits_requested: 20, credits_granted: 10, ..DATA });
    side.settle();
    side
}

#[test]
fn a_clone_is_equal() {
    let mut side = side();
    side.send(5000);
    side.rdma(RdmaVerb::Read, 10, &[(0, 10)], 0);
    side.drain();
    let before = fingerprint(&side);
    side.connection = side.connection.clone();
    assert_eq!(fingerprint(&side), before);
}

#[test]
fn ways_to_the_same_state_do_not_matter() {
    // Both sent two messages and received two; slots, generations, message numbers and clocks differ.
    let mut early = side();
    let mut late = side();
    late.pass(Duration::from_secs(7));
    for _ in 0..2 {
        early.send(8);
        early.receive_data(DataTransfer { credits_requested: 20, credits_granted: 1, ..DATA });
        early.settle();
    }
    for _ in 0..2 {
        late.receive_data(DataTransfer { credits_requested: 20, credits_granted: 1, ..DATA });
    }
    late.send(4);
    late.settle();
    late.send(12);
    late.settle();
    late.receive_data(DataTransfer { credits_requested: 20, credits_granted: 0, ..DATA });
    early.receive_data(DataTransfer { credits_requested: 20, credits_granted: 0, ..DATA });
    early.send(1);
    early.settle();
    late.send(1);
    late.settle();
    assert_eq!(early.connection.credits(), late.connection.credits());
    assert_eq!(fingerprint(&early), fingerprint(&late));
}

#[test]
fn names_of_slots_do_not_matter() {
    let mut straight = side();
    let mut crossed = side();
    for side in [&mut straight, &mut crossed] {
        side.rdma(RdmaVerb::Write, 30, &[(0, 10), (50, 20)], 0);
        side.send(8);
        side.send(8);
        side.drain();
    }
    let (a, b) = (straight.sends.pop_front().unwrap(), straight.sends.pop_front().unwrap());
    straight.handle_all(&[Input::Sent { id: a }, Input::Sent { id: b }]);
    let (a, b) = (crossed.sends.pop_back().unwrap(), crossed.sends.pop_back().unwrap());
    crossed.handle_all(&[Input::Sent { id: b }, Input::Sent { id: a }]);
    for side in [&mut straight, &mut crossed] {
        side.drain();
        side.send(8);
        side.drain();
    }
    assert_eq!(fingerprint(&straight), fingerprint(&crossed));
}

#[test]
fn deadlines_in_the_past_are_all_due() {
    let mut side = side();
    side.drain();
    side.now = side.now.saturating_add(Duration::from_secs(120));
    let due = fingerprint(&side);
    side.now = side.now.saturating_add(Duration::from_secs(1));
    assert_eq!(fingerprint(&side), due);
}

#[test]
fn statistics_do_not_matter() {
    let mut quiet = side();
    let mut noisy = side();
    // An unknown flag is only counted.
    quiet.receive_data(DataTransfer { credits_requested: 20, ..DATA });
    noisy.receive_data(DataTransfer { credits_requested: 20, flags: Flags(0x80), ..DATA });
    quiet.settle();
    noisy.settle();
    assert_ne!(quiet.connection.stats(), noisy.connection.stats());
    assert_eq!(fingerprint(&quiet), fingerprint(&noisy));
}

/// Each of these does something another does not.
#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn everything_that_matters_matters() {
    type Change = fn(&mut Side);
    let changes: Vec<(&str, Change)> = vec![
        ("nothing", |_| {}),
        ("time", |side| side.now = side.now.saturating_add(Duration::from_nanos(1))),
        ("a queued message", |side| {
            side.send(8);
        }),
        ("a longer queued message", |side| {
            side.send(9);
        }),
        ("a queued message with a token", |side| {
            side.connection.send(side.now, 8, Some(Token(1))).unwrap();
        }),
        ("a sent message", |side| {
            side.send(8);
            side.drain();
        }),
        ("a completed message", |side| {
            side.send(8);
            side.drain();
            side.complete_send();
        }),
        ("a told message", |side| {
            side.send(8);
            side.settle();
        }),
        ("an open sequence", |side| {
            side.receive_data(DataTransfer { credits_requested: 20, remaining_data_length: 9, ..DATA });
            side.drain();
        }),
        ("another open sequence", |side| {
            side.receive_data(DataTransfer { credits_requested: 20, remaining_data_length: 8, ..DATA });
            side.drain();
        }),
        ("a used receive", |side| {
            side.receive_data(DataTransfer { credits_requested: 20, ..DATA });
        }),
        ("another target", |side| {
            side.receive_data(DataTransfer { credits_requested: 19, ..DATA });
        }),
        ("more credits", |side| {
            side.receive_data(DataTransfer { credits_requested: 20, credits_granted: 1, ..DATA });
        }),
        ("an answer owed", |side| {
            side.receive_data(DataTransfer { credits_requested: 20, flags: Flags(1), ..DATA });
        }),
        ("a fragment waiting", |side| {
            side.receive_data(DataTransfer {
                credits_requested: 20,
                data_offset: 24,
                data_length: 8,
                ..DATA
            });
        }),
        ("a fragment elsewhere waiting", |side| {
            let header = DataTransfer { credits_requested: 20, data_offset: 32, data_length: 8, ..DATA };
            side.receive_long(&data(&header), 40, None);
        }),
        ("a fragment borrowed", |side| {
            side.release = false;
            side.receive_data(DataTransfer {
                credits_requested: 20,
                data_offset: 24,
                data_length: 8,
                ..DATA
            });
            side.drain();
        }),
        ("a write", |side| {
            side.rdma(RdmaVerb::Write, 8, &[(0, 8)], 0);
        }),
        ("a read", |side| {
            side.rdma(RdmaVerb::Read, 8, &[(0, 8)], 0);
        }),
        ("a write elsewhere", |side| {
            side.rdma(RdmaVerb::Write, 8, &[(1, 8)], 0);
        }),
        ("a write in two parts", |side| {
            side.rdma(RdmaVerb::Write, 8, &[(0, 4), (4, 4)], 0);
        }),
        ("a posted write", |side| {
            side.rdma(RdmaVerb::Write, 8, &[(0, 8)], 0);
            side.drain();
        }),
        ("a short write and a long one", |side| {
            side.rdma(RdmaVerb::Write, 8, &[(0, 8)], 0);
            side.rdma(RdmaVerb::Write, 9, &[(0, 9)], 0);
        }),
        ("a long write and a short one", |side| {
            side.rdma(RdmaVerb::Write, 9, &[(0, 9)], 0);
            side.rdma(RdmaVerb::Write, 8, &[(0, 8)], 0);
        }),
        ("a done write", |side| {
            side.rdma(RdmaVerb::Write, 8, &[(0, 8)], 0);
            side.drain();
            side.complete_rdma();
        }),
        ("a write and a message behind it", |side| {
            side.rdma(RdmaVerb::Write, 8, &[(0, 8)], 0);
            side.send(8);
        }),
        ("a message and a write behind it", |side| {
            side.send(8);
            side.rdma(RdmaVerb::Write, 8, &[(0, 8)], 0);
        }),
        ("a registration asked for", |side| {
            side.connection.register(side.now, Access::Read, 1).unwrap();
        }),
        ("another", |side| {
            side.connection.register(side.now, Access::Write, 1).unwrap();
        }),
        ("a bigger one", |side| {
            side.connection.register(side.now, Access::Read, 2).unwrap();
        }),
        ("a registration to read and one to write", |side| {
            side.connection.register(side.now, Access::Read, 1).unwrap();
            side.connection.register(side.now, Access::Write, 1).unwrap();
        }),
        ("a registration to write and one to read", |side| {
            side.connection.register(side.now, Access::Write, 1).unwrap();
            side.connection.register(side.now, Access::Read, 1).unwrap();
        }),
        ("a registration under way", |side| {
            side.device.registers = false;
            side.connection.register(side.now, Access::Read, 1).unwrap();
            side.drain();
        }),
        ("a valid registration", |side| {
            side.connection.register(side.now, Access::Read, 1).unwrap();
            side.drain();
        }),
        ("an unsettled registration", |side| {
            side.device.registers = false;
            side.connection.register(side.now, Access::Read, 1).unwrap();
            side.drain();
            side.complete_registration(1, false);
            side.drain();
        }),
        ("an invalidated one", |side| {
            side.connection.register(side.now, Access::Read, 1).unwrap();
            side.drain();
            side.receive_long(&data(&DataTransfer { credits_requested: 20, ..DATA }), 20, Some(Token(1)));
            side.drain();
        }),
        ("an unwanted registration", |side| {
            let id = side.connection.register(side.now, Access::Read, 1).unwrap();
            side.drain();
            side.device.registers = false;
            side.connection.deregister(side.now, id).unwrap();
        }),
        ("a probe", |side| side.connection.probe(side.now).unwrap()),
        ("a probe sent", |side| {
            side.connection.probe(side.now).unwrap();
            side.settle();
        }),
        ("an answer to it", |side| {
            side.connection.probe(side.now).unwrap();
            side.settle();
            side.receive_data(DataTransfer { credits_requested: 20, ..DATA });
        }),
        ("a registration done and not told", |side| {
            side.device.registers = false;
            side.connection.register(side.now, Access::Read, 1).unwrap();
            side.drain();
            side.complete_registration(1, true);
        }),
        ("a deregistration done and not told", |side| {
            let id = side.connection.register(side.now, Access::Read, 1).unwrap();
            side.drain();
            side.device.registers = false;
            side.connection.deregister(side.now, id).unwrap();
            side.drain();
            side.complete_deregistration();
        }),
        ("an invalidation not told", |side| {
            side.connection.register(side.now, Access::Read, 1).unwrap();
            side.drain();
            side.receive_long(&data(&DataTransfer { credits_requested: 20, ..DATA }), 20, Some(Token(1)));
        }),
        ("a flush", |side| {
            side.send(8);
            side.connection.close(side.now, Close::Flush { until: Instant::from_nanos(1 << 50) });
        }),
        ("a shorter flush", |side| {
            side.send(8);
            side.connection.close(side.now, Close::Flush { until: Instant::from_nanos(1 << 49) });
        }),
        ("the end", |side| side.connection.close(side.now, Close::Abort)),
        ("another end", |side| side.handle(LOST)),
        ("the end by a receive that failed", |side| {
            let (id, _) = side.posted.pop_front().unwrap();
            side.handle(failure(id));
        }),
        ("the end by one that failed otherwise", |side| {
            let (id, _) = side.posted.pop_front().unwrap();
            side.handle(Input::Failed { id: id.into(), error: WorkError::RemoteAccess });
        }),
        ("the end by a message that asks for nothing", |side| {
            side.receive_data(DataTransfer { credits_requested: 0, ..DATA });
        }),
        ("the end by a message that grants too much", |side| {
            side.receive_data(DataTransfer { credits_requested: 20, credits_granted: u16::MAX, ..DATA });
        }),
        ("the end told", |side| {
            side.connection.close(side.now, Close::Abort);
            side.poll();
        }),
        ("drained", |side| {
            side.connection.close(side.now, Close::Abort);
            side.drain();
        }),
        ("an idle interval", |side| {
            side.now = side.now.saturating_add(Duration::from_secs(120));
            side.handle(Input::Timeout);
        }),
        ("a probe sent", |side| {
            side.now = side.now.saturating_add(Duration::from_secs(120));
            side.handle(Input::Timeout);
            side.settle();
        }),
        ("a stall", |side| {
            side.send(30_000);
            side.settle();
        }),
        ("a later stall", |side| {
            side.send(30_000);
            side.settle();
            side.receive_data(DataTransfer { credits_requested: 20, ..DATA });
            side.pass(Duration::from_secs(1));
        }),
        ("a full queue", |side| {
            for _ in 0..16 {
                side.send(8);
            }
        }),
        ("a full queue that refused", |side| {
            for _ in 0..16 {
                side.send(8);
            }
            side.connection.send(side.now, 8, None).unwrap_err();
        }),
    ];
    let mut seen = BTreeMap::new();
    for (name, change) in changes {
        let mut side = side();
        change(&mut side);
        if let Some(other) = seen.insert(fingerprint(&side), name) {
            panic!("{name:?} looks like {other:?}");
        }
    }
}

#[test]
fn what_a_connection_was_made_with_matters() {
    let variants = [
        params(),
        Params { strict: true, ..params() },
        Params { solicit: true, ..params() },
        Params { send_credit_target: 11, ..params() },
        Params { borrowed_max: 3, ..params() },
        Params { send_slots: 17, ..params() },
        Params { rdma_slots: 5, ..params() },
        Params { reject_version_range: true, ..params() },
        Params { max_fragmented_recv_size: 1 << 20, ..params() },
        Params { send_credit_timeout: None, ..params() },
    ];
    let mut seen = BTreeMap::new();
    for (index, variant) in variants.into_iter().enumerate() {
        let mut side = Side::new(Role::Acceptor, variant);
        side.limits = LIMITS;
        side.drain();
        side.connect();
        if let Some(other) = seen.insert(fingerprint(&side), index) {
            panic!("variant {index} looks like {other}");
        }
    }
}

#[test]
fn why_a_peer_is_refused_matters() {
    let refusal = |max_version| {
        let mut side = Side::connected(Role::Acceptor, params());
        side.receive(&request(&NegotiateRequest { max_version, ..REQUEST }));
        side.drain();
        fingerprint(&side)
    };
    assert_ne!(refusal(0), refusal(1), "it is told");
}

#[test]
fn the_name_of_the_work_that_failed_does_not_count() {
    let failed = |place: usize| {
        let mut side = Side::accepted(Params::example(), &REQUEST);
        let (id, _) = side.posted[place];
        side.posted.remove(place);
        side.connection.handle(side.now, failure(id)).unwrap();
        fingerprint(&side)
    };
    assert_eq!(failed(0), failed(3));
}

fn failure(id: smbd_core::RecvId) -> Input<'static> {
    Input::Failed { id: id.into(), error: WorkError::LocalLength }
}
