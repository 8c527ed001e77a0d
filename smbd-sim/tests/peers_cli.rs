//! `smbd-sim peers` as a person runs it.

use std::process::{Command, Output};

fn peers(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_smbd-sim"));
    command.arg("peers").args(args).output().expect("the program starts")
}

fn text(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("plain text")
}

#[test]
fn a_table_has_a_row_for_each_model_that_was_asked_for() {
    let output = peers(&["--model", "windows-acceptor", "--model", "text-2018-acceptor", "--seeds", "3..23"]);
    let text = text(&output);
    assert!(output.status.success(), "{text}");
    assert!(text.contains("| `windows-acceptor` | acceptor | 20 | 20 | – | – | 0 |"), "{text}");
    assert!(text.contains("| `text-2018-acceptor` | acceptor | 20 |"), "{text}");
    assert!(!text.contains("linux"), "{text}");
    assert_eq!(text.lines().last(), Some("runs: 40 passed, 0 failed"));
}

#[test]
fn one_seed_shows_its_plan_and_its_trace() {
    let output = peers(&["--model", "linux-6.12-client", "--seed", "5", "--trace"]);
    let text = text(&output);
    assert!(output.status.success(), "{text}");
    for shown in
        ["receive_credit_max: ", "Negotiate Request", "linux-6.12-client seed 5: delivered and quiet"]
    {
        assert!(text.contains(shown), "{shown} is missing in\n{text}");
    }
}

#[test]
fn a_command_line_that_makes_no_sense_is_told_from_a_failure() {
    for args in [
        &["--model", "nobody"][..],
        &["--seed", "1"],
        &["--trace", "--model", "windows-acceptor"],
        &["--seeds", "9..9"],
        &["--threads", "0"],
    ] {
        assert_eq!(peers(args).status.code(), Some(2), "{args:?}");
    }
}

#[test]
fn the_table_is_written_between_its_markers_and_nowhere_else() {
    let path = std::env::temp_dir().join(format!("smbd-peers-{}.md", std::process::id()));
    let args =
        ["--model", "windows-acceptor", "--seeds", "0..1", "--write", path.to_str().expect("a plain path")];
    std::fs::write(&path, "no markers\n").expect("a file");
    assert_eq!(peers(&args).status.code(), Some(2));
    let around = |inside: &str| {
        format!("above\n<!-- begin: smbd-sim peers -->\n{inside}<!-- end: smbd-sim peers -->\nbelow\n")
    };
    std::fs::write(&path, around("old\n")).expect("a file");
    assert!(peers(&args).status.success());
    let written = std::fs::read_to_string(&path).expect("it was written");
    std::fs::remove_file(&path).expect("it was made");
    assert!(written.starts_with("above\n") && written.ends_with("below\n"), "{written}");
    assert!(written.contains("| `windows-acceptor` |") && !written.contains("old"), "{written}");
}
