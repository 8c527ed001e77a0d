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
fn peers_by_the_letter_stall_often_and_not_always() {
    for kind in Kind::ALL.iter().filter(|kind| kind.may_stall()) {
        let row = row(*kind);
        assert!(row.stalled * 4 > SEEDS, "{}: {} of {SEEDS} stalled", kind.name(), row.stalled);
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
