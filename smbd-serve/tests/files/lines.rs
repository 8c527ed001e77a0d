//! Command lines of the time before there were commands and a configuration file: each means what it meant.

use std::fs;
use std::process::Command;

use smbd_client::Settings;

use super::program::{Serve, command, text, users};
use super::words::{content, folder, settings};

/// What each option was tried with, beside the directory.
const OPTIONS: &[&str] = &[
    "--share name --read-only --case-sensitive --sign",
    "--encrypt",
    "--no-rdma-transforms --channels 1",
    "--connections 5 --per-client 2 --logging-in 1",
    "--login 600 --memory 24576 --drain 0",
    "--log json",
    "--connections 1000 --memory 24576",
];

#[test]
fn a_directory_with_options_is_served_without_a_command_wherever_it_stands() {
    let folder = folder("lines");
    let users = users(&folder, 0o600);
    for options in OPTIONS {
        for directory_is_first in [true, false] {
            let mut line = command(&[]);
            let mut add = |words: &[&str]| _ = line.args(words);
            if directory_is_first {
                add(&[text(&folder)]);
            }
            add(&["--users", &users, "--listen", "tcp:127.0.0.1:0", "--status-socket", "", "--check"]);
            add(&options.split(' ').collect::<Vec<_>>());
            if !directory_is_first {
                add(&[text(&folder)]);
            }
            let output = line.output().unwrap();
            assert!(output.status.success(), "{options}: {}", String::from_utf8_lossy(&output.stderr));
        }
    }
}

#[test]
fn several_listeners_and_an_address_of_both_ways_serve_one_directory() {
    let folder = folder("lines-listeners");
    let source = folder.join("in");
    fs::write(&source, content(1000)).unwrap();
    let mut line = command(&[text(&folder), "--users", &users(&folder, 0o600)]);
    line.args(["--listen", "127.0.0.1:0", "--listen", "tcp:[::1]:0"]);
    let serve = Serve::run(&mut line);
    serve.put(&source, "out", &settings()).unwrap();
    assert_eq!(fs::read(folder.join("out")).unwrap(), content(1000));
    let (code, lines) = serve.terminate();
    assert_eq!(code, Some(0));
    assert!(lines.iter().any(|line| line.starts_with("listening address=[::1]:")), "{lines:?}");
}

#[test]
fn guests_are_let_in_with_an_option_and_no_file() {
    let folder = folder("lines-guest");
    let serve = Serve::start(&[text(&folder), "--guest"]);
    let settings = Settings { guest: true, ..settings() };
    let source = folder.join("in");
    fs::write(&source, content(10)).unwrap();
    serve.put(&source, "out", &settings).unwrap();
}

#[test]
fn a_directory_that_is_called_like_a_command_takes_a_path() {
    let folder = folder("lines-names");
    fs::create_dir(folder.join("status")).unwrap();
    let run = |directory: &str| {
        let mut command: Command = command(&[directory, "--guest", "--listen", "tcp:127.0.0.1:0", "--check"]);
        let output = command.current_dir(&folder).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    assert_eq!(run("./status"), (Some(0), String::new()));
    let (code, said) = run("status");
    assert_eq!(code, Some(2));
    assert!(said.contains("unexpected argument '--guest'"), "{said}");
}

#[test]
fn run_takes_the_same_options_and_says_the_same() {
    let folder = folder("lines-run");
    let users = users(&folder, 0o600);
    let mut command = command(&["run", text(&folder), "--users", &users, "--listen", "tcp:127.0.0.1:0"]);
    let serve = Serve::run(&mut command);
    assert!(serve.lets_in("tester", super::words::PASSWORD));
    let (code, lines) = serve.terminate();
    assert_eq!((code, lines.last().map(String::as_str)), (Some(0), Some("ended")));
}
