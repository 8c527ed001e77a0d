use crate::run::{Show, run};
use crate::summary::over_seeds;

#[test]
fn every_law_holds_with_every_seed_and_everything_is_tried() {
    let summary = over_seeds(0..400);
    assert!(summary.failures.is_empty(), "{summary}");
    assert!(summary.counts.len() == 8 && summary.counts.values().all(|count| *count > 0), "{summary}");
    for ending in ["Client", "Server", "Relay", "NoSession", "RdmaWithoutSession", "Stopped"] {
        assert!(summary.endings.contains_key(ending), "{ending}: {summary}");
    }
    assert!(summary.done > 100, "{summary}");
}

#[test]
fn the_same_seed_gives_the_same_trace_and_the_same_steps() {
    for seed in 0..20 {
        let [first, second] = [(); 2].map(|()| run(seed, Show::All));
        assert_eq!(first.text, second.text, "seed {seed}");
        assert_eq!(first.digest, second.digest, "seed {seed}");
        assert!(first.text.lines().count() > 10, "seed {seed}");
    }
}
