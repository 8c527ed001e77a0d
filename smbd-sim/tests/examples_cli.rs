//! `smbd-sim examples` as a person runs it.

use std::process::{Command, Output};

fn examples(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_smbd-sim"));
    command.arg("examples").args(args).output().expect("the program starts")
}

fn text(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("plain text")
}

#[test]
fn the_last_line_counts_and_there_are_no_colours_in_a_pipe() {
    let output = examples(&[]);
    let text = text(&output);
    assert!(output.status.success());
    assert_eq!(text.lines().last(), Some("examples: 5 passed, 0 failed"));
    assert!(!text.contains('\x1b'));
}

#[test]
fn options_change_what_is_shown() {
    let output =
        examples(&["--token", "0xFF", "--offset", "10000", "--credits", "7", "--personality", "iwarp"]);
    let text = text(&output);
    assert!(output.status.success());
    for shown in [
        "Token               0x000000FF",
        "Token               0x00000000",
        "0x0000000000010000",
        "0x0007 (7)",
    ] {
        assert!(text.contains(shown), "{shown} is missing in\n{text}");
    }
}

#[test]
fn a_capture_is_written_on_both_kinds_of_network() {
    for personality in ["roce", "iwarp"] {
        let directory =
            std::env::temp_dir().join(format!("smbd-examples-{personality}-{}", std::process::id()));
        let path = directory.to_str().expect("a plain path");
        assert!(examples(&["--personality", personality, "--pcap", path]).status.success());
        let mut decode = Command::new(env!("CARGO_BIN_EXE_smbd-sim"));
        let decoded =
            decode.arg("decode").arg(directory.join("examples.pcapng")).output().expect("it starts");
        let decoded = text(&decoded);
        let fragments = decoded.lines().filter(|line| line.contains("DataLength=1000 ")).count();
        std::fs::remove_dir_all(&directory).expect("it was made");
        assert_eq!(fragments, 65, "{decoded}");
        assert!(decoded.contains("CreditsGranted=10") && decoded.contains("RemainingDataLength=64536"));
    }
}

#[test]
fn what_cannot_be_run_says_why() {
    let output = examples(&["--credits", "3"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("4..=255"));
}

#[test]
fn an_empty_command_line_runs_the_examples() {
    let alone = Command::new(env!("CARGO_BIN_EXE_smbd-sim")).output().unwrap();
    assert!(alone.status.success());
    assert_eq!(text(&alone), text(&examples(&[])));
}
