use std::collections::BTreeMap;

use crate::large::Large;
use crate::plan::Plan;
use crate::run::{run, run_plan};
use crate::summary::many;

#[test]
fn every_law_holds_with_every_seed_and_everything_is_tried() {
    let summary = many(0..600, &|_| {});
    assert!(summary.failures.is_empty(), "{summary}");
    let tried = [
        "answers",
        "brokers killed",
        "bytes read by RDMA",
        "bytes written by RDMA",
        "connections attached",
        "connections given to owners",
        "connections moved",
        "messages changed by clients",
        "messages of clients",
        "messages to clients",
        "mistakes of owners told",
        "owners killed",
        "packets changed by owners",
        "sessions",
        "transfers",
    ];
    for name in tried {
        assert!(summary.counts.of(name) > 0, "{name}: {summary}");
    }
    assert!(2 * summary.done > summary.wanted, "{summary}");
}

#[test]
fn transfers_of_8_mib_with_31_and_with_4095_descriptors_are_made_and_succeed() {
    for (descriptors, form) in
        [(31, "transfers of 8 MiB with 31 descriptors"), (4095, "transfers of 8 MiB with 4095 descriptors")]
    {
        let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
        for seed in 0..16 {
            let slot_len = if seed % 2 == 0 { 1 << 20 } else { 1 << 17 };
            let large = Large { descriptors, slot_len };
            let report = run_plan(Plan::of(seed).with(large), false);
            assert_eq!(report.breach, None, "seed {seed}, {large:?}");
            report.counts.iter().for_each(|(name, count)| *counts.entry(name).or_default() += count);
        }
        let of = |name| counts.get(name).copied().unwrap_or(0);
        assert!(of(form) >= 6, "{form}: {counts:?}");
        assert!(of("transfers over 64 areas") >= 1, "{descriptors} descriptors: {counts:?}");
        let moved = of("bytes read by RDMA").min(of("bytes written by RDMA"));
        assert!(moved >= 8 << 20, "{descriptors} descriptors: {counts:?}");
    }
}

#[test]
fn the_same_seed_gives_the_same_steps_and_the_same_traces() {
    let mut lines = 0;
    for seed in 0..20 {
        let [first, second] = [(); 2].map(|()| run(seed, true));
        assert_eq!(first.text, second.text, "seed {seed}");
        assert!(first.text.contains("starts"), "seed {seed}: {}", first.text);
        lines += first.text.lines().count();
    }
    // In a few runs nobody is ever served.
    assert!(lines > 1000, "{lines}");
}
