//! Standard output and the files of the program: closed, full, in a wrong place, `-`.

mod common;

use std::fs::File;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use common::{CAPTURES, Scratch, path};

fn program(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_smbd-sim"));
    command.args(arguments).stdin(Stdio::null());
    command
}

fn run(arguments: &[&str]) -> Output {
    program(arguments).output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// A command line of each subcommand, with its exit code.
fn each() -> Vec<(Vec<String>, i32)> {
    let capture = path(CAPTURES[0]);
    [
        ("", 0),
        ("examples", 0),
        ("run --seed 4 --trace -", 0),
        ("run --seeds 0..3", 0),
        ("run --seeds 0..3 --loop any", 0),
        ("peers --model windows-acceptor --seeds 0..2", 0),
        ("peers --model windows-acceptor --seed 1 --trace", 0),
        ("search --list", 0),
        // Stopped at once: the verdict is not lost with the reader.
        ("search --config one-each --limit-states 2", 1),
        ("search --config one-each --limit-states 2 --table", 1),
        ("soak --hours 0.001", 0),
        (&format!("decode {}", capture.display()), 0),
        (&format!("decode --json {}", capture.display()), 0),
    ]
    .map(|(line, code)| (line.split_whitespace().map(Into::into).collect(), code))
    .to_vec()
}

#[test]
fn on_a_full_disk_every_subcommand_says_so_and_ends_with_2() {
    for (arguments, _) in each() {
        let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
        let full = File::options().write(true).open("/dev/full").unwrap();
        let output = program(&arguments).stdout(full).output().unwrap();
        let said = said(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(said.ends_with("output: No space left on device (os error 28)\n"), "{arguments:?}: {said}");
    }
}

/// Runs the program with a limit on the size of files, in blocks of the shell (512 or 1024 bytes).
fn limited(blocks: u32, arguments: &[&str]) -> Command {
    let mut command = Command::new("sh");
    command.arg("-c").arg(format!("ulimit -f {blocks}; exec \"$@\"")).arg("sh");
    command.arg(env!("CARGO_BIN_EXE_smbd-sim")).args(arguments).stdin(Stdio::null());
    command
}

#[test]
fn past_the_limit_of_file_sizes_every_subcommand_says_so_and_ends_with_2() {
    let file = Scratch::new("limited.txt", b"");
    for arguments in each().into_iter().map(|(arguments, _)| arguments).chain([vec!["--help".to_owned()]]) {
        let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
        let output = limited(0, &arguments).stdout(File::create(&file.0).unwrap()).output().unwrap();
        let said = said(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {:?} {said}", output.status);
        assert!(said.ends_with("output: File too large (os error 27)\n"), "{arguments:?}: {said}");
    }
}

#[test]
fn a_capture_or_a_trace_past_the_limit_of_file_sizes_is_named_and_ends_with_2() {
    let file = Scratch::new("limited.pcapng", b"");
    let name = file.0.to_str().unwrap();
    for option in ["--pcap", "--trace"] {
        let output = limited(1, &["run", "--seed", "4", option, name]).output().unwrap();
        let said = said(&output);
        assert_eq!(output.status.code(), Some(2), "{option}: {:?} {said}", output.status);
        assert_eq!(said, format!("smbd-sim run: {option} {name}: File too large (os error 27)\n"));
    }
}

#[test]
fn help_that_cannot_be_printed_is_no_success() {
    for arguments in [&["--help"][..], &["--version"], &["run", "--help"]] {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let output = program(arguments).stdout(full).output().unwrap();
        let said = said(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert_eq!(said, "smbd-sim: standard output: No space left on device (os error 28)\n");
    }
}

#[test]
fn a_reader_who_has_gone_is_no_failure_and_the_verdict_stays() {
    for (arguments, code) in each() {
        let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
        let mut child = program(&arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        let said = said(&output);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {said}");
        assert!(!said.contains("output") && !said.contains("panicked"), "{arguments:?}: {said}");
    }
}

#[test]
fn a_capture_can_come_from_standard_input() {
    let file = path(CAPTURES[1]);
    let output = program(&["decode", "-"]).stdin(File::open(&file).unwrap()).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert_eq!(output.stdout, run(&["decode", file.to_str().unwrap()]).stdout);
}

/// Nothing was done, and nothing was printed.
fn refused(arguments: &[&str], why: &str) {
    let output = run(arguments);
    let said = said(&output);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
    assert!(said.contains(why), "{arguments:?}: {said}");
    assert!(output.stdout.is_empty(), "{arguments:?} has begun");
}

#[test]
fn what_is_of_one_seed_is_refused_with_a_range_of_seeds() {
    let file = Scratch::new("range.pcapng", b"as before");
    let name = file.0.to_str().unwrap();
    refused(&["run", "--seeds", "0..3", "--pcap", name], "cannot be used with");
    refused(&["run", "--seeds", "0..3", "--trace", name], "cannot be used with");
    refused(&["peers", "--model", "windows-acceptor", "--seeds", "0..3", "--trace"], "cannot be used with");
    assert_eq!(std::fs::read(&file.0).unwrap(), b"as before");
}

#[test]
fn a_file_in_a_wrong_place_is_refused_before_the_work() {
    let folder = std::env::temp_dir();
    let folder = folder.to_str().unwrap();
    for option in ["--pcap", "--trace"] {
        refused(&["run", "--seed", "4", option, folder], &format!("smbd-sim run: {option} {folder}: "));
        refused(&["run", "--seed", "4", option, "/nowhere/file"], &format!("{option} /nowhere/file: "));
    }
    refused(&["run", "--seed", "4", "--pcap", "-"], "--pcap -: a capture needs a file");
    assert!(!Path::new("-").exists());
    let file = Scratch::new("no-folder", b"");
    refused(&["examples", "--pcap", file.0.to_str().unwrap()], "no-folder");
    // So many runs would take a day.
    let seeds = ["peers", "--seeds", "0..100000000", "--write"];
    refused(&[&seeds[..], &[file.0.to_str().unwrap()]].concat(), "<!-- begin: smbd-sim peers -->");
    refused(&[&seeds[..], &["/nowhere/file"]].concat(), "--write /nowhere/file: ");
}
