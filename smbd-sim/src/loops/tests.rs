use super::{LoopPlan, run, run_seeds};
use crate::oracle::Law;
use crate::swarm::{FaultLevel, Loop, Options, Pair, Summary};
use crate::trace::Trace;

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

#[test]
fn the_same_seed_gives_the_same_trace_byte_for_byte() {
    for seed in 0..20 {
        let plan = LoopPlan::of(seed, &level(FaultLevel::Heavy), None);
        let [first, second] = [(); 2].map(|()| run(&plan, Some(Trace::kept())));
        assert_eq!(first.trace, second.trace, "seed {seed}");
        assert!(first.trace.is_some_and(|text| text.lines().count() > 3), "seed {seed}");
    }
}
