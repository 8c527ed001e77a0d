//! `smbd-sim run --loop`: loops of the runtime as both ends.

mod common;

use std::process::{Command, Output};

use common::Scratch;
use smbd_sim::decode;

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_smbd-sim")).arg("run").args(arguments).output().unwrap()
}

fn said(arguments: &[&str]) -> String {
    let output = run(arguments);
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {text}");
    text
}

#[test]
fn runs_say_which_loops_drove_them_and_one_of_each_pair_is_the_one_asked_for() {
    for driver in ["blocking", "engine", "tokio"] {
        let said = said(&["--seeds", "0..40", "--faults", "heavy", "--loop", driver]);
        let (_, pairs) = said.split_once("loops, initiator and acceptor\n").unwrap();
        let pairs: Vec<_> = pairs.lines().take_while(|line| line.starts_with("  ")).collect();
        assert!(pairs.len() >= 2 && pairs.iter().all(|pair| pair.contains(driver)), "{said}");
        assert!(said.ends_with("runs: 40 passed, 0 failed\n"), "{said}");
    }
}

#[test]
fn a_seed_repeats_its_trace_and_its_plan_names_the_loops() {
    let arguments = ["--seed", "7", "--loop", "any", "--trace", "-"];
    let first = said(&arguments);
    assert_eq!(first, said(&arguments));
    assert!(first.starts_with("LoopPlan {\n    pair: "), "{first}");
    assert!(first.contains("Established"), "{first}");
    assert!(first.contains("every message came back: 100.0 % of the runs"), "{first}");
}

#[test]
fn the_program_writes_a_capture_of_a_run_between_loops() {
    let file = Scratch::new("loops.pcapng", &[]);
    said(&["--seed", "4", "--loop", "tokio", "--pcap", file.0.to_str().unwrap()]);
    let decoded = decode::read(std::fs::File::open(&file.0).unwrap());
    assert_eq!(decoded.connections.len(), 1);
    assert!(decoded.items.len() > 4, "{} items", decoded.items.len());
}

#[test]
fn a_loop_that_there_is_not_is_refused_with_those_that_there_are() {
    let output = run(&["--seed", "1", "--loop", "none"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("any, blocking, engine, tokio"), "{said}");
}
