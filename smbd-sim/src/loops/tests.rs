use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use super::{LoopPlan, Stage, run, run_seeds};
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
