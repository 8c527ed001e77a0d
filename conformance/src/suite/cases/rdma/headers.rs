//! The IRD/ORD header of section 6, in the private data of connections on iWARP.

use std::time::Duration;

use smbd_core::Params;

use super::depth::{at_a_time, reads_at_once};
use crate::suite::rig::Opening;
use crate::suite::trace::hex;
use crate::suite::{Peer, Play, Stop, Terms};

pub(super) fn depth_of_16(params: &mut Params) {
    params.read_depth = 16;
}

fn saying(private_data: Vec<u8>) -> Opening {
    Opening { private_data: Some(private_data), ..Opening::default() }
}

/// The header of 6.1, most significant byte first.
fn header(ird: u32, ord: u32) -> Vec<u8> {
    [ird.to_be_bytes(), ord.to_be_bytes()].concat()
}

/// What comes with the subject's request or consent; empty if there is nothing.
fn heard(peer: &mut Peer<'_>) -> Result<Vec<u8>, Stop> {
    let none = || Stop::NotApplicable("private data cannot be looked at".into());
    peer.private_data().ok_or_else(none)
}

/// IRD and ORD, as they are read most significant byte first.
fn depths(peer: &mut Peer<'_>, data: &[u8]) -> Result<(u32, u32), Stop> {
    let word = |at: usize| {
        let bytes = data.get(at..at + 4).and_then(|bytes| bytes.try_into().ok());
        bytes.map(u32::from_be_bytes)
    };
    let both = word(0).zip(word(4));
    peer.require("6.2-02 +6-02 +6.1-01", both.is_some(), || {
        format!("the header has 8 bytes, the private data are {}", hex(data))
    })?;
    let (ird, ord) = both.ok_or(Stop::Failed)?;
    let plausible = 1..=0xFFFF;
    peer.check("6.1-02", plausible.contains(&ird), || format!("IRD should be 1 to 65535, it is {ird}"));
    peer.check("6.1-03", plausible.contains(&ord), || format!("ORD should be 1 to 65535, it is {ord}"));
    Ok((ird, ord))
}

/// So many of the subject's reads are under way at a time, from the first on.
fn reads(peer: &mut Peer<'_>, statements: &str, depth: usize) -> Result<(), Stop> {
    peer.negotiate(&Terms::default())?;
    reads_at_once(peer, statements, 1, 16)?;
    at_a_time(peer, statements, depth, 0);
    Ok(())
}

pub(super) fn answered(play: &mut Play) -> Result<(), Stop> {
    let little_endian = [4_u32.to_le_bytes(), 8_u32.to_le_bytes()].concat();
    let asked = [
        (header(4, 8), (8, 4)),
        (header(100, 100), (16, 16)),
        (header(1, 1), (1, 1)),
        (little_endian, (8, 4)),
    ];
    for (request, (ird, ord)) in asked {
        play.step(format!("the request has {}", hex(&request)));
        let mut peer = play.connect_as("6.2-01", &saying(request))?;
        let data = heard(&mut peer)?;
        let came = depths(&mut peer, &data)?;
        peer.check("6.1-01 +6-02 +6.2-01 +6.2-02", came == (ird, ord), || {
            format!("IRD {ird} and ORD {ord} should be answered, {} and {} were", came.0, came.1)
        });
        reads(&mut peer, "6.2-06", ord as usize)?;
    }
    Ok(())
}

pub(super) fn none(play: &mut Play) -> Result<(), Stop> {
    for request in [Vec::new(), header(4, 8)[..4].to_vec()] {
        let mut peer = play.connect_as("6.2-01", &saying(request))?;
        let data = heard(&mut peer)?;
        peer.check("6.2-01 +6.2-02", data.is_empty(), || {
            format!("a request without a header should be answered with none, {} came", hex(&data))
        });
        peer.negotiate(&Terms::default())?;
        reads_at_once(&mut peer, "6.2-01", 1, 16)?;
    }
    Ok(())
}

pub(super) fn zero(play: &mut Play) -> Result<(), Stop> {
    let asked = [(0, 0, "6.2-05 +6.1-02 +6.1-03"), (0, 4, "6.2-05"), (4, 0, "6.2-05")];
    for (ird, ord, statements) in asked {
        let id = play.open(&saying(header(ird, ord)))?;
        play.pass(Duration::from_secs(12));
        let failure = play.connect_failure(id);
        play.check(statements, failure.is_some(), || {
            format!("a request with IRD {ird} and ORD {ord} should be rejected, it was not within 12 s")
        });
        play.peer(id).not_connected("6.2-05");
    }
    Ok(())
}

pub(super) fn asked(play: &mut Play) -> Result<(), Stop> {
    for depth in [2, 5] {
        let mut peer = play.connect_as("6.2-07", &saying(header(depth, depth)))?;
        let data = heard(&mut peer)?;
        if !data.is_empty() {
            depths(&mut peer, &data)?;
        }
        reads(&mut peer, "6.2-07", depth as usize)?;
    }
    Ok(())
}
