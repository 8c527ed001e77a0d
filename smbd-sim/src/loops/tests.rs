use std::cell::RefCell;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

use smbd_core::backend::{BufferLookup, Handler, drive};
use smbd_core::endpoint::{EndpointEvent, Message};
use smbd_core::{Close, Instant};
use smbd_link::Messages;
use smbd_link::handles::PollReady;

use super::{LoopEnd, LoopPlan, Stage, run, run_seeds};
use crate::memory::Range;
use crate::oracle::Law;
use crate::swarm::{FaultLevel, Loop, Options, Pair, Summary};
use crate::trace::Trace;
use crate::{Rng, Side};

fn level(faults: FaultLevel) -> Options {
    Options { faults, ..Options::default() }
}

/// Plays seeds with each pair of loops.
fn each_pair(seeds: std::ops::Range<u64>, faults: FaultLevel) -> Summary {
    let mut summary = Summary::default();
    for seed in seeds {
        for pair in Pair::ALL {
            let plan = LoopPlan { pair: *pair, ..LoopPlan::of(seed, &level(faults), None) };
            let report = run(&plan, None);
            assert_eq!(report.failure, None, "seed {seed}, {}, {faults:?}", pair.name());
            summary.take(&report);
        }
    }
    summary
}

#[test]
fn without_faults_every_message_comes_back_over_every_loop() {
    let summary = each_pair(0..60, FaultLevel::None);
    assert_eq!((summary.runs, summary.delivered), (480, 480));
    let offered = (0..60).filter(|seed| LoopPlan::of(*seed, &level(FaultLevel::None), None).load.moved > 0);
    assert_eq!(summary.carried.registrations, offered.count() as u64 * 8);
}

/// A server that waits for its send receives nothing meanwhile: its client has no credits soon, and can grant none. Some of these
/// stand still for ever if the server's queue has no way out.
#[test]
fn a_server_that_answers_one_by_one_serves_a_client_that_sends_without_waiting() {
    for seed in 0..500 {
        let plan = LoopPlan::of(seed, &level(FaultLevel::None), None);
        let report = run(&LoopPlan { pair: Pair::TokioTokio, ..plan }, None);
        assert_eq!((report.failure, report.delivered), (None, true), "seed {seed}");
    }
}

#[test]
fn under_faults_no_law_breaks_nobody_waits_for_ever_and_what_comes_is_what_was_sent() {
    let summary = each_pair(0..150, FaultLevel::Heavy);
    assert_eq!(summary.runs, 1200);
    assert!((120..1130).contains(&summary.delivered), "the faults let {} do everything", summary.delivered);
    for law in [Law::Delivery, Law::Liveness, Law::Leaks, Law::Messages] {
        assert!(summary.law(law) > 1000, "{}: {}", law.name(), summary.law(law));
    }
}

#[test]
fn a_seed_decides_the_pair_and_a_loop_that_was_asked_for_is_in_it() {
    let all = run_seeds(0..200, &level(FaultLevel::Light), None, &|_| ());
    assert!(all.failures.is_empty(), "{:?}", all.failures);
    assert_eq!(all.pairs.keys().copied().collect::<Vec<_>>(), Pair::ALL);
    for driver in Loop::ALL {
        let some = run_seeds(0..64, &level(FaultLevel::None), Some(*driver), &|_| ());
        assert!(some.failures.is_empty(), "{:?}", some.failures);
        assert!(some.pairs.keys().all(|pair| pair.loops().contains(driver)), "{:?}", some.pairs);
        assert_eq!((some.pairs.values().sum::<u64>(), some.delivered), (64, 64));
    }
}

fn stage(seed: u64) -> Stage {
    Stage::new(&LoopPlan::of(seed, &level(FaultLevel::None), None).plan, None, Rng::new(seed))
}

#[test]
fn on_a_stage_who_sleeps_wakes_in_the_order_of_time_and_who_is_awake_goes_on_in_an_order_that_is_drawn() {
    let mut orders = std::collections::BTreeSet::new();
    for seed in 0..20 {
        let stage = stage(seed);
        let woken = Rc::new(RefCell::new(Vec::new()));
        for (name, micros) in [(0, 30), (1, 10), (2, 20), (3, 20), (4, 20)] {
            let (of_task, woken) = (stage.clone(), Rc::clone(&woken));
            stage.spawn(async move {
                of_task.sleep(Duration::from_micros(micros)).await;
                woken.borrow_mut().push((of_task.now().as_nanos() / 1000, name));
            });
        }
        while stage.tasks() > 0 && stage.turn() {}
        let woken = woken.take();
        assert_eq!(woken.iter().map(|(at, _)| *at).collect::<Vec<_>>(), [10, 20, 20, 20, 30]);
        orders.insert(woken);
    }
    assert!(orders.len() > 3, "{orders:?}");
}

#[test]
fn memory_of_a_stage_is_freed_with_its_last_name_and_what_is_left_is_a_leak() {
    let stage = stage(0);
    let block = stage.alloc(Side::Acceptor, 10);
    let other = block.clone();
    stage.fill(&block, 4, b"four").unwrap();
    assert!(stage.fill(&block, 8, b"four").is_err() && stage.read(&other, 0, &mut [0; 11]).is_err());
    let mut out = [0; 6];
    stage.read(&other, 3, &mut out).unwrap();
    assert_eq!(&out, b"\0four\0");
    drop(block);
    assert_eq!(stage.buffers(Side::Acceptor), 1);
    drop(other);
    assert_eq!((stage.buffers(Side::Acceptor), stage.verdict()), (0, None));
    let _kept = stage.alloc(Side::Acceptor, 1);
    assert!(stage.verdict().is_some_and(|failure| failure.law == Law::Leaks));
}

#[test]
fn the_same_seed_gives_the_same_trace_byte_for_byte() {
    for seed in 0..20 {
        let plan = LoopPlan::of(seed, &level(FaultLevel::Heavy), None);
        let [first, second] = [(); 2].map(|()| run(&plan, Some(Trace::kept())));
        assert_eq!(first.trace, second.trace, "seed {seed}");
        assert!(first.trace.is_some_and(|text| text.lines().count() > 3), "seed {seed}");
    }
}

/// Takes no messages for a while whenever one of its own was sent.
struct Moody {
    stage: Stage,
    sends_left: u32,
    sent: u32,
    resumes_at: Option<Instant>,
    is_open: bool,
    has_news: bool,
}

const MESSAGES: u32 = 30;

impl BufferLookup<Range> for Moody {}

impl<C: Messages> Handler<LoopEnd, C> for Moody {
    fn event(&mut self, machine: &mut C, _: &mut LoopEnd, event: EndpointEvent) {
        let now = self.stage.now();
        self.has_news = true;
        match event {
            EndpointEvent::Established(_) => self.is_open = true,
            EndpointEvent::Sent { .. } => {
                self.sent += 1;
                self.resumes_at = Some(now.saturating_add(Duration::from_micros(100)));
                machine.pause();
            }
            EndpointEvent::Message(Message::Borrowed(fragment)) => {
                machine.release(now, fragment).expect("its own");
            }
            EndpointEvent::Closed(_) => self.is_open = false,
            _ => {}
        }
    }
}

impl Moody {
    async fn run(mut self, side: Side) {
        let (mut machine, mut end) = (self.stage.machine(side), self.stage.end::<Range>(side));
        poll_fn(|cx| {
            loop {
                self.act(&mut machine, side);
                let deadline = drive(&mut machine, &mut end, &mut self).expect("no broken contract");
                if machine.endpoint().is_drained() {
                    return Poll::Ready(());
                }
                if std::mem::take(&mut self.has_news) {
                    continue;
                }
                match end.poll_ready(cx, deadline.into_iter().chain(self.resumes_at).min()) {
                    Poll::Ready(Ok(())) => {}
                    ended => return ended.map(drop),
                }
            }
        })
        .await;
    }

    fn act(&mut self, machine: &mut impl Messages, side: Side) {
        let now = self.stage.now();
        if self.resumes_at.take_if(|at| *at <= now).is_some() {
            machine.resume();
        }
        let negotiated = machine.endpoint().connection().negotiated();
        let Some(negotiated) = negotiated.filter(|_| self.is_open) else { return };
        let long = vec![7; negotiated.max_fragmented_send_size.min(3000) as usize];
        while self.sends_left > 0 && machine.send(now, long.clone().into(), None).is_ok() {
            self.sends_left -= 1;
        }
        if self.sent == MESSAGES && side == Side::Initiator {
            self.is_open = false;
            machine.close(now, Close::Abort);
        }
    }
}

/// The oracles see the events of an endpoint, not the fragments that it takes in between two of them.
#[test]
fn what_an_endpoint_took_in_before_it_was_paused_may_be_posted_again_while_it_is() {
    for seed in 0..100 {
        let stage = stage(seed);
        for side in Side::BOTH {
            let moody = Moody {
                stage: stage.clone(),
                sends_left: MESSAGES,
                sent: 0,
                resumes_at: None,
                is_open: false,
                has_news: false,
            };
            stage.spawn(moody.run(side));
        }
        while stage.tasks() > 0 && stage.turn() {}
        assert_eq!((stage.failure(), stage.tasks()), (None, 0), "seed {seed}");
    }
}
