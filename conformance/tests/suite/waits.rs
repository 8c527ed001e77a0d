//! How long is waited for a subject, and what is said of one that was not waited for.

use std::time::Duration;

use smbd_conformance::catalogue::{Catalogue, Need, UnderTest};
use smbd_conformance::suite::rig::Target;
use smbd_conformance::suite::rig::sim::{Mortal, Sim};
use smbd_conformance::suite::{
    Data, Entry, LITTLE_PATIENCE, Liveness, Options, Outcome, PATIENCE, Play, Played, Stop, Upper,
    comes_back, is_alive, longest_wait, play,
};

use crate::tampered::{Absent, Keeps, Says, Tampered, Wrong, put};

const CASE: &str = "BVT_SmbdNegotiate_Basic";

/// A script that sends more than the credits of the negotiation allow.
const GREEDY: fn(&mut Play) -> Result<(), Stop> = |play| {
    let mut peer = play.established()?;
    for _ in 0..=peer.credits() {
        peer.send(&Data::of(b"x"))?;
    }
    Ok(())
};

/// A subject whose later messages grant nothing.
const GRANTS_NOTHING: Wrong = || {
    Box::new(Says(|index, bytes| {
        if index > 0 {
            put(bytes, 2, [0, 0]);
        }
    }))
};

fn played(target: &mut dyn Target, options: Options) -> Played {
    played_by(GREEDY, target, options)
}

fn played_by(script: fn(&mut Play) -> Result<(), Stop>, target: &mut dyn Target, options: Options) -> Played {
    let catalogue = Catalogue::load().unwrap();
    let entry = Entry { name: CASE, play: script, settings: None };
    play(target, 0, (catalogue.case(CASE).unwrap(), &entry), UnderTest::Acceptor, &options)
}

fn seconds(played: &Played) -> u64 {
    Duration::from_nanos(played.time).as_secs()
}

#[test]
fn a_subject_that_grants_nothing_costs_120_s_once_and_then_is_not_judged_by_it() {
    let first = played(&mut Tampered(GRANTS_NOTHING), Options::default());
    let Outcome::NotJudged(why) = &first.outcome else { panic!("{:?}", first.outcome) };
    assert!(why.because.starts_with("the script waited for a credit, none came after 120 s; "), "{why}");
    assert_eq!(why.case.as_deref(), Some("credits::each_credit_granted_has_its_receive"));
    assert!(first.signs.without_credit);
    assert!(seconds(&first) >= PATIENCE.as_secs());

    let known = Options { no_credits: Some("a::case".into()), ..Options::default() };
    let second = played(&mut Tampered(GRANTS_NOTHING), known);
    let why = second.outcome.reason().unwrap();
    assert!(matches!(second.outcome, Outcome::NotJudged(_)));
    assert!(
        why.contains("none came after 2 s") && why.contains("a::case has waited for one in vain for 120 s"),
        "{why}"
    );
    assert!(second.findings.is_empty() && !second.signs.without_credit);
    assert!((LITTLE_PATIENCE.as_secs()..10).contains(&seconds(&second)), "{}", seconds(&second));
}

#[test]
fn a_subject_that_grants_in_time_is_no_other_for_what_was_found_before() {
    let known = Options { no_credits: Some("a::case".into()), ..Options::default() };
    let played = played(&mut Sim, known);
    assert_eq!((played.outcome, played.signs.without_credit), (Outcome::Passed, false));
}

#[test]
fn a_wait_that_the_limit_cuts_short_says_what_was_waited_for_and_judges_nothing() {
    let limit = Some(Duration::from_secs(30));
    let played = played(&mut Tampered(GRANTS_NOTHING), Options { limit, ..Options::default() });
    let Outcome::NotJudged(why) = &played.outcome else { panic!("{:?}", played.outcome) };
    let why = why.to_string();
    assert!(why.starts_with("not over after 30 s, its limit; it had waited for a credit for "), "{why}");
    assert!(why.ends_with(" of 120 s"), "{why}");
    assert!(played.findings.is_empty() && !played.signs.without_credit);
    assert!(played.trace.to_string().contains("not over after 30 s"));
}

#[test]
fn what_a_step_has_found_before_the_limit_stays_found() {
    let slow: fn(&mut Play) -> Result<(), Stop> = |play| {
        play.check("1.5-01", false, || "found before".into());
        play.pass(Duration::from_secs(31));
        play.check("1.5-01", false, || "found behind".into());
        Ok(())
    };
    let options = Options { limit: Some(Duration::from_secs(30)), ..Options::default() };
    let played = played_by(slow, &mut Sim, options);
    assert_eq!(played.outcome, Outcome::Failed);
    let texts: Vec<_> = played.findings.iter().map(|finding| finding.text.as_str()).collect();
    assert_eq!(texts, ["found before"]);
    assert!(played.trace.to_string().contains("-- not over after 30 s"));
}

#[test]
fn the_longest_wait_is_the_time_of_the_case_and_one_wait_more() {
    let catalogue = Catalogue::load().unwrap();
    let seconds = |name: &str| longest_wait(catalogue.case(name).unwrap()).as_secs();
    assert_eq!(seconds(CASE), 132);
    assert_eq!(seconds("SmbdDataTransfer_IdleConnection_Server"), 250 + 132);
    let echo = catalogue.cases.iter().find(|case| case.needs == [Need::Answers] && case.time.is_zero());
    assert_eq!(longest_wait(echo.unwrap()).as_secs(), 137);
}

#[test]
fn a_server_lives_until_it_has_died_and_again_when_it_is_back() {
    let mut target = Mortal::of(|bytes| bytes.len() == 24 + 4, Some(3));
    let alive = |target: &mut Mortal| is_alive(target, 0, UnderTest::Acceptor, &Upper::Silent(String::new()));
    assert_eq!(alive(&mut target), Liveness::Alive);
    assert_eq!(alive(&mut target), Liveness::Alive);

    let dies = |play: &mut Play| play.established()?.send(&Data::of(b"dead"));
    let last = played_by(dies, &mut target, Options::default());
    assert_eq!(last.outcome, Outcome::Passed, "it was sent, and nothing was asked");
    let Liveness::NoConnection { why, advice } = alive(&mut target) else { panic!("it is dead") };
    assert_eq!(why, "refused");
    assert!(advice.contains("right port?"), "{advice}");
    // Refused twice more, a second apart.
    let back = comes_back(
        &mut target,
        0,
        UnderTest::Acceptor,
        &Upper::Silent(String::new()),
        Duration::from_secs(10),
    )
    .unwrap();
    assert_eq!(back.as_secs(), 3);
    assert_eq!(alive(&mut target), Liveness::Alive);
}

#[test]
fn a_server_that_is_not_back_in_time_is_given_up() {
    let mut target = Mortal::of(|_| true, None);
    assert!(matches!(
        is_alive(&mut target, 0, UnderTest::Acceptor, &Upper::Silent(String::new())),
        Liveness::NoNegotiation { .. }
    ));
    assert_eq!(
        comes_back(
            &mut target,
            0,
            UnderTest::Acceptor,
            &Upper::Silent(String::new()),
            Duration::from_secs(5)
        ),
        None
    );
}

#[test]
fn an_initiator_lives_if_it_connects_and_negotiates() {
    assert_eq!(is_alive(&mut Sim, 0, UnderTest::Initiator, &Upper::Silent(String::new())), Liveness::Alive);
    let why = "the subject did not connect within 30 s".into();
    assert_eq!(
        is_alive(
            &mut Tampered::<Wrong>(|| Box::new(Absent)),
            0,
            UnderTest::Initiator,
            &Upper::Silent(String::new())
        ),
        Liveness::NoRequest { why }
    );
    let mute: Wrong = || Box::new(Keeps(|_, _| true));
    let why = "no message came within 12 s".into();
    assert_eq!(
        is_alive(&mut Tampered(mute), 0, UnderTest::Initiator, &Upper::Silent(String::new())),
        Liveness::NoNegotiation { why }
    );
}
