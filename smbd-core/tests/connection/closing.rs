//! The end in every phase: one result for each command, then one last word, then `Drained` (LC-1, LC-2, laws 2 and 10).

use std::time::Duration;

use smbd_core::error::{
    Aborted, CommandError, OpError, ProbeError, RegisterError, RegistrationError, SendError,
};
use smbd_core::wire::{DataTransfer, NegotiateRequest};
use smbd_core::{
    Access, Close, Event, Input, Instant, Outstanding, Params, PhaseName, RdmaVerb, Role,
    error::ConnectReason,
};

use crate::pair::{DATA, LOST, REQUEST, Side, descriptors, request, shape};

fn params() -> Params {
    Params { keepalive: None, send_credit_timeout: None, ..Params::example() }
}

/// An acceptor with `credits`, nothing under way.
fn side(credits: u16) -> Side {
    let mut side = Side::accepted(params(), &REQUEST);
    side.receive_data(DataTransfer { credits_granted: credits, ..DATA });
    side.settle();
    side.events.clear();
    side
}

/// With every kind of command under way: in the queue, with the device, and done but not told.
fn busy() -> Side {
    let mut side = side(4);
    side.device.registers = false;
    side.send(8);
    side.send(1500);
    side.rdma(RdmaVerb::Write, 20, &[(0, 10), (50, 10)], 0);
    side.rdma(RdmaVerb::Read, 20, &[(0, 10), (50, 10)], 0);
    side.connection.register(side.now, Access::Read, 1).unwrap();
    side.connection.register(side.now, Access::Read, 1).unwrap();
    side.drain();
    // Queued: behind the credits, behind the places for requests, behind the next poll.
    side.complete_registration(1, true);
    let registered = side.drain();
    assert_eq!(shape(&registered), "nw");
    let Some(Event::Registered { id, .. }) = side.events.last() else { panic!() };
    side.connection.deregister(side.now, *id).unwrap();
    side.drain();
    side.send(70_000);
    side.rdma(RdmaVerb::Write, 0, &[(0, 10)], 0);
    side.connection.register(side.now, Access::Read, 1).unwrap();
    side.connection.probe(side.now).unwrap();
    // Done, not told.
    side.complete_send();
    side
}

fn last_words(side: &Side) -> &[Event] {
    &side.events[side.events.len() - 2..]
}

#[test]
fn an_abort_answers_every_command_once_and_in_order_results_closed_drained() {
    let mut side = busy();
    side.events.clear();
    side.connection.close(side.now, Close::Abort);
    let actions = side.drain();
    assert!(shape(&actions).ends_with("nDnw"), "{}", shape(&actions));
    let mut told: Vec<_> = side.events.iter().map(|event| format!("{event:?}")).collect();
    let end = told.split_off(told.len() - 2);
    assert_eq!(end, ["Closed(Local)", "Drained"]);
    told.sort();
    insta::assert_snapshot!(told.join("\n"), @r"
    Deregistered { id: reg0.0, result: Err(Aborted(Aborted)) }
    Probed(Err(Aborted(Aborted)))
    RdmaDone { op: op0.0, result: Err(Aborted(Aborted)) }
    RdmaDone { op: op1.0, result: Err(Aborted(Aborted)) }
    RdmaDone { op: op2.0, result: Ok(()) }
    Registered { id: reg1.0, result: Err(Aborted(Aborted)) }
    Registered { id: reg2.0, result: Err(Aborted(Aborted)) }
    Sent { msg: msg0, result: Ok(()) }
    Sent { msg: msg1, result: Err(Aborted) }
    Sent { msg: msg2, result: Err(Aborted) }
    ");
    assert_eq!(side.connection.outstanding(), Outstanding::default());
    assert_eq!(side.connection.phase(), PhaseName::Drained);
}

#[test]
fn a_loss_answers_every_command_once_too() {
    let mut side = busy();
    let before = side.events.len();
    side.disconnected = true;
    side.handle(LOST);
    side.drain();
    assert_eq!(side.events.len() - before, 12);
    assert!(matches!(last_words(&side), [Event::Closed(_), Event::Drained]));
    assert_eq!(side.end(), "Closed(Lost { reason: Unknown })");
}

#[test]
fn what_completes_while_the_end_is_told_is_not_told_twice() {
    let mut side = busy();
    side.device.flushes = false;
    side.events.clear();
    side.connection.close(side.now, Close::Abort);
    // A completion between any two polls.
    for _ in 0..40 {
        side.poll();
        if !side.complete_send() {
            side.complete_rdma();
        }
    }
    while side.complete_send() || side.complete_rdma() {}
    side.flush();
    side.handle(LOST);
    side.drain();
    let count = |wanted: fn(&Event) -> bool| side.events.iter().filter(|event| wanted(event)).count();
    assert_eq!(count(|e| matches!(e, Event::Sent { .. })), 3);
    assert_eq!(count(|e| matches!(e, Event::RdmaDone { .. })), 3);
    assert_eq!(count(|e| matches!(e, Event::Registered { .. })), 2);
    assert_eq!(count(|e| matches!(e, Event::Deregistered { .. })), 1);
    assert_eq!(count(|e| matches!(e, Event::Probed(_))), 1);
    assert_eq!(count(|e| matches!(e, Event::Closed(_))), 1);
    assert_eq!(count(|e| matches!(e, Event::Drained)), 1);
    assert_eq!(side.connection.phase(), PhaseName::Drained);
}

#[test]
fn a_message_half_sent_is_aborted_once() {
    let mut side = side(2);
    let first = side.send(5000);
    let second = side.send(8);
    side.drain();
    side.connection.close(side.now, Close::Abort);
    side.drain();
    let results: Vec<_> = side
        .events
        .iter()
        .filter_map(|e| if let Event::Sent { msg, result } = e { Some((*msg, *result)) } else { None })
        .collect();
    assert_eq!(results, [(first, Err(Aborted)), (second, Err(Aborted))]);
}

#[test]
fn closing_before_anything_was_polled_needs_no_disconnect() {
    for role in [Role::Initiator, Role::Acceptor] {
        let mut side = Side::new(role, params());
        side.connection.close(side.now, Close::Abort);
        assert_eq!(shape(&side.drain()), "nnw");
        assert!(matches!(last_words(&side), [Event::ConnectFailed(_), Event::Drained]));
    }
}

#[test]
fn closing_after_the_receive_was_posted_disconnects() {
    let mut side = Side::new(Role::Initiator, params());
    side.poll();
    side.connection.close(side.now, Close::Abort);
    assert_eq!(shape(&side.drain()), "nDnw");
    assert_eq!(side.end(), "ConnectFailed(Local)");
}

#[test]
fn closing_in_every_phase_before_established_fails_to_connect_whatever_the_way() {
    for how in [Close::Abort, Close::Flush { until: Instant::from_nanos(1 << 40) }] {
        let connecting = {
            let mut side = Side::new(Role::Initiator, params());
            side.drain();
            side
        };
        let refusing = {
            let mut side = Side::connected(Role::Acceptor, params());
            side.receive(&request(&NegotiateRequest { max_version: 0, ..REQUEST }));
            side.drain();
            side
        };
        let unannounced = {
            let mut side = Side::new(Role::Acceptor, params());
            side.drain();
            side.receive(&request(&REQUEST));
            side.drain();
            side
        };
        let asked = Side::connected(Role::Initiator, params());
        let waiting = Side::connected(Role::Acceptor, params());
        for mut side in [connecting, refusing, unannounced, asked, waiting] {
            side.connection.close(side.now, how);
            assert_eq!(shape(&side.drain()), "nDnw");
            assert_eq!(side.end(), "ConnectFailed(Local)");
            assert_eq!(side.connection.phase(), PhaseName::Drained);
        }
    }
}

#[test]
fn a_transport_that_does_not_come_up_fails_once_and_is_disconnected() {
    for reason in [ConnectReason::Refused, ConnectReason::TimedOut, ConnectReason::Other(7)] {
        let mut side = Side::new(Role::Initiator, params());
        side.drain();
        side.disconnected = true;
        side.handle(Input::ConnectFailed { reason });
        // The receive is still posted: it has to come back.
        assert_eq!(shape(&side.drain()), "nDnw");
        assert_eq!(side.end(), format!("ConnectFailed(Connect({reason:?}))"));
    }
}

#[test]
fn disconnected_in_every_phase() {
    let mut connecting = Side::new(Role::Acceptor, params());
    connecting.drain();
    let asked = Side::connected(Role::Initiator, params());
    let waiting = Side::connected(Role::Acceptor, params());
    for (mut side, end) in [
        (connecting, "ConnectFailed(Lost { reason: Unknown })"),
        (asked, "ConnectFailed(Lost { reason: Unknown })"),
        (waiting, "ConnectFailed(Lost { reason: Unknown })"),
        (side(3), "Closed(Lost { reason: Unknown })"),
    ] {
        side.disconnected = true;
        side.handle(LOST);
        assert_eq!(
            shape(&side.drain()),
            "nDnw",
            "Disconnect all the same: some devices flush nothing before"
        );
        assert_eq!(side.end(), end);
        assert_eq!(side.connection.phase(), PhaseName::Drained, "the news came, and does not come again");
    }
}

#[test]
fn messages_that_arrive_after_the_end_mean_nothing() {
    let mut side = side(3);
    side.device.flushes = false;
    side.connection.close(side.now, Close::Abort);
    side.drain();
    let stats = *side.connection.stats();
    side.receive_data(DataTransfer { data_offset: 24, data_length: 8, credits_granted: 9, ..DATA });
    side.receive(&[0; 3]);
    assert_eq!(shape(&side.drain()), "w");
    assert_eq!(*side.connection.stats(), stats);
    assert_eq!(side.end(), "Closed(Local)");
}

#[test]
fn nothing_can_be_commanded_after_close_and_nothing_moves_after_drained() {
    for flush in [false, true] {
        let mut side = side(0);
        let id = side.connection.register(side.now, Access::Read, 1).unwrap();
        side.drain();
        side.send(8);
        let until = side.now.saturating_add(Duration::from_secs(1));
        side.connection.close(side.now, if flush { Close::Flush { until } } else { Close::Abort });
        for _ in 0..2 {
            let closing = CommandError::Closing;
            assert_eq!(side.connection.send(side.now, 8, None), Err(SendError::Command(closing)));
            let rdma = side.connection.rdma(side.now, RdmaVerb::Read, 8, descriptors(&[(0, 8)]), 0);
            assert_eq!(rdma, Err(closing.into()));
            assert_eq!(
                side.connection.register(side.now, Access::Read, 1),
                Err(RegisterError::Command(closing))
            );
            assert_eq!(side.connection.deregister(side.now, id), Err(RegisterError::Command(closing)));
            assert_eq!(side.connection.probe(side.now), Err(closing));
            side.pass(Duration::from_secs(1));
        }
        assert_eq!(side.connection.phase(), PhaseName::Drained);
        let events = side.events.len();
        side.connection.close(side.now, Close::Abort);
        side.pass(Duration::from_secs(1000));
        assert_eq!(shape(&side.drain()), "w");
        assert_eq!(side.events.len(), events);
    }
}

#[test]
fn a_flush_finishes_what_was_commanded_and_then_disconnects() {
    let mut side = side(10);
    side.send(2500);
    side.rdma(RdmaVerb::Write, 20, &[(0, 10), (50, 10)], 0);
    side.send(8);
    let until = side.now.saturating_add(Duration::from_secs(10));
    side.connection.close(side.now, Close::Flush { until });
    assert_eq!(side.deadline(), Some(until));
    assert_eq!(side.connection.phase(), PhaseName::Established);
    side.settle();
    let ok = side
        .events
        .iter()
        .filter(|e| matches!(e, Event::Sent { result: Ok(()), .. } | Event::RdmaDone { result: Ok(()), .. }))
        .count();
    assert_eq!(ok, 3);
    assert_eq!(side.end(), "Closed(Local)");
    assert_eq!(side.now.saturating_add(Duration::from_secs(10)), until, "no time was needed");
}

#[test]
fn a_flush_disconnects_after_the_last_completion_and_not_before() {
    let mut side = side(10);
    side.send(8);
    side.connection.close(side.now, Close::Flush { until: side.now.saturating_add(Duration::from_secs(10)) });
    assert!(!shape(&side.drain()).contains('D'));
    side.complete_send();
    assert_eq!(shape(&side.drain()), "nnDnw", "sent, closed, disconnect, drained");
}

#[test]
fn a_flush_asks_for_the_completion_of_unsignalled_messages_with_an_empty_one() {
    let mut side = side(10);
    side.connection.send_unsignalled(side.now, 8, None).unwrap();
    assert_eq!(shape(&side.drain()), "sw");
    let sent = side.sent.len();
    side.connection.close(side.now, Close::Flush { until: side.now.saturating_add(Duration::from_secs(10)) });
    assert_eq!(shape(&side.drain()), "sw", "an empty message, once");
    assert!(side.sent[sent].len == 20 && side.sent[sent].signal);
    side.complete_send();
    assert!(!shape(&side.drain()).contains('D'));
    side.complete_send();
    assert_eq!(shape(&side.drain()), "nDnw", "closed, disconnect, drained");
    assert!(side.events.iter().any(|event| matches!(event, Event::Sent { result: Ok(()), .. })));
}

#[test]
fn a_flush_asks_for_no_completion_that_was_asked_for() {
    let mut side = side(10);
    side.connection.send_unsignalled(side.now, 8, None).unwrap();
    side.send(8);
    side.drain();
    let sent = side.sent.len();
    side.connection.close(side.now, Close::Flush { until: side.now.saturating_add(Duration::from_secs(10)) });
    side.drain();
    assert_eq!(side.sent.len(), sent);
    side.settle();
    assert_eq!(side.end(), "Closed(Local)");
}

#[test]
fn a_flush_of_unsignalled_messages_waits_for_a_credit_and_no_longer_than_it_may() {
    let mut side = side(1);
    side.connection.send_unsignalled(side.now, 8, None).unwrap();
    side.drain();
    let until = side.now.saturating_add(Duration::from_secs(10));
    side.connection.close(side.now, Close::Flush { until });
    assert_eq!(shape(&side.drain()), "w", "there is none");
    side.receive_data(DataTransfer { credits_granted: 2, ..DATA });
    assert!(shape(&side.drain()).contains('s'));
    side.settle();
    assert_eq!(side.end(), "Closed(Local)");

    let mut side = self::side(1);
    side.connection.send_unsignalled(side.now, 8, None).unwrap();
    side.drain();
    let until = side.now.saturating_add(Duration::from_secs(10));
    side.connection.close(side.now, Close::Flush { until });
    side.pass(Duration::from_secs(10));
    assert_eq!(side.end(), "Closed(Local)");
    assert!(side.events.iter().any(|event| matches!(event, Event::Sent { result: Err(Aborted), .. })));
}

#[test]
fn a_flush_waits_for_operations() {
    let mut side = side(10);
    side.rdma(RdmaVerb::Read, 8, &[(0, 8)], 0);
    side.drain();
    let until = side.now.saturating_add(Duration::from_secs(10));
    side.connection.close(side.now, Close::Flush { until });
    assert_eq!(shape(&side.drain()), "w");
    side.complete_rdma();
    assert_eq!(shape(&side.drain()), "nnDnw", "done, closed, disconnect, drained");
}

#[test]
fn a_flush_with_nothing_to_do_closes_at_once() {
    let mut side = side(10);
    side.connection.close(side.now, Close::Flush { until: side.now.saturating_add(Duration::from_secs(10)) });
    assert_eq!(shape(&side.drain()), "nDnw");
}

#[test]
fn a_flush_that_takes_too_long_aborts_the_rest() {
    let mut side = side(2);
    side.send(8);
    side.send(5000);
    side.connection.close(side.now, Close::Flush { until: side.now.saturating_add(Duration::from_secs(10)) });
    side.settle();
    side.pass(Duration::from_secs(10) - Duration::from_nanos(1));
    assert_eq!(side.connection.phase(), PhaseName::Established);
    side.pass(Duration::from_nanos(1));
    assert_eq!(side.end(), "Closed(Local)");
    let results: Vec<_> = side
        .events
        .iter()
        .filter_map(|e| if let Event::Sent { result, .. } = e { Some(*result) } else { None })
        .collect();
    assert_eq!(results, [Ok(()), Err(Aborted)]);
}

#[test]
fn a_second_close_may_only_make_it_end_earlier() {
    let mut side = side(0);
    side.send(8);
    let at = |seconds| Instant::ORIGIN.saturating_add(Duration::from_secs(seconds));
    for (until, deadline) in [(20, 20), (30, 20), (10, 10)] {
        side.connection.close(side.now, Close::Flush { until: at(until) });
        assert_eq!(side.deadline(), Some(at(deadline)));
    }
    side.connection.close(side.now, Close::Abort);
    side.drain();
    assert_eq!(side.end(), "Closed(Local)");
}

#[test]
fn a_flush_still_answers_and_still_watches_the_peer() {
    let mut side = side(2);
    side.send(5000);
    side.connection
        .close(side.now, Close::Flush { until: side.now.saturating_add(Duration::from_secs(100)) });
    side.settle();
    side.receive_data(DataTransfer { credits_granted: 10, ..DATA });
    side.settle();
    let sent: u32 = side.data_headers().iter().map(|header| header.data_length).sum();
    assert_eq!(sent, 5000);
    assert_eq!(side.end(), "Closed(Local)");
}

#[test]
fn aborted_results_say_so() {
    let mut side = busy();
    side.events.clear();
    side.connection.close(side.now, Close::Abort);
    side.drain();
    let wrong = side.events.iter().find(|event| match event {
        Event::RdmaDone { result, .. } => !matches!(result, Ok(()) | Err(OpError::Aborted(Aborted))),
        Event::Registered { result, .. } | Event::Deregistered { result, .. } => {
            *result != Err(RegistrationError::Aborted(Aborted))
        }
        Event::Probed(result) => *result != Err(ProbeError::Aborted(Aborted)),
        _ => false,
    });
    assert!(wrong.is_none(), "{wrong:?}");
}
