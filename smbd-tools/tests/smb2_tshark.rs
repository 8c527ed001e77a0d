//! What other eyes make of the SMB2 messages: tshark, which must find nothing malformed.

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use smbd_tools::smb2::{Guid, NegotiateRequest, NegotiateResponse};

/// Removed when dropped.
struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        // A leftover in the temporary directory is no failure.
        _ = std::fs::remove_file(&self.0);
    }
}

/// What tshark says about a message over TCP, as a tree; `None` without tshark, which is said on stderr.
fn tree(name: &str, message: &[u8], ports: &str) -> Option<String> {
    let capture = Scratch(std::env::temp_dir().join(format!("smbd-{}-{name}.pcap", std::process::id())));
    let length = u32::try_from(message.len()).expect("short");
    let mut hex = String::from("000000");
    // Over TCP each message has its length in front (MS-SMB2 2.1).
    for byte in length.to_be_bytes().iter().chain(message) {
        write!(hex, " {byte:02x}").expect("memory takes everything");
    }
    hex.push('\n');
    let text2pcap = Command::new("text2pcap")
        .args(["-q", "-T", ports, "-"])
        .arg(&capture.0)
        .stdin(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let mut text2pcap = match text2pcap {
        Ok(child) => child,
        Err(error) => {
            // Not by eprintln: the test harness would swallow it.
            let reason = format!("SKIPPED: tshark's view of SMB2, text2pcap cannot be run: {error}\n");
            io::stderr().write_all(reason.as_bytes()).expect("stderr is open");
            return None;
        }
    };
    let mut input = text2pcap.stdin.take().expect("it is piped");
    input.write_all(hex.as_bytes()).expect("it reads all");
    drop(input);
    assert!(text2pcap.wait().expect("it was started").success());
    let output =
        Command::new("tshark").arg("-V").arg("-r").arg(&capture.0).output().expect("it comes with text2pcap");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn assert_shown(tree: &str, shown: &[&str]) {
    for text in shown {
        assert!(tree.contains(text), "{text} is missing in\n{tree}");
    }
    for bad in ["Malformed", "Expert Info (Warning", "Expert Info (Error"] {
        assert!(!tree.contains(bad), "{bad} in\n{tree}");
    }
}

#[test]
fn request_and_response_have_no_malformed_mark() {
    let request = NegotiateRequest::new(Guid([0x11; 16]));
    if let Some(tree) = tree("request", &request.encode(&[0x5a; 32]), "50000,445") {
        let dialects = ["0x0202", "0x0210", "0x0300", "0x0302", "0x0311"];
        assert_shown(&tree, &dialects);
        assert_shown(&tree, &["Negotiate Protocol Request", "SHA-512", "AES-128-GCM", "AES-128-CCM"]);
    }
    let response = NegotiateResponse::to(&request, Guid([0x22; 16]), 8 << 20, 133_000_000_000_000_000)
        .expect("3.1.1 is offered");
    if let Some(tree) = tree("response", &response.encode(&[0xa5; 32]), "445,50000") {
        let shown = ["Negotiate Protocol Response", "0x0311", "NTLMSSP", "SHA-512", "AES-128-GCM", "8388608"];
        assert_shown(&tree, &shown);
    }
}
