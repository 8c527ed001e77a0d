//! Whole runs against a peer that dies of a message.

use std::sync::Arc;

use clap::Parser;
use smbd_conformance::catalogue::{Catalogue, UnderTest};
use smbd_conformance::suite::report::{CaseResult, Fact, Gone, Report, html, junit, text::Text};
use smbd_conformance::suite::rig::sim::{Mortal, Poison};
use smbd_conformance::suite::{Options, Outcome, Played, cases, play};

use super::Arguments;
use super::peers::{Ended, Peers};
use super::run::Run;

/// A Negotiate Request with a MaxReceiveSize of 127, which this case sends.
const POISON: Poison = |bytes| bytes.starts_with(&[0, 1]) && bytes.get(12..16) == Some(&[127, 0, 0, 0]);
const LETHAL: &str = "SmbdNegotiate_NegativeParameter_MaxReceiveSize";

const FAR: &str = "survival::a_payload_far_outside_its_message";

/// What comes of the cases of a group against a server that is back after it has refused so many connections.
fn run(restarts_after: Option<u32>, more: &[&str]) -> Report {
    run_group("SmbdNegotiate", POISON, restarts_after, more)
}

/// The same of any group and any poison.
fn run_group(group: &str, poison: Poison, restarts_after: Option<u32>, more: &[&str]) -> Report {
    let fixed = ["smbd-conformance", "run", "--group", group, "--no-timers", "--output", "/dev/null"];
    let arguments = Arguments::try_parse_from(fixed.iter().chain(more)).unwrap();
    let Some(super::Command::Run(arguments)) = arguments.command else { panic!("it is `run`") };
    let catalogue = Catalogue::load().unwrap();
    let make = Arc::new(move || Ok(Box::new(Mortal::of(poison, restarts_after)) as _));
    let (mut run, chosen, lost) = Run::against(&arguments, &catalogue, make).unwrap();
    assert_eq!(run.reach(&chosen), Ok(None));
    let (report, signal) = run.all(&chosen, lost).unwrap();
    assert_eq!(signal, None);
    report
}

fn gone(report: &Report) -> &Gone {
    let [Fact::Gone(gone)] = &report.peer[..] else { panic!("{:?}", report.peer) };
    gone
}

#[test]
fn a_run_ends_when_the_peer_is_gone_and_tells_which_case_it_was_and_what_was_sent() {
    let report = run(None, &[]);
    assert!(!report.passed());
    let last = report.cases.last().unwrap();
    assert_eq!((last.name.as_str(), last.result), (LETHAL, CaseResult::Failed));
    let finding = last.plays[0].findings.last().unwrap();
    assert_eq!(
        finding.text,
        "the peer no longer accepts connections after this case: no new connection: refused"
    );
    assert!(POISON(&finding.sent.as_ref().unwrap().bytes));
    assert!(!report.not_reached.is_empty());
    let gone = gone(&report);
    assert_eq!((gone.after.case.as_str(), gone.back), (LETHAL, None));
    assert!(POISON(&gone.sent.last().unwrap().bytes));
    assert!(gone.seen.iter().any(|event| event.to_string().ends_with("transport connection is down")));

    let text = Text { report: &report }.to_string();
    let told = text.split_once("\nPEER GONE: it no longer accepts connections after ").unwrap().1;
    assert!(told.starts_with(&format!(
        "{LETHAL} (acceptor, as it is): no new connection: refused; it did not come back\n"
    )));
    assert!(told.contains("\n  sent: Negotiate Request, 20 bytes:"), "{told}");
    let mut xml = Vec::new();
    junit::write(&report, &mut xml).unwrap();
    let xml = String::from_utf8(xml).unwrap();
    assert!(xml.contains(&format!("the peer lives after {LETHAL} (acceptor, as it is)")), "{xml}");
    let mut page = Vec::new();
    html::write(&report, &mut page).unwrap();
    assert!(String::from_utf8(page).unwrap().contains("The peer was gone"));
}

#[test]
fn a_run_goes_on_with_a_peer_that_is_back_in_time_and_still_fails() {
    let report = run(Some(4), &[]);
    assert!(!report.passed());
    assert!(report.not_reached.is_empty());
    assert!(gone(&report).back.is_some());
    let failed = report.cases.iter().filter(|case| case.result == CaseResult::Failed);
    assert_eq!(failed.map(|case| case.name.as_str()).collect::<Vec<_>>(), [LETHAL]);
    let mut behind = report.cases.iter().skip_while(|case| case.name != LETHAL).skip(1);
    assert!(behind.any(|case| case.result == CaseResult::Passed));
}

#[test]
fn a_death_in_the_middle_of_a_case_is_told_with_the_step_and_its_bytes() {
    let far: Poison = |bytes| bytes.get(12..16) == Some(&[0xF0, 0xFF, 0xFF, 0xFF]);
    let report = run_group("survival", far, None, &[]);
    let case = &report.cases[0];
    assert_eq!((case.name.as_str(), case.result), (FAR, CaseResult::Failed));
    let [in_it, behind] = &case.plays[0].findings[..] else { panic!("{:?}", case.plays[0].findings) };
    let step = "DataOffset 0xFFFFFFF0 and DataLength 0x3C as the first message";
    assert!(in_it.text.contains(&format!("no new connections any more after {step}: ")), "{}", in_it.text);
    assert!(behind.text.starts_with("the peer no longer accepts connections after this case"));
    assert!(far(&in_it.sent.as_ref().unwrap().bytes));
    let gone = gone(&report);
    assert_eq!(gone.after.case, FAR);
    assert!(far(&gone.sent.last().unwrap().bytes));
}

#[test]
fn a_peer_is_waited_for_as_long_as_was_asked_for() {
    let impatient = run(Some(7), &["--restart-wait", "2"]);
    assert_eq!(gone(&impatient).back, None);
    assert!(!impatient.not_reached.is_empty());
    assert!(gone(&run(Some(7), &["--restart-wait", "6"])).back.is_some());
}

#[test]
fn a_run_that_reaches_no_peer_says_so_before_the_first_case() {
    let arguments =
        Arguments::try_parse_from(["smbd-conformance", "run", "BVT_SmbdNegotiate_Basic"]).unwrap();
    let Some(super::Command::Run(arguments)) = arguments.command else { panic!("it is `run`") };
    let catalogue = Catalogue::load().unwrap();
    let make = Arc::new(|| Ok(Box::new(Mortal::of(|_| true, None)) as _));
    let (mut run, chosen, _) = Run::against(&arguments, &catalogue, make).unwrap();
    // It takes a connection and does not negotiate: that is for the cases to tell.
    assert_eq!(run.reach(&chosen), Ok(None));
    let (what, advice) = run.reach(&chosen).unwrap().unwrap();
    assert_eq!(what, "a server that dies: no connection: refused");
    assert!(advice.unwrap().contains("5445"), "the words of smbd-ping");
}

#[test]
fn a_peer_without_credits_is_known_by_the_first_case_for_its_side_and_variant() {
    let catalogue = Catalogue::load().unwrap();
    let starved = |name: &str, variant: &str| {
        let case = catalogue.case(name).unwrap();
        let mut played = Played::lost(case, UnderTest::Acceptor, variant, "no credit".into());
        played.signs.without_credit = true;
        played
    };
    let mut peers = Peers::default();
    assert_eq!(peers.no_credits(UnderTest::Acceptor, "one"), None);
    peers.learn(UnderTest::Acceptor, &starved(LETHAL, "one"));
    peers.learn(UnderTest::Acceptor, &starved("BVT_SmbdNegotiate_Basic", "one"));
    assert_eq!(peers.no_credits(UnderTest::Acceptor, "one").as_deref(), Some(LETHAL));
    assert_eq!(peers.no_credits(UnderTest::Acceptor, "two"), None);
    assert_eq!(peers.no_credits(UnderTest::Initiator, "one"), None);
    let [fact] = &peers.facts()[..] else { panic!("it is told once") };
    let told = format!("the peer: it gave no credit for 120 s: {LETHAL} (acceptor, one)");
    assert!(fact.to_string().starts_with(&told), "{fact}");
}

#[test]
fn a_peer_that_was_gone_before_a_case_was_ended_by_the_last_that_said_something() {
    let catalogue = Catalogue::load().unwrap();
    let mut target = Mortal::of(POISON, None);
    let mut played = |name: &str| {
        let (case, entry) = (catalogue.case(name).unwrap(), cases::find(name).unwrap());
        play(&mut target, 0, (case, entry), UnderTest::Acceptor, &Options::default())
    };
    let (lethal, mut behind) = (played(LETHAL), played("BVT_SmbdNegotiate_Basic"));
    let mut peers = Peers::default();
    peers.lives_after(&lethal);
    let Ended::Before(which) = peers.is_gone_after(&behind, "refused".into()) else {
        panic!("nothing was said in the second")
    };
    assert_eq!(which.case, LETHAL);
    behind.met_no_peer("refused");
    assert!(matches!(behind.outcome, Outcome::NotJudged(_)));
    assert_eq!(behind.outcome.reason().as_deref(), Some("the peer was gone before: refused"));
    assert!(behind.findings.is_empty());
}
