//! Two sides in random configurations, with random loads and random scheduling: the laws hold after every step, all is
//! delivered in the end, and then there is quiet.

use std::time::Duration;

use proptest::prelude::*;
use smbd_core::{
    Access, Action, Close, Event, Input, Instant, Outstanding, Params, PhaseName, RdmaVerb, RegId, WrId,
};

use crate::pair::{ACCEPTOR, INITIATOR, PEER_CLOSED, Pair, Polled, Side};

#[derive(Clone, Copy, Debug)]
enum Step {
    Poll,
    Arrive,
    Complete,
    Rdma,
    Send(u32),
    Write(u32),
    Release,
    Hold(bool),
    Probe,
    Register,
    Flush,
}

prop_compose! {
    fn any_params()(
        receive_credit_max in prop_oneof![4..12_u16, 4..=255_u16],
        send_credit_target in prop_oneof![2..6_u16, 2..=255_u16],
        max_send_size in prop_oneof![Just(128_u32), 128..2000_u32],
        max_receive_size in prop_oneof![Just(128_u32), 128..2000_u32],
        borrowed_max in 0..4_u16,
        message_slots in 1..8_u16,
        send_slots in 2..8_u16,
        rdma_slots in 1..4_u16,
    ) -> Params {
        Params {
            receive_credit_max, send_credit_target, max_send_size, max_receive_size, borrowed_max, message_slots,
            send_slots, rdma_slots, keepalive: None, send_credit_timeout: None, ..Params::example()
        }
    }
}

fn any_step() -> impl Strategy<Value = (bool, Step)> {
    let step = prop_oneof![
        8 => Just(Step::Poll),
        4 => Just(Step::Arrive),
        3 => Just(Step::Complete),
        1 => Just(Step::Rdma),
        2 => prop_oneof![1..300_u32, 1..20_000_u32, Just(100_000)].prop_map(Step::Send),
        1 => prop_oneof![Just(0), 0..3000_u32].prop_map(Step::Write),
        1 => Just(Step::Release),
        1 => any::<bool>().prop_map(Step::Hold),
        1 => Just(Step::Probe),
        1 => Just(Step::Register),
    ];
    (any::<bool>(), step)
}

struct Run {
    pair: Pair,
    /// Lengths accepted for sending, per side.
    lengths: [Vec<u32>; 2],
    writes: [usize; 2],
    probes: [usize; 2],
    registrations: [Vec<RegId>; 2],
}

/// Polls, and sees that what comes does not depend on what the connection remembers of the polls before.
fn poll_with_made_up_work(side: &mut Side) {
    let mut other = side.connection.clone();
    // Any input makes it decide anew, also one that is refused.
    let WrId::Send(id) = WrId::from_raw(0x0200_FFFF_FFFF_FFFF).unwrap() else { panic!() };
    other.handle(side.now, Input::Sent { id }).unwrap_err();
    let expected = other.poll_action();
    let polled = side.poll();
    let same = match &polled {
        Polled::Action(action) => format!("{action:?}") == format!("{expected:?}"),
        Polled::Data => matches!(expected, Action::Notify(Event::Data(_))),
        Polled::Wait(deadline) => matches!(&expected, Action::Wait(other) if other == deadline),
    };
    assert!(same, "{polled:?} instead of {expected:?}");
}

impl Run {
    fn step(&mut self, index: usize, step: Step) {
        let side = &mut self.pair.sides[index];
        match step {
            Step::Poll => poll_with_made_up_work(side),
            Step::Arrive => {
                self.pair.deliver_only(index);
            }
            Step::Complete => {
                side.complete_send();
            }
            Step::Rdma => {
                side.complete_rdma();
            }
            Step::Send(len) => {
                if side.connection.send(side.now, len, None).is_ok() {
                    self.lengths[index].push(len);
                }
            }
            Step::Write(len) => {
                let remote = crate::pair::descriptors(&[(0x1000, len / 2), (0x9000, len - len / 2)]);
                let verb = if len % 3 == 0 { RdmaVerb::Read } else { RdmaVerb::Write };
                if side.connection.rdma(side.now, verb, len, remote, 0).is_ok() {
                    self.writes[index] += 1;
                }
            }
            Step::Probe => {
                if side.connection.probe(side.now).is_ok() {
                    self.probes[index] += 1;
                }
            }
            Step::Register => {
                if let Ok(id) = side.connection.register(side.now, Access::Read, 1) {
                    self.registrations[index].push(id);
                } else if let Some(id) = self.registrations[index].pop() {
                    // Perhaps it is not valid yet.
                    let _ = side.connection.deregister(side.now, id);
                }
            }
            Step::Flush => {
                let until = Instant::from_nanos(u64::MAX);
                side.connection.close(side.now, Close::Flush { until });
            }
            Step::Release => side.release_all(),
            Step::Hold(hold) => side.release = !hold,
        }
    }

    fn finish(&mut self) {
        for side in &mut self.pair.sides {
            side.release = true;
            side.release_all();
        }
        self.pair.run();
    }

    fn check_delivery(&self) {
        for (index, side) in self.pair.sides.iter().enumerate() {
            let mut messages = Vec::new();
            for (first, len, remaining) in &side.data {
                if *first {
                    messages.push(0);
                }
                *messages.last_mut().expect("a message begins with its first fragment") += len;
                if *remaining > 0 {
                    assert!(!messages.is_empty());
                }
            }
            assert_eq!(messages, self.lengths[1 - index], "messages arrive whole and in order");
        }
        for (index, side) in self.pair.sides.iter().enumerate() {
            let sent = side.events.iter().filter(|e| matches!(e, Event::Sent { result: Ok(()), .. })).count();
            assert_eq!(sent, self.lengths[index].len());
            let done =
                side.events.iter().filter(|e| matches!(e, Event::RdmaDone { result: Ok(()), .. })).count();
            assert_eq!(done, self.writes[index]);
            let credits = side.connection.credits();
            assert!(credits.posted() <= credits.window() + 1);
        }
    }
}

fn start(initiator: Params, acceptor: Params) -> Run {
    let mut pair = Pair::new(initiator, acceptor);
    pair.connect();
    Run {
        pair,
        lengths: Default::default(),
        writes: [0, 0],
        probes: [0, 0],
        registrations: Default::default(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]
    #[test]
    fn everything_is_delivered_and_then_there_is_quiet(
        initiator in any_params(),
        acceptor in any_params(),
        steps in proptest::collection::vec(any_step(), 0..400),
    ) {
        let mut run = start(initiator, acceptor);
        for (second, step) in steps {
            run.step(usize::from(second), step);
        }
        run.finish();
        run.check_delivery();
        // Law 8: and a second look changes nothing.
        let quiet = run.pair.message_counts();
        run.pair.sleep(Duration::from_secs(1000));
        prop_assert_eq!(quiet, run.pair.message_counts());
        // Whoever wants to may still send.
        for index in [INITIATOR, ACCEPTOR] {
            let len = 1 + u32::try_from(index).unwrap();
            run.pair.send(index, len);
            run.lengths[index].push(len);
        }
        run.pair.run();
        run.check_delivery();
    }

    #[test]
    fn upper_layers_that_hold_all_they_get_do_not_make_the_sides_talk_for_ever(
        initiator in any_params(),
        acceptor in any_params(),
        steps in proptest::collection::vec(any_step(), 0..200),
    ) {
        let mut run = start(initiator, acceptor);
        for side in &mut run.pair.sides {
            side.release = false;
        }
        for (second, step) in steps {
            if !matches!(step, Step::Release | Step::Hold(_)) {
                run.step(usize::from(second), step);
            }
        }
        // Panics if it never becomes quiet.
        run.pair.run();
        run.finish();
        run.check_delivery();
    }

    #[test]
    fn an_end_at_any_moment_gives_one_result_for_each_command_and_drains_both(
        initiator in any_params(),
        acceptor in any_params(),
        steps in proptest::collection::vec(any_step(), 0..150),
        ending: bool,
        flush: bool,
        last in proptest::collection::vec(any_step(), 0..20),
    ) {
        let mut run = start(initiator, acceptor);
        for (second, step) in steps {
            run.step(usize::from(second), step);
        }
        if flush {
            run.step(usize::from(!ending), Step::Flush);
            for (second, step) in last {
                run.step(usize::from(second), step);
            }
        }
        let index = usize::from(ending);
        let now = run.pair.now;
        run.pair.sides[index].connection.close(now, Close::Abort);
        run.pair.drain(index);
        let other = &mut run.pair.sides[1 - index];
        if !other.disconnected && other.connection.phase() != PhaseName::Drained {
            other.disconnected = true;
            other.handle(PEER_CLOSED);
        }
        run.pair.drain(1 - index);
        for (index, side) in run.pair.sides.iter_mut().enumerate() {
            side.release_all();
            side.drain();
            prop_assert_eq!(side.connection.phase(), PhaseName::Drained);
            prop_assert_eq!(side.connection.outstanding(), Outstanding::default());
            let count = |wanted: fn(&Event) -> bool| side.events.iter().filter(|e| wanted(e)).count();
            prop_assert_eq!(count(|e| matches!(e, Event::Sent { .. })), run.lengths[index].len());
            prop_assert_eq!(count(|e| matches!(e, Event::RdmaDone { .. })), run.writes[index]);
            prop_assert_eq!(count(|e| matches!(e, Event::Probed(_))), run.probes[index]);
            prop_assert_eq!(count(|e| matches!(e, Event::Closed(_) | Event::ConnectFailed(_))), 1);
            prop_assert_eq!(count(|e| matches!(e, Event::Drained)), 1);
            let last_two = &side.events[side.events.len() - 2..];
            let in_order = matches!(last_two, [Event::Closed(_) | Event::ConnectFailed(_), Event::Drained]);
            prop_assert!(in_order, "{:?}", last_two);
        }
    }
}
