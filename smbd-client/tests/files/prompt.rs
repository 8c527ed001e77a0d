//! The password is asked for at a terminal: one of a test's own, of which it has the other end.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Output, Stdio};

use rustix::fs::{Mode, OFlags, open};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, tcgetattr};
use tokio::task::spawn_blocking;

use super::program::listen;
use super::server::{Host, PASSWORD};

/// Who sits at a terminal, and the terminal.
struct Terminal {
    keys: File,
    tty: OwnedFd,
}

impl Terminal {
    fn new() -> Self {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY;
        let keys = openpt(flags).unwrap();
        grantpt(&keys).unwrap();
        unlockpt(&keys).unwrap();
        let name = ptsname(&keys, Vec::new()).unwrap();
        let tty = open(name, OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).unwrap();
        Self { keys: keys.into(), tty }
    }

    /// smbd-cp in a session of its own, whose terminal this is.
    fn cp(&self, arguments: &[&str]) -> Child {
        let mut command = Command::new("setsid");
        command.args(["--ctty", "--wait", env!("CARGO_BIN_EXE_smbd-cp")]).args(arguments);
        command.env_remove("SMBD_PASSWORD").stdin(self.tty.try_clone().unwrap());
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// What is seen there, until this is.
    fn until(&mut self, text: &str) -> String {
        let mut seen = Vec::new();
        while !seen.ends_with(text.as_bytes()) {
            let mut byte = [0];
            self.keys.read_exact(&mut byte).unwrap();
            seen.extend(byte);
        }
        String::from_utf8(seen).unwrap()
    }

    /// Whether what is typed is shown, is taken by lines, and makes signals.
    fn modes(&self) -> [bool; 3] {
        let modes = tcgetattr(&self.tty).unwrap().local_modes;
        [LocalModes::ECHO, LocalModes::ICANON, LocalModes::ISIG].map(|mode| modes.contains(mode))
    }

    /// What is seen behind that, when nobody has the terminal open any more.
    fn rest(mut self) -> String {
        drop(self.tty);
        let mut seen = Vec::new();
        // It ends with an error.
        let _ = self.keys.read_to_end(&mut seen);
        String::from_utf8(seen).unwrap()
    }
}

/// The program asks, and this is typed. Returns what came of it, and what was seen behind the question.
fn types(arguments: &[&str], typed: &str) -> (Output, String) {
    let mut terminal = Terminal::new();
    assert_eq!(terminal.modes(), [true; 3]);
    let child = terminal.cp(arguments);
    assert_eq!(terminal.until(": "), "Password of tester at 127.0.0.1: ");
    assert_eq!(terminal.modes(), [false; 3]);
    terminal.keys.write_all(typed.as_bytes()).unwrap();
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
