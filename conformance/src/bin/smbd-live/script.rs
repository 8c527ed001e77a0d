//! The script of the conformance suite, which can say anything, as the peer of a test.

use std::time::Duration;

use smbd_conformance::catalogue::{Case, Catalogue, UnderTest};
use smbd_conformance::suite::rig::Target;
use smbd_conformance::suite::{Entry, Options, Outcome, Peer, Play, Stop, Whole, play};
use smbd_smb2::wire::Header;

use crate::case::Failure;

/// Plays `steps` against the target, as the suite would a case of this name, which is about the same.
pub(crate) fn script(
    target: &mut dyn Target,
    role: UnderTest,
    name: &'static str,
    steps: fn(&mut Play) -> Result<(), Stop>,
) -> Result<(), Failure> {
    script_with(target, role, name, steps, &Options::default())
}

/// The same with options: for steps that use the target's upper layer, which has to be said.
pub(crate) fn script_with(
    target: &mut dyn Target,
    role: UnderTest,
    name: &'static str,
    steps: fn(&mut Play) -> Result<(), Stop>,
    options: &Options,
) -> Result<(), Failure> {
    let catalogue = Catalogue::load()?;
    let case = catalogue.case(name).ok_or_else(|| format!("the catalogue has no case `{name}`"))?;
    // These steps bring their own upper layer.
    let case = Case { needs: Vec::new(), ..case.clone() };
    let entry = Entry { name, play: steps, settings: None };
    let played = play(target, 0, (&case, &entry), role, options);
    match played.outcome {
        Outcome::Passed => Ok(()),
        outcome => {
            let findings: Vec<_> = played.findings.iter().map(|finding| finding.text.as_str()).collect();
            Err(format!("{outcome}: {}\n{}", findings.join("; "), played.trace).into())
        }
    }
}

/// The header of the next SMB2 message of the peer.
pub(crate) fn next_smb2(peer: &mut Peer<'_>, time: Duration) -> Result<Header, Stop> {
    let mut whole = Whole::default();
    while !whole.take(peer.expect_data("", time)?) {}
    let header = Header::parse(&whole.payload);
    let seen = || format!("{} bytes came that are no SMB2 message", whole.payload.len());
    peer.require("", header.is_ok(), seen)?;
    header.map_err(broken)
}

/// A fault of the steps.
pub(crate) fn broken(fault: impl ToString) -> Stop {
    Stop::Broken(fault.to_string())
}
