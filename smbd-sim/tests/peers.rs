//! Runs against models of foreign peers: all end as the documentation has it, and the same seed does so again.

use smbd_sim::peers::{Kind, Plan, Verdict, run, run_seeds};
use smbd_sim::trace::Trace;

const SEEDS: u64 = 300;

fn row(kind: Kind) -> smbd_sim::peers::Row {
    let row = run_seeds(kind, 0..SEEDS, None, &|_| ());
    let first: Vec<_> = row.failures.iter().take(3).collect();
    assert!(row.failures.is_empty(), "{}: {} failed: {first:#?}", kind.name(), row.failures.len());
    assert_eq!(row.runs, SEEDS);
    row
}

#[test]
fn with_every_peer_that_can_go_on_all_is_delivered_and_quiet_but_for_the_exceptions() {
    for kind in Kind::ALL.iter().filter(|kind| !kind.may_stall()) {
        let row = row(*kind);
        let excepted: u64 = row.excepted.values().map(|excepted| excepted.runs).sum();
        assert_eq!(row.stalled, 0, "{}", kind.name());
        assert!(row.delivered + excepted >= SEEDS, "{}", kind.name());
        assert!(excepted * 4 < SEEDS, "{}: {excepted} exceptions are no exceptions", kind.name());
    }
}

#[test]
fn literal_peers_stall_often_and_those_of_linux_7_3_now_and_then() {
    for kind in Kind::ALL.iter().filter(|kind| kind.may_stall()) {
        let row = row(*kind);
        let one_in = if matches!(kind, Kind::Linux7Client | Kind::Linux7Server) { 20 } else { 4 };
        assert!(row.stalled * one_in > SEEDS, "{}: {} of {SEEDS} stalled", kind.name(), row.stalled);
        assert!(row.delivered * 10 > SEEDS, "{}: {} of {SEEDS} delivered", kind.name(), row.delivered);
    }
}

#[test]
fn a_seed_is_the_same_run_for_ever_and_another_seed_another() {
    let trace = |seed: u64| {
        let report = run(&Plan::of(Kind::Text2021Acceptor, seed), Some(Trace::kept()));
        assert_eq!(report.verdict, Verdict::Delivered);
        report.trace.expect("it was asked for")
    };
    assert_eq!(trace(1), trace(1));
    assert_ne!(trace(1), trace(2));
}

#[test]
fn the_number_of_threads_cannot_be_seen() {
    let on = |threads: usize| run_seeds(Kind::Text2018Acceptor, 0..100, threads.try_into().ok(), &|_| ());
    assert_eq!(on(1), on(3));
}

#[test]
fn a_trace_shows_both_sides_message_by_message() {
    let report = run(&Plan::of(Kind::Text2018AcceptorRepaired, 1), Some(Trace::kept()));
    let trace = report.trace.expect("it was asked for");
    for said in ["init  ", "acc   ", "Negotiate Request", "Negotiate Response", "granted="] {
        assert!(trace.contains(said), "{said:?} is not in it:\n{trace}");
    }
    let sent = |side: &str| trace.lines().any(|line| line.contains(side) && line.contains("PostSend"));
    assert!(sent(" init ") && sent(" acc "), "{trace}");
}

#[test]
fn a_run_is_about_something() {
    for kind in Kind::ALL.iter().copied() {
        let plans: Vec<Plan> = (0..SEEDS).map(|seed| Plan::of(kind, seed)).collect();
        for side in [0, 1] {
            let messages: usize = plans.iter().map(|plan| plan.script[side].len()).sum();
            assert!(messages as u64 > SEEDS * 10, "{}: {messages} messages from side {side}", kind.name());
            let most = plans.iter().map(|plan| plan.script[side].len()).max();
            assert_eq!(most, Some(40), "{}", kind.name());
        }
        let drawn = |credits: fn(&Plan) -> u16| {
            let all = plans.iter().map(credits);
            (all.clone().min(), all.max())
        };
        assert_eq!(drawn(|plan| plan.config.receive_credit_max), (Some(4), Some(255)));
        assert_eq!(drawn(|plan| plan.config.send_credit_target), (Some(2), Some(255)));
        let (least, most) = drawn(|plan| plan.model.receive_credit_max);
        // Half of what ksmbd has must be a MaxFragmentedSize (NE-5).
        assert_eq!(
            least,
            Some(if matches!(kind, Kind::LinuxServer | Kind::Linux7Server) { 64 } else { 1 }),
            "{}",
            kind.name()
        );
        assert_eq!(most, Some(255), "{}", kind.name());
    }
}

#[test]
fn runs_go_through_a_keepalive_and_what_stands_still_ends_with_a_credit_stall() {
    let trace = |kind, seed| run(&Plan::of(kind, seed), Some(Trace::kept()));
    for kind in [Kind::WindowsInitiator, Kind::LinuxServer, Kind::Text2018AcceptorRepaired] {
        let asked = (0..20).map(|seed| trace(kind, seed));
        let asked =
            asked.filter(|report| report.trace.as_ref().is_some_and(|t| t.contains("response_requested")));
        assert!(asked.count() > 5, "{}", kind.name());
    }
    for kind in Kind::ALL.iter().copied().filter(|kind| kind.may_stall()) {
        let stalled =
            (0..20).map(|seed| trace(kind, seed)).filter(|report| report.verdict == Verdict::Stalled);
        for report in stalled {
            let text = report.trace.unwrap_or_default();
            assert!(text.contains("Closed: no send credit"), "{} seed {}:\n{text}", kind.name(), report.seed);
        }
    }
}
