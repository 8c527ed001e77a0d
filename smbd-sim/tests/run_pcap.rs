//! The capture of a swarm run: every message the run sent is in it, on a connection of its own after every reconnect.

mod common;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use common::{Scratch, tshark};
use smbd_sim::capture::{IwarpWriter, Link, RoceWriter};
use smbd_sim::decode;
use smbd_sim::nic::Personality;
use smbd_sim::probe::{At, Frame, Probe};
use smbd_sim::swarm::{self, FaultLevel, Options, Plan, Profile};
use smbd_sim::trace::Pcap;

const BOTH: [Personality; 2] = [Personality::Roce, Personality::Iwarp];

fn options(personality: Personality, faults: FaultLevel) -> Options {
    Options { profile: Profile::Random, personality: Some(personality), faults }
}

/// Messages and connections that left the devices.
#[derive(Debug, Default)]
struct Left {
    messages: u64,
    connections: usize,
}

impl Probe for Left {
    fn wants_frames(&self) -> bool {
        true
    }

    fn frame(&mut self, _: At, frame: &Frame<'_>) {
        self.messages += u64::from(matches!(frame, Frame::Send { .. }));
        self.connections += usize::from(matches!(frame, Frame::Connect { .. }));
    }
}

fn capture(plan: &Plan) -> (swarm::Report, Left, Vec<u8>) {
    match plan.personality {
        Personality::Roce => {
            let pcap = Pcap::new(RoceWriter::roce(Vec::new(), Link::roce()).unwrap());
            let (report, (left, pcap)) = swarm::run_showing(plan, None, (Left::default(), pcap));
            (report, left, pcap.finish().unwrap())
        }
        Personality::Iwarp => {
            let pcap = Pcap::new(IwarpWriter::iwarp(Vec::new(), Link::iwarp()).unwrap());
            let (report, (left, pcap)) = swarm::run_showing(plan, None, (Left::default(), pcap));
            (report, left, pcap.finish().unwrap())
        }
    }
}

const fn directions(report: &decode::Report) -> [decode::Totals; 2] {
    [report.summary.to_acceptor, report.summary.to_initiator]
}

#[test]
fn without_faults_the_capture_holds_every_message_the_census_counted() {
    for personality in BOTH {
        for seed in 0..8 {
            let plan = Plan::of(seed, &options(personality, FaultLevel::None));
            let (report, _, file) = capture(&plan);
            assert_eq!(report.failure, None, "{personality:?} {seed}");
            let decoded = decode::read(file.as_slice());
            assert!(decoded.problem.is_none(), "{personality:?} {seed}");
            // The two of the negotiation are posted like all others.
            let posted = report.census.actions["PostSend"];
            let data = directions(&decoded).map(|totals| totals.data_transfers).iter().sum::<u64>();
            assert_eq!(data + 2, posted, "{personality:?} {seed}");
            assert_eq!(decoded.connections.len(), 1, "{personality:?} {seed}");
        }
    }
}

#[test]
fn under_faults_the_capture_holds_every_message_that_left_a_device_and_every_connection() {
    let mut reconnected = [false; 2];
    for (personality, reconnected) in BOTH.into_iter().zip(&mut reconnected) {
        for seed in 0..40 {
            let plan = Plan::of(seed, &options(personality, FaultLevel::Heavy));
            if plan.hostile.is_some() {
                continue;
            }
            let (report, left, file) = capture(&plan);
            let decoded = decode::read(file.as_slice());
            assert!(decoded.problem.is_none(), "{personality:?} {seed}");
            let seen = decoded.summary.messages();
            assert_eq!(seen, left.messages, "{personality:?} {seed}");
            assert_eq!(decoded.connections.len(), left.connections, "{personality:?} {seed}");
            // What waits in a send queue when the connection breaks never leaves the device.
            let posted = report.census.actions.get("PostSend").copied().unwrap_or(0);
            assert!(seen <= posted, "{personality:?} {seed}: {seen} of {posted}");
            *reconnected |= left.connections > 1;
        }
    }
    assert_eq!(reconnected, [true; 2]);
}

#[test]
fn a_capture_does_not_change_the_run() {
    let plan = Plan::of(3, &options(Personality::Roce, FaultLevel::Heavy));
    let trace = || Some(smbd_sim::trace::Trace::digest_only());
    let pcap = Pcap::new(RoceWriter::roce(Vec::new(), Link::roce()).unwrap());
    let (shown, _) = swarm::run_showing(&plan, trace(), pcap);
    assert_eq!(shown.digest, swarm::run(&plan, trace()).digest);
}

#[test]
fn tshark_finds_nothing_malformed_in_the_capture() {
    for personality in BOTH {
        for faults in [FaultLevel::None, FaultLevel::Heavy] {
            for seed in 0..3 {
                let plan = Plan::of(seed, &options(personality, faults));
                if plan.hostile.is_some() {
                    continue;
                }
                let (_, _, file) = capture(&plan);
                let file = Scratch::new(&format!("run-{personality:?}-{faults:?}-{seed}.pcapng"), &file);
                assert_eq!(tshark(&file.0, ["-Y", "_ws.malformed"]), "", "{personality:?} {faults:?} {seed}");
            }
        }
    }
}

fn program(arguments: &[&str], path: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_smbd-sim")).arg("run").args(arguments).arg(path).output().unwrap()
}

#[test]
fn the_program_writes_the_capture_of_a_seed() {
    for personality in ["roce", "iwarp"] {
        let file = Scratch::new(&format!("run-{personality}.pcapng"), &[]);
        let output = program(&["--seed", "4", "--personality", personality, "--pcap"], &file.0);
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        let decoded = decode::read(std::fs::File::open(&file.0).unwrap());
        assert_eq!(decoded.connections[0].transport.name().starts_with("roce"), personality == "roce");
        assert!(directions(&decoded).iter().all(|totals| totals.data_transfers > 0));
    }
}

#[test]
fn a_file_that_cannot_be_written_is_exit_status_2_with_its_name() {
    let nowhere = PathBuf::from(env!("CARGO_BIN_EXE_smbd-sim")).join("nowhere");
    for option in ["--pcap", "--trace"] {
        let output = program(&["--seed", "4", option], &nowhere);
        assert_eq!(output.status.code(), Some(2), "{option}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("nowhere"), "{option}");
    }
}

#[test]
fn a_hostile_run_says_that_it_has_no_capture() {
    let heavy = Options { profile: Profile::Random, personality: None, faults: FaultLevel::Heavy };
    let seed = (0..).find(|seed| Plan::of(*seed, &heavy).hostile.is_some()).unwrap();
    let file = Scratch::new("hostile.pcapng", b"as before");
    let output = program(&["--seed", &seed.to_string(), "--faults", "heavy", "--pcap"], &file.0);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("is a script"));
    assert_eq!(std::fs::read(&file.0).unwrap(), b"as before");
}
