use crate::run::run;
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
        assert!(summary.counts.get(name).is_some_and(|count| *count > 0), "{name}: {summary}");
    }
    let [clients, done] = summary.clients;
    assert!(2 * done > clients, "{summary}");
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
