//! The search finds injected bugs with the fewest steps, and nothing without a bug.

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use super::local::Local;
use super::space::Space;
use super::*;
use crate::Side;

fn report(setup: &Setup) -> Report {
    search(setup, &Limits::default(), &mut |_| true)
}

fn finding(setup: &Setup) -> Finding {
    match report(setup).verdict {
        Verdict::Broken(finding) => finding,
        verdict => panic!("{}: {verdict:?}", setup.name),
    }
}

fn one_each() -> Setup {
    named("one-each").expect("in the catalogue")
}

fn raw(rules: Rules, requested: u16, messages: &[u32]) -> Peer {
    Peer::Raw(Raw { rules, requested, receives: 4, messages: messages.to_vec() })
}

fn between(initiator: Peer, acceptor: Peer) -> Setup {
    Setup { peers: [initiator, acceptor], ..one_each() }
}

/// A way and what it comes to, to read.
fn told(finding: &Finding) -> String {
    format!("{}: {}\n\n{}\n\n{}", finding.what, finding.detail, finding.steps.join("\n"), finding.trace)
}

#[test]
fn every_small_configuration_holds() {
    for setup in all().into_iter().filter(|setup| setup.size == Size::Small) {
        let report = report(&setup);
        if let Verdict::Broken(finding) = &report.verdict {
            panic!("{}: {}", setup.name, told(finding));
        }
        assert!(matches!(report.verdict, Verdict::Holds), "{}", setup.name);
        assert!(
            report.ends > 0 && report.progress.states > 50,
            "{}: hardly anything was searched",
            setup.name
        );
    }
}

#[test]
fn a_peer_that_asks_for_a_single_credit_stalls_under_the_literal_rules() {
    let found = finding(&between(raw(Rules::Literal, 1, &[8]), raw(Rules::Literal, 1, &[8])));
    assert_eq!(found.what, "deadlock");
    insta::assert_snapshot!("literal", told(&found));
}

#[test]
fn a_connection_that_meets_such_a_peer_stands_still_with_it_and_not_with_one_that_grants() {
    let client = one_each().peers[0].clone();
    let found = finding(&between(client.clone(), raw(Rules::Literal, 1, &[8])));
    assert_eq!(found.what, "deadlock");
    insta::assert_snapshot!("meets_literal", told(&found));

    let sound = report(&between(client, raw(Rules::Sound, 1, &[8])));
    assert!(matches!(sound.verdict, Verdict::Holds), "{:?}", sound.verdict);
}

#[test]
fn peers_that_answer_grants_with_grants_never_rest() {
    let found = finding(&between(raw(Rules::Prompt, 4, &[]), raw(Rules::Prompt, 4, &[])));
    assert_eq!(found.what, "livelock");
    insta::assert_snapshot!("prompt", told(&found));
}

#[test]
fn a_peer_that_grants_nothing_leaves_messages_unsent() {
    let Peer::Core(mut core) = one_each().peers[0].clone() else { panic!("a core") };
    core.script.splice(..1, [1, 2, 3].map(|_| Do::send(104)));
    let miser = between(Peer::Core(core.clone()), raw(Rules::Miser, 3, &[8]));
    assert_eq!(finding(&miser).what, "deadlock");

    // With a timer it is an end, but not one at which everything was done.
    core.params.send_credit_timeout = Some(Duration::from_secs(125));
    let found = finding(&Setup { peers: [Peer::Core(core), miser.peers[1].clone()], ..miser });
    assert_eq!(found.what, "undone");
    assert!(found.trace.contains("no send credit from the peer in time"), "{}", found.trace);
}

#[test]
fn whoever_does_not_do_what_the_connection_says_is_found_on_a_shortest_way() {
    let tampered = |tamper| finding(&Setup { tamper: Some(tamper), ..one_each() });
    for (tamper, what, steps) in [
        (Tamper::GrantsNothing, "window", 4),
        (Tamper::GrantsNothingOnTheWire, "credits", 4),
        (Tamper::SentTwice, "credits", 5),
        (Tamper::ResultsLost, "deadlock", 15),
    ] {
        let found = tampered(tamper);
        assert_eq!((found.what.as_str(), found.steps.len()), (what, steps), "{tamper:?}: {}", told(&found));
    }
}

#[test]
fn what_is_found_happens_again_when_it_is_played_again() {
    for tamper in
        [Tamper::GrantsNothing, Tamper::GrantsNothingOnTheWire, Tamper::SentTwice, Tamper::ResultsLost]
    {
        for name in ["eager", "loss", "targets", "silence", "window"] {
            let setup = Setup { tamper: Some(tamper), ..named(name).expect("in the catalogue") };
            let found = finding(&setup);
            assert!(!found.trace.contains("played again"), "{name} {tamper:?}: {}", found.trace);
            assert!(!found.trace.is_empty() && !found.steps.is_empty());
        }
    }
}

/// The claim that all rests on: what a fingerprint does not tell apart goes on the same way, whatever happens next.
#[test]
fn what_is_taken_for_one_state_goes_on_as_one() {
    let mut compared = 0;
    for setup in all().into_iter().filter(|setup| setup.size == Size::Small) {
        let mut search = explore::Search::new(&setup);
        assert!(matches!(search.run(&Limits::default(), &mut |_| true), Verdict::Holds), "{}", setup.name);
        let space = &mut search.space;
        let twins = std::mem::take(&mut space.twins);
        // Every so many of them, so that a test stays one.
        for (local, twin) in twins.iter().step_by(1 + twins.len() / 500) {
            let known = &space.whole(*local).clone();
            let side = known.side();
            for input in space.all_inputs(*local) {
                let [a, b] = [known, twin].map(|local| local.give(&setup, side, space.given(input), &mut ()));
                assert_eq!(a.failure.is_some(), b.failure.is_some(), "{}: {input:?}", setup.name);
                if a.failure.is_none() {
                    assert_eq!(a.out, b.out, "{}: {input:?}", setup.name);
                    assert_eq!(a.next.fingerprint(), b.next.fingerprint(), "{}: {input:?}", setup.name);
                }
                compared += 1;
            }
        }
    }
    assert!(compared > 20_000, "{compared}");
}

#[test]
fn a_state_of_a_side_that_was_not_kept_is_the_same_when_it_is_worked_out_again() {
    for name in ["one-each", "silence", "window", "frugal-client", "loss"] {
        let setup = named(name).expect("in the catalogue");
        let mut search = explore::Search::new(&setup);
        assert!(matches!(search.run(&Limits::default(), &mut |_| true), Verdict::Holds));
        let count = u32::try_from(search.space.locals()).expect("few");
        assert!(search.space.kept() < count as usize, "{name}: all are kept");
        for local in (0..count).chain((0..count).rev()) {
            let print = search.space.whole(local).fingerprint();
            assert_eq!(print, search.space.fingerprint(local), "{name}: {local}");
        }
    }
}

/// The other half of it: no state is made up of looked-up halves that do not go together.
#[test]
fn every_state_is_reached_by_connections_of_its_own() {
    for name in ["one-each", "silence", "window", "short-queue", "frugal-client"] {
        let setup = named(name).expect("in the catalogue");
        let mut space = Space::new(&setup);
        let start = space.start().expect("a start");
        let sides = Side::BOTH.map(|side| Local::begin(&setup, side, &mut ()).next);
        let mut seen = BTreeSet::from([start]);
        let mut queue = VecDeque::from([(start, sides)]);
        let mut steps = Vec::new();
        while let Some((key, sides)) = queue.pop_front() {
            assert!(space.steps(key, &mut steps).is_ok());
            for (step, after) in steps.iter().filter(|(_, after)| seen.insert(*after)) {
                let mut sides = sides.clone();
                for (side, input) in space.inputs(key, *step) {
                    let given = space.given(input);
                    sides[side.index()] = sides[side.index()].give(&setup, side, given, &mut ()).next;
                }
                for side in Side::BOTH {
                    let known = space.fingerprint(space.local_of(*after, side));
                    assert_eq!(sides[side.index()].fingerprint(), known, "{name}: {step}");
                }
                queue.push_back((*after, sides));
            }
        }
        assert_eq!(seen.len(), report(&setup).progress.states, "{name}");
    }
}

#[test]
fn a_search_that_is_stopped_says_so() {
    let stopped = search(&one_each(), &Limits { states: 100 }, &mut |_| true);
    assert!(matches!(stopped.verdict, Verdict::Unfinished));
    let told = search(&one_each(), &Limits::default(), &mut |_| false);
    assert!(matches!(told.verdict, Verdict::Unfinished));
}

#[test]
fn the_same_is_found_every_time() {
    let [first, second] = [0, 1].map(|_| report(&one_each()));
    assert_eq!(first.progress, second.progress);
    assert_eq!((first.locals, first.ends), (second.locals, second.ends));
}

#[test]
fn names_of_configurations_are_their_own() {
    let all = all();
    for (at, setup) in all.iter().enumerate() {
        assert!(all[..at].iter().all(|other| other.name != setup.name), "{} twice", setup.name);
        assert!(!setup.about.contains('|'));
    }
}
