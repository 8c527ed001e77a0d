//! The password is asked for at a terminal: one of a test's own, of which it has the other end.

use std::process::{Command, Output};

use tokio::task::spawn_blocking;

use super::program::listen;
use super::server::{Host, PASSWORD};
use smbd_testkit::terminal::Terminal;

/// The program asks, and this is typed. Returns what came of it, and what was seen behind the question.
fn types(arguments: &[&str], typed: &str) -> (Output, String) {
    let mut terminal = Terminal::open();
    assert_eq!(terminal.modes(), [true; 3]);
    let child = terminal
        .starts(env!("CARGO_BIN_EXE_smbd-cp"), |cp| _ = cp.args(arguments).env_remove("SMBD_PASSWORD"));
    assert_eq!(terminal.until(": "), "Password of tester at 127.0.0.1: ");
    assert_eq!(terminal.modes(), [false; 3]);
    terminal.types(typed);
    let said = child.wait_with_output().unwrap();
    assert_eq!(terminal.modes(), [true; 3]);
    (said, terminal.rest())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_password_that_is_typed_logs_in_and_is_not_shown() {
    let url = listen(&Host::new(|_| {})).await;
    let (said, seen) = spawn_blocking(move || types(&["ls", &url], &format!("{PASSWORD}\n"))).await.unwrap();
    assert_eq!((said.status.code(), said.stderr.as_slice()), (Some(0), &b""[..]));
    assert_eq!(seen, "\r\n");
}

#[test]
fn ctrl_c_at_the_question_ends_the_program_and_the_terminal_is_as_it_was() {
    let (said, seen) = types(&["get", "smb://tester@127.0.0.1:1/s/f", "out"], "secr\x03");
    let told = "smbd-cp: stopped; --resume goes on where it stopped\n";
    assert_eq!((said.status.code(), String::from_utf8(said.stderr).unwrap()), (Some(130), told.into()));
    assert_eq!(seen, "\r\n");
}

#[test]
fn without_a_terminal_it_is_told_how_else_to_tell_the_password() {
    let mut command = Command::new("setsid");
    command.args(["--wait", env!("CARGO_BIN_EXE_smbd-cp"), "ls", "smb://u@127.0.0.1:1/s"]);
    let said = command.env_remove("SMBD_PASSWORD").output().unwrap();
    let told = String::from_utf8(said.stderr).unwrap();
    assert_eq!(said.status.code(), Some(1));
    assert!(told.contains("use --password-file or SMBD_PASSWORD; there is no terminal to ask at"), "{told}");
}
