use crate::run::{Show, run};

#[test]
fn the_same_seed_gives_the_same_trace_and_the_same_steps() {
    for seed in 0..20 {
        let [first, second] = [(); 2].map(|()| run(seed, Show::All));
        assert_eq!(first.text, second.text, "seed {seed}");
        assert_eq!(first.digest, second.digest, "seed {seed}");
        assert!(first.text.lines().count() > 10, "seed {seed}");
    }
}
