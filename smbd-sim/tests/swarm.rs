//! Swarm runs: nothing passes because nothing happened, and a seed is the same for ever.

use std::fmt::Write as _;

use smbd_sim::nic::Personality;
use smbd_sim::oracle::{Law, Rule};
use smbd_sim::swarm::{FaultKind, FaultLevel, LEAST, Options, Plan, Summary, run, run_seeds};
use smbd_sim::trace::Trace;

const SEEDS: u64 = 10_000;
const HEAVY: Options =
    Options { profile: smbd_sim::swarm::Profile::Random, personality: None, faults: FaultLevel::Heavy };

/// What must have been seen of everything.
const OFTEN: u64 = 100;

fn rare<'a>(seen: impl IntoIterator<Item = (&'a str, u64)>) -> Vec<(&'a str, u64)> {
    seen.into_iter().filter(|(_, count)| *count < OFTEN).collect()
}

fn names<'a>(
    table: &std::collections::BTreeMap<&'static str, u64>,
    names: &[&'a str],
) -> Vec<(&'a str, u64)> {
    names.iter().map(|name| (*name, table.get(name).copied().unwrap_or(0))).collect()
}

fn no_failure(summary: &Summary) {
    let first: Vec<String> = summary.failures.iter().take(3).map(|(s, f)| format!("seed {s}: {f}")).collect();
    assert!(summary.failures.is_empty(), "{} runs failed: {first:#?}", summary.failures.len());
}

#[test]
fn ten_thousand_heavy_runs_pass_and_none_of_them_is_empty() {
    let summary = run_seeds(0..SEEDS, &HEAVY, &|_| ());
    no_failure(&summary);
    assert!(summary.delivered * 100 >= summary.runs * 60, "{} delivered every byte", summary.delivered);
    assert_eq!(summary.thin, 0, "runs that carried less than {LEAST:?}");

    let census = &summary.census;
    let actions = [
        "Connect",
        "Accept",
        "Disconnect",
        "PostRecv",
        "PostSend",
        "PostRdma read",
        "PostRdma write",
        "Register",
        "Deregister",
        "Wait",
    ];
    let events = [
        "Established",
        "ConnectFailed",
        "Data",
        "Invalidated",
        "Sent",
        "Sent, aborted",
        "RdmaDone",
        "RdmaDone, failed",
        "Registered",
        "Registered, failed",
        "Deregistered",
        "Deregistered, failed",
        "Probed",
        "Probed, unanswered",
        "Writable",
        "Closed",
        "Drained",
    ];
    let closes = ["Local", "PeerClosed", "Lost", "Violation", "KeepaliveTimeout", "CreditStall", "Transport"];
    let errors = [
        "Local",
        "Connect, refused",
        "Connect, unreachable",
        "Connect, timed out",
        "PeerClosed",
        "Lost",
        "Timeout",
        "Transport",
        "Violation",
    ];
    assert_eq!(rare(names(&census.actions, &actions)), [], "actions");
    assert_eq!(rare(names(&census.events, &events)), [], "events");
    assert_eq!(rare(names(&census.closes, &closes)), [], "close reasons");
    assert_eq!(rare(names(&census.connect_errors, &errors)), [], "connect errors");
    assert_eq!(rare(FaultKind::ALL.iter().map(|k| (k.name(), summary.fault(*k)))), [], "faults");
    assert_eq!(rare(Law::ALL.iter().map(|law| (law.name(), summary.law(*law)))), [], "oracles");
    let provoked = |rule: &&Rule| census.violations.get(rule.name()).is_none_or(|count| *count == 0);
    assert_eq!(Rule::ALL.iter().filter(provoked).collect::<Vec<_>>(), [] as [&Rule; 0], "violations");
}

#[test]
fn runs_pass_with_every_profile_on_every_network() {
    use smbd_sim::swarm::Profile::{Example, LinuxClient, LinuxServer, Random, Windows};
    for profile in [Random, Windows, LinuxClient, LinuxServer, Example] {
        for personality in [Personality::Roce, Personality::Iwarp] {
            for faults in [FaultLevel::None, FaultLevel::Light, FaultLevel::Heavy] {
                let options = Options { profile, personality: Some(personality), faults };
                no_failure(&run_seeds(0..12, &options, &|_| ()));
            }
        }
    }
}

#[test]
fn without_faults_every_run_delivers_everything_over_one_connection() {
    let summary = run_seeds(0..100, &Options::default(), &|_| ());
    no_failure(&summary);
    assert_eq!((summary.delivered, summary.connections, summary.thin), (100, 100, 0));
}

#[test]
fn without_faults_one_side_closes_and_the_other_is_told_so_unless_it_heard_of_a_flush_before() {
    let closes = |personality| {
        let options = Options { personality: Some(personality), ..Options::default() };
        let summary = run_seeds(0..100, &options, &|_| ());
        no_failure(&summary);
        let told = names(&summary.census.closes, &["Local", "PeerClosed", "Lost"]);
        told.into_iter().map(|(_, count)| count).collect::<Vec<_>>()
    };
    // Nothing is flushed there before the own disconnect.
    assert_eq!(closes(Personality::Roce), [100, 100, 0]);
    let iwarp = closes(Personality::Iwarp);
    assert!(iwarp[0] == 100 && iwarp[1] >= 40 && iwarp[1] + iwarp[2] == 100, "{iwarp:?}");
}

#[test]
fn the_same_seed_gives_the_same_trace_byte_for_byte() {
    for seed in 0..20 {
        let plan = Plan::of(seed, &HEAVY);
        let [first, second] = [(); 2].map(|()| run(&plan, Some(Trace::kept())));
        assert_eq!(first.trace, second.trace, "seed {seed}");
        assert!(first.trace.is_some_and(|text| text.lines().count() > 3), "seed {seed}");
    }
}

#[test]
fn what_a_swarm_finds_does_not_depend_on_who_ran_what() {
    let whole = run_seeds(0..96, &HEAVY, &|_| ());
    let mut parts = Summary::default();
    for start in [64, 0, 32] {
        parts.merge(run_seeds(start..start + 32, &HEAVY, &|_| ()));
    }
    assert_eq!(whole.to_string(), parts.to_string());
}

/// Any change of behaviour, of the core or of the simulator, shows here. If it is meant, look at the traces of a seed
/// that changed (`smbd-sim run --seed N --faults heavy --trace -`), then write the new digests with
/// `UPDATE_DIGESTS=1 cargo test -p smbd-sim --test swarm`.
#[test]
fn the_traces_of_a_hundred_seeds_are_those_that_were_committed() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/swarm_digests.txt");
    let mut digests = String::new();
    for seed in 0..100 {
        let report = run(&Plan::of(seed, &HEAVY), Some(Trace::digest_only()));
        assert_eq!(report.failure, None, "seed {seed}");
        writeln!(digests, "{seed:>3} {:016x}", report.digest.expect("there was a trace")).expect("a string");
    }
    if std::env::var_os("UPDATE_DIGESTS").is_some() {
        std::fs::write(path, &digests).expect("the digests can be written");
    }
    let committed = std::fs::read_to_string(path).unwrap_or_default();
    let changed: Vec<_> =
        digests.lines().zip(committed.lines()).filter(|(new, old)| new != old).map(|(new, _)| new).collect();
    assert!(
        digests == committed,
        "{} of 100 traces are not those of tests/swarm_digests.txt, the first: {:?}; see the comment of this test",
        changed.len(),
        changed.first()
    );
}
