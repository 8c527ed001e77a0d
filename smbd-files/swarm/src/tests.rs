use crate::common::Show;
use crate::run::run;
use crate::summary::many;

#[test]
fn every_law_holds_with_every_seed_and_everything_is_tried() {
    let summary = many(0..300, &|_| {});
    assert!(summary.failures.is_empty(), "{summary}");
    let tried = [
        "bytes read",
        "bytes written",
        "cancelled",
        "compounds",
        "data changed on their way by RDMA",
        "data encrypted or decrypted",
        "data signed or verified",
        "listings",
        "locks that waited",
        "messages changed",
        "messages changed and protected again",
        "messages encrypted",
        "messages signed",
        "operations that failed",
        "requests with a channel",
        "transfers by RDMA",
        "transfers signed or encrypted",
        "users who authenticated again",
    ];
    for name in tried {
        assert!(summary.counts.get(name).is_some_and(|count| *count > 0), "{name}: {summary}");
    }
    assert!(summary.done > 100, "{summary}");
}

#[test]
fn the_same_seed_gives_the_same_trace_and_the_same_steps() {
    for seed in 0..20 {
        let [first, second] = [(); 2].map(|()| run(seed, Show::All));
        assert_eq!(first.played.text, second.played.text, "seed {seed}");
        assert_eq!(first.played.digest, second.played.digest, "seed {seed}");
        assert!(first.played.text.lines().count() > 10, "seed {seed}");
    }
}
