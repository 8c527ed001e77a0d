//! The program over sockets: what it says and its exit status when there is no peer to test.

use std::io::{Read as _, Write as _};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use smbd_conformance::socket::{Frame, HEADER, Reason};

use super::field::{Implementation as _, path};
use super::python::Python;

fn run(arguments: &[&str]) -> (Option<i32>, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_smbd-conformance"));
    let output = command.args(["run", "--target", "socket"]).args(arguments).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

/// Something that accepts one connection.
struct Listener(PathBuf);

impl Listener {
    fn doing(name: &str, does: impl Fn(UnixStream) + Send + 'static) -> Self {
        let file = PathBuf::from(path(name).to_string());
        let listener = UnixListener::bind(&file).unwrap();
        thread::spawn(move || listener.incoming().for_each(|stream| does(stream.unwrap())));
        Self(file)
    }

    fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        _ = std::fs::remove_file(&self.0);
    }
}

fn is_no_peer(at: &str, why: &str) {
    let (code, _, complaint) = run(&["--connect", at, "--no-timers", "BVT_SmbdNegotiate_Basic"]);
    assert!(complaint.contains(why), "{complaint}");
    assert!(complaint.contains("docs/socket-target.md"), "{complaint}");
    assert_eq!(code, Some(2), "{complaint}");
}

#[test]
fn without_a_listener_the_exit_status_is_2_with_what_to_do() {
    is_no_peer("/nowhere/at/all.sock", "no connection: /nowhere/at/all.sock: No such file");
    is_no_peer("127.0.0.1:1", "no connection: 127.0.0.1:1: Connection refused");
}

#[test]
fn an_implementation_that_is_started_at_the_same_time_is_waited_for() {
    let at = path("starting");
    let (file, begin) = (at.to_string(), at.clone());
    let started = thread::spawn(move || {
        let python = Python::example();
        python.accept(&begin);
        python
    });
    let (code, text, complaint) = run(&["--connect", &file, "--no-timers", "BVT_SmbdNegotiate_Basic"]);
    assert_eq!(code, Some(0), "{text}{complaint}");
    drop(started.join().unwrap());
}

#[test]
fn a_peer_of_another_version_is_exit_status_2_and_is_told_which_is_spoken() {
    let (said, heard) = std::sync::mpsc::channel();
    let other = Listener::doing("version", move |mut stream| {
        let mut hello = vec![16, 0, 0, 0, 1, 0, 0, 0];
        hello.extend_from_slice(b"SMBDSOCK\x02\x00\x01\x00\x10\x00\x10\x00");
        stream.write_all(&hello).unwrap();
        let mut came = Vec::new();
        stream.read_to_end(&mut came).unwrap();
        said.send(came).unwrap();
    });
    is_no_peer(other.path(), "another version: version 2, version 1 is spoken here");
    let came = heard.recv().unwrap();
    let mut rest = &came[..];
    let mut last = None;
    while let Some((frame, len)) = Frame::parse(rest).unwrap() {
        (last, rest) = (Some(frame), &rest[len..]);
    }
    assert!(
        matches!(last, Some(Frame::End(Reason::Version, text)) if text.contains("version 1")),
        "{last:?}"
    );
}

#[test]
fn a_peer_that_speaks_something_else_is_exit_status_2_with_its_first_bytes() {
    let other = Listener::doing("other", |mut stream| {
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\n").unwrap();
        _ = stream.read(&mut [0; HEADER]);
    });
    is_no_peer(other.path(), "the first bytes are \"HTTP/1.1 400 Bad\"");
    // Dropping the socket would reset it if the peer's first bytes have come and were not read.
    let closes = Listener::doing("closes", |mut stream| {
        stream.shutdown(Shutdown::Write).unwrap();
        _ = stream.read_to_end(&mut Vec::new());
    });
    is_no_peer(closes.path(), "the peer closed the socket without an END");
}

#[test]
fn the_options_of_a_socket_are_checked() {
    let complains = |arguments: &[&str], why: &str| {
        let (code, _, complaint) = run(arguments);
        assert_eq!(code, Some(2), "{complaint}");
        assert!(complaint.contains(why), "{complaint}");
    };
    complains(&[], "--target socket needs --connect or --listen");
    complains(&["--connect", "somewhere"], "neither an address with a port");
    complains(&["--address", "127.0.0.1"], "--address is for --target verbs");
    let beside = "/nowhere/at/all.sock";
    complains(&["--listen", beside], beside);
}

#[test]
fn an_initiator_can_be_triggered_for_each_connection() {
    let at = path("triggered").to_string();
    let example = Path::new(super::python::EXAMPLES).join("socket_echo.py");
    let trigger = format!("exec python3 -B {} --connect {at}", example.display());
    let names = ["--no-timers", "credits::no_credit_is_ever_lost", "--upper", "echo"];
    let (code, text, complaint) = run(&[&["--listen", &at, "--trigger", &trigger], &names[..]].concat());
    assert_eq!(code, Some(0), "{text}{complaint}");
    assert!(text.contains("plays: 1 passed, 0 failed"), "{text}");
}

#[test]
fn the_command_of_the_documentation_plays_cases_over_tcp_too() {
    let python = Python::example();
    // Nobody else has a port for this address.
    let at = "127.77.13.5:5445".parse().unwrap();
    python.accept(&at);
    let (code, text, complaint) =
        run(&["--connect", "127.77.13.5:5445", "--no-timers", "BVT_SmbdNegotiate_Basic"]);
    assert_eq!(code, Some(0), "{text}{complaint}");
}
