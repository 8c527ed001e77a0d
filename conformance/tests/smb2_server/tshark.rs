//! What other eyes make of the server's answers: tshark, which must find nothing malformed.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use smbd_conformance::smb2::server::Server;
use smbd_smb2::wire::{Header, header};

use crate::common::ROCE;
use crate::mount::{Ids, elements, messages};
use crate::walk::{answered, options};

/// Removed when dropped.
struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        // A leftover in the temporary directory is no failure.
        _ = std::fs::remove_file(&self.0);
    }
}

/// Appends a message as `text2pcap` wants it. Over TCP each has its length in front (MS-SMB2 2.1).
fn put(text: &mut String, direction: char, message: &[u8]) {
    let length = u32::try_from(message.len()).unwrap();
    write!(text, "{direction}\n000000").unwrap();
    for byte in length.to_be_bytes().iter().chain(message) {
        write!(text, " {byte:02x}").unwrap();
    }
    text.push('\n');
}

/// All that client and server say in a mount, one answer for each message.
fn conversation() -> String {
    let (mut server, mut ids, mut text) = (Server::new(options()), Ids::default(), String::new());
    let mut own = Vec::new();
    for message in messages(ROCE) {
        if message.is_of_client {
            let translated = ids.translated(&message.bytes);
            put(&mut text, 'O', &translated);
            for answer in answered(&mut server, &translated) {
                let mut alone = answer.clone();
                header::field::NEXT_COMMAND.set(&mut alone, 0).unwrap();
                put(&mut text, 'I', &alone);
                own.push(answer);
            }
            continue;
        }
        for captured in elements(&message.bytes) {
            let place = own
                .iter()
                .position(|answer| Header::parse(answer).unwrap().message_id == captured.header.message_id);
            ids.learn(captured.bytes, &own.remove(place.unwrap()));
        }
    }
    text
}

fn capture(text: &str, path: &Path) {
    let text2pcap = Command::new("text2pcap")
        // The ports are those of what comes in: of the server's answers.
        .args(["-q", "-D", "-T", "445,50000", "-"])
        .arg(path)
        .stdin(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let mut text2pcap = text2pcap.expect("text2pcap, which comes with tshark");
    text2pcap.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    assert!(text2pcap.wait().unwrap().success());
}

fn tshark(path: &Path, arguments: &[&str]) -> String {
    let output = Command::new("tshark").arg("-r").arg(path).args(arguments).output().expect("tshark");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn tshark_finds_nothing_malformed_in_a_mount() {
    let scratch = Scratch(std::env::temp_dir().join(format!("smbd-server-{}.pcap", std::process::id())));
    capture(&conversation(), &scratch.0);
    assert_eq!(tshark(&scratch.0, &["-Y", "_ws.malformed"]), "");
    let count = |filter| tshark(&scratch.0, &["-Y", filter]).lines().count();
    let answers = count("smb2.flags.response == 1");
    assert!(answers > 60, "{answers}");
    // What it understands of the bodies that are no part of smbd-smb2.
    for (filter, least) in [
        ("ntlmssp.messagetype == 2", 1),
        ("smb2.file_all_info && smb2.flags.response == 1", 5),
        ("smb2.fs_full_size_info", 1),
        ("smb2.cmd == 14 && smb2.flags.response == 1 && smb2.filename == \"f.bin\"", 1),
    ] {
        assert!(count(filter) >= least, "{filter}:\n{}", tshark(&scratch.0, &[]));
    }
}
