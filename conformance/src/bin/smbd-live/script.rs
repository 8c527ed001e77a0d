//! The script of the conformance suite, which can say anything, as the peer of a test.

use smbd_conformance::catalogue::{Case, Catalogue, UnderTest};
use smbd_conformance::suite::rig::Target;
use smbd_conformance::suite::{Entry, Options, Outcome, Peer, Play, Stop, Whole, play};

use crate::case::Failure;

/// Plays `steps` against the target, as the suite would a case of this name, which is about the same.
pub(crate) fn script(
    target: &mut dyn Target,
    role: UnderTest,
    name: &'static str,
    steps: fn(&mut Play) -> Result<(), Stop>,
) -> Result<(), Failure> {
    let catalogue = Catalogue::load()?;
    let case = catalogue.case(name).ok_or_else(|| format!("the catalogue has no case `{name}`"))?;
    // These steps bring their own upper layer.
    let case = Case { needs: Vec::new(), ..case.clone() };
    let entry = Entry { name, play: steps, settings: None };
    let played = play(target, 0, (&case, &entry), role, Options::default());
    match played.outcome {
        Outcome::Passed => Ok(()),
        outcome => {
            let findings: Vec<_> = played.findings.iter().map(|finding| finding.text.as_str()).collect();
            Err(format!("{outcome}: {}\n{}", findings.join("; "), played.trace).into())
        }
    }
}

/// The next SMB2 message of the peer: Status, Command and Flags.
pub(crate) fn next_smb2(peer: &mut Peer<'_>, time: std::time::Duration) -> Result<(u32, u16, u32), Stop> {
    let mut whole = Whole::default();
    while !whole.take(peer.expect_data("", time)?) {}
    let payload = whole.payload;
    let is_smb2 = payload.len() >= 64 && payload.starts_with(b"\xfeSMB");
    peer.require("", is_smb2, || format!("{} bytes came that are no SMB2 message", payload.len()))?;
    let word =
        |at: usize| u32::from_le_bytes([payload[at], payload[at + 1], payload[at + 2], payload[at + 3]]);
    Ok((word(8), u16::from_le_bytes([payload[12], payload[13]]), word(16)))
}

/// Makes an SMB2 message without credits the header of the SMB Direct message that carries it, at DataOffset 0: its ProtocolId
/// is CreditsRequested and CreditsGranted, and its Flags are DataLength, so it gets a length of which the four lowest bits
/// are `flags`.
pub(crate) fn its_own_header(mut message: Vec<u8>, flags: usize) -> Vec<u8> {
    // The credits are part of DataOffset.
    message[14..16].fill(0);
    while message.len() % 16 != flags {
        message.push(0);
    }
    let len = u32::try_from(message.len()).unwrap_or(u32::MAX);
    message[16..20].copy_from_slice(&len.to_le_bytes());
    message
}
