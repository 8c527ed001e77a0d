use crate::Direction;
use crate::summary::many;
use smbd_testkit::swarm::Show;

#[test]
fn every_law_holds_with_every_seed_and_everything_is_tried() {
    let summary = many(0..400, Direction::Forward, &|_| {});
    assert!(summary.failures.is_empty(), "{summary}");
    let counts = &summary.counts.0;
    assert!(counts.len() == 8 && counts.values().all(|count| *count > 0), "{summary}");
    for ending in ["Client", "Server", "Relay", "NoSession", "RdmaWithoutSession", "Stopped"] {
        assert!(summary.endings.of(ending) > 0, "{ending}: {summary}");
    }
    assert!(summary.done > 100, "{summary}");
}

#[test]
fn on_a_broker_every_law_holds_with_every_seed_and_everything_is_tried() {
    let summary = many(0..400, Direction::OnBroker, &|_| {});
    assert!(summary.failures.is_empty(), "{summary}");
    let counts = &summary.counts.0;
    assert!(counts.len() == 10 && counts.values().all(|count| *count > 0), "{summary}");
    for ending in ["Client", "Server", "Relay", "NoSession", "RdmaWithoutSession", "Stopped"] {
        assert!(summary.endings.of(ending) > 0, "{ending}: {summary}");
    }
    assert!(summary.done > 100, "{summary}");
}

#[test]
fn the_other_way_round_every_law_holds_with_every_seed_and_everything_is_tried() {
    let summary = many(0..400, Direction::Reverse, &|_| {});
    assert!(summary.failures.is_empty(), "{summary}");
    // Nothing is refused that way.
    let is_tried = |(name, count): (&String, &u64)| *count > 0 || name == "requests refused";
    let counts = &summary.counts.0;
    assert!(counts.len() == 8 && counts.iter().all(is_tried), "{summary}");
    for ending in ["Client", "Server", "Relay", "NoSession", "Stopped"] {
        assert!(summary.endings.of(ending) > 0, "{ending}: {summary}");
    }
    assert!(summary.done > 80, "{summary}");
}

#[test]
fn the_same_seed_gives_the_same_trace_and_the_same_steps() {
    for seed in 0..30 {
        let direction = match seed {
            0..10 => Direction::Forward,
            10..20 => Direction::OnBroker,
            _ => Direction::Reverse,
        };
        let [first, second] = [(); 2].map(|()| direction.run(seed, Show::All));
        assert_eq!(first.played.text, second.played.text, "seed {seed}");
        assert_eq!(first.played.digest, second.played.digest, "seed {seed}");
        assert!(first.played.text.lines().count() > 10, "seed {seed}");
    }
}
