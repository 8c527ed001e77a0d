//! `Drained` is the last word, and comes when nothing is with the device, with the upper layer or with the transport any
//! more (laws 2 and 10): of each kind of work, from every phase.

use smbd_core::wire::{DataTransfer, NegotiateRequest};
use smbd_core::{Access, Close, Event, Input, Outstanding, Params, PhaseName, RdmaVerb, Role};

use crate::pair::{DATA, LOST, Polled, REQUEST, RESPONSE, Side, flushed, request, response, shape};

/// What a connection may have to wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owed {
    Receives,
    Sends,
    Requests,
    Registering,
    Binding,
    Deregistering,
    Fragments,
    Transport,
}
use Owed::{Binding, Deregistering, Fragments, Receives, Registering, Requests, Sends, Transport};

const ALL: [Owed; 8] = [Receives, Sends, Requests, Registering, Binding, Deregistering, Fragments, Transport];

fn params() -> Params {
    Params { keepalive: None, send_credit_timeout: None, ..Params::example() }
}

/// One whose device gives nothing back by itself.
fn new(role: Role) -> Side {
    let mut side = Side::new(role, params());
    side.device.flushes = false;
    side.device.registers = false;
    side.release = false;
    side
}

fn first_receive(role: Role) -> Side {
    let mut side = new(role);
    assert_eq!(shape(&[action(&mut side)]), "r");
    side
}

fn connecting(role: Role) -> Side {
    let mut side = new(role);
    side.drain();
    side
}

fn negotiating(role: Role) -> Side {
    let mut side = connecting(role);
    side.connect();
    side.drain();
    side
}

fn refusing(_: Role) -> Side {
    let mut side = negotiating(Role::Acceptor);
    side.receive(&request(&NegotiateRequest { max_version: 0, ..REQUEST }));
    side.drain();
    side
}

/// The request was faster than `Connected`, and so were data: the upper layer has seen nothing of it.
fn unannounced(_: Role) -> Side {
    let mut side = connecting(Role::Acceptor);
    side.receive(&request(&REQUEST));
    side.drain();
    side.receive_data(DataTransfer { data_offset: 24, data_length: 8, ..DATA });
    assert_eq!(side.connection.outstanding().borrowed, 1);
    side
}

/// With all there can be: a fragment that was handed out and one that was not.
fn established(role: Role) -> Side {
    let mut side = negotiating(role);
    if role == Role::Acceptor {
        side.receive(&request(&REQUEST));
    } else {
        side.receive(&response(&RESPONSE));
    }
    side.settle();
    let with_data = DataTransfer { credits_granted: 10, data_offset: 24, data_length: 8, ..DATA };
    side.receive_data(with_data);
    for _ in 0..3 {
        side.connection.register(side.now, Access::Read, 1).unwrap();
    }
    side.drain();
    side.complete_registration(1, false);
    side.complete_registration(1, true);
    side.drain();
    let Some(Event::Registered { id, .. }) = side.events.last() else { panic!() };
    side.connection.deregister(side.now, *id).unwrap();
    side.send(8);
    side.send(1500);
    side.rdma(RdmaVerb::Write, 20, &[(0, 10), (50, 10)], 0);
    side.rdma(RdmaVerb::Read, 20, &[(0, 10), (50, 10)], 0);
    side.drain();
    side.receive_data(with_data);
    side
}

/// Told that it is over.
fn closing(role: Role) -> Side {
    let mut side = established(role);
    side.connection.close(side.now, Close::Abort);
    side.drain();
    side
}

fn action(side: &mut Side) -> smbd_core::Action {
    match side.poll() {
        Polled::Action(action) => action,
        other => panic!("{other:?}"),
    }
}

/// A situation: how to get there, and what it owes.
struct Case {
    reach: fn(Role) -> Side,
    phase: PhaseName,
    roles: &'static [Role],
    owed: &'static [Owed],
    /// Whether something may come back before the end has been told: not where the transport was not asked for anything.
    early: bool,
}

const fn case(
    reach: fn(Role) -> Side,
    phase: PhaseName,
    roles: &'static [Role],
    owed: &'static [Owed],
) -> Case {
    Case { reach, phase, roles, owed, early: true }
}

const INITIATOR: &[Role] = &[Role::Initiator];
const ACCEPTOR: &[Role] = &[Role::Acceptor];
const BOTH: &[Role] = &[Role::Initiator, Role::Acceptor];
const CASES: [Case; 8] = [
    Case { early: false, ..case(first_receive, PhaseName::Connecting, BOTH, &[Receives, Transport]) },
    case(connecting, PhaseName::Connecting, BOTH, &[Receives, Transport]),
    case(negotiating, PhaseName::Negotiating, INITIATOR, &[Receives, Sends, Transport]),
    case(negotiating, PhaseName::Negotiating, ACCEPTOR, &[Receives, Transport]),
    case(refusing, PhaseName::Rejecting, ACCEPTOR, &[Sends, Transport]),
    case(unannounced, PhaseName::Established, ACCEPTOR, &[Receives, Sends, Transport]),
    case(established, PhaseName::Established, BOTH, &ALL),
    case(closing, PhaseName::Closing, BOTH, &ALL),
];

/// Whether there is still some of it; what the device has, not what the core thinks.
fn is_owed(side: &Side, what: Owed) -> bool {
    match what {
        Receives => !side.posted.is_empty(),
        Sends => !side.sends.is_empty(),
        Requests => !side.rdma.is_empty(),
        Registering => !side.registering.is_empty(),
        Binding => !side.binding.is_empty(),
        Deregistering => !side.deregistering.is_empty(),
        Fragments => !side.fragments.is_empty(),
        Transport => !side.disconnected,
    }
}

/// Gives one of it back.
fn give_back(side: &mut Side, what: Owed) {
    match what {
        Receives => {
            let (id, _) = side.posted.pop_front().unwrap();
            side.handle(flushed(id.into()));
        }
        Sends => {
            let id = side.sends.pop_front().unwrap();
            side.handle(flushed(id.into()));
        }
        Requests => {
            let id = side.rdma.pop_front().unwrap();
            side.handle(flushed(id.into()));
        }
        Registering => {
            let (id, ..) = side.registering.pop_front().unwrap();
            side.handle(flushed(id.into()));
        }
        Binding => {
            let id = side.binding.pop_front().unwrap();
            side.handle(Input::BindComplete { id });
        }
        Deregistering => side.complete_deregistration(),
        Fragments => {
            let fragment = side.fragments.pop().unwrap();
            side.connection.release(side.now, fragment).unwrap();
        }
        Transport => {
            side.disconnected = true;
            side.handle(LOST);
        }
    }
}

/// Ends what `reach` makes, gives back all but `last`, and then that, piece by piece.
fn drain_with(reach: fn(Role) -> Side, role: Role, last: Owed, told_first: bool) {
    let mut side = reach(role);
    side.connection.close(side.now, Close::Abort);
    if told_first {
        side.drain();
    }
    // What was not handed out before the end is handed out with it.
    for _ in 0..2 {
        for what in ALL.into_iter().filter(|what| *what != last) {
            while is_owed(&side, what) {
                give_back(&mut side, what);
            }
        }
        side.drain();
    }
    assert!(is_owed(&side, last));
    while is_owed(&side, last) {
        assert_eq!(side.connection.phase(), PhaseName::Closing);
        give_back(&mut side, last);
        let rest = if is_owed(&side, last) { "w" } else { "nw" };
        assert_eq!(shape(&side.drain()), rest);
    }
    assert!(matches!(side.events.last(), Some(Event::Drained)));
    assert_eq!(side.connection.phase(), PhaseName::Drained);
    assert_eq!(side.connection.outstanding(), Outstanding::default());
}

#[test]
fn drained_waits_for_every_receive_send_request_registration_and_for_the_transport() {
    for Case { reach, phase, roles, owed, early } in CASES {
        for role in roles {
            assert_eq!(reach(*role).connection.phase(), phase);
            for last in owed {
                for told_first in if early { &[true, false][..] } else { &[true] } {
                    println!("{phase:?} as {role:?}, {last:?} last, told first: {told_first}");
                    drain_with(reach, *role, *last, *told_first);
                }
            }
        }
    }
}

#[test]
fn drained_waits_for_fragments_also_those_not_yet_handed_out() {
    let mut side = established(Role::Acceptor);
    side.device.flushes = true;
    side.connection.close(side.now, Close::Abort);
    side.drain();
    assert_eq!(side.fragments.len(), 2, "what arrived is handed up before the end");
    let mut outstanding = Outstanding::default();
    outstanding.borrowed = 2;
    assert_eq!(side.connection.outstanding(), outstanding);
    assert_eq!(side.connection.phase(), PhaseName::Closing);
    side.release_all();
    assert_eq!(shape(&side.drain()), "nw");
    assert_eq!(side.connection.phase(), PhaseName::Drained);
}
