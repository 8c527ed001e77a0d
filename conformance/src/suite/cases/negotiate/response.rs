//! How an initiator checks a Negotiate Response as a whole.

use std::time::Duration;

use smbd_core::error::ConnectError;
use smbd_core::wire::NtStatus;
use smbd_core::wire::status::{INSUFFICIENT_RESOURCES, NOT_SUPPORTED};

use super::empty_answer;
use crate::suite::rig::{Opening, Told};
use crate::suite::words::Words;
use crate::suite::{Data, Peer, Play, Response, Stop};

/// A response that breaks a rule of 3.1.5.7 ends the connection, and connect fails.
const BAD: &str = "3.1.5.7-09";

/// The connection ends, and whoever wanted it is told that it did not come about. A subject that goes on breaks `rule`.
fn fails(peer: &mut Peer<'_>, rule: &str) -> Result<Option<ConnectError>, Stop> {
    let ended = peer.ends_by(rule, BAD)?;
    Ok(if ended { peer.not_connected(BAD) } else { None })
}

/// Answers a request with a response that breaks a rule.
pub(super) fn refused_by_subject(play: &mut Play, rule: &str, response: &Response) -> Result<(), Stop> {
    let mut peer = play.connect()?;
    peer.asked("")?;
    peer.respond(response)?;
    fails(&mut peer, rule).map(|_| ())
}

pub(super) fn short(play: &mut Play) -> Result<(), Stop> {
    const SHORT: &str = "3.1.5.7-01 +2.2.2-01";
    // Data for an established connection, which this one is not yet.
    const DATA: &str = "3.1.5.5-02 +3.1.5.7-01 +2.2.2-01";
    let response = Response::default().encode(1024);
    let empty = Data::empty().encode(10, 0);
    let cut = [1, 16, 20, 31].map(|len| (SHORT, &response[..len]));
    for (rule, bytes) in cut.into_iter().chain([(DATA, &empty[..])]) {
        let mut peer = play.connect()?;
        peer.asked("")?;
        peer.post_receives(10)?;
        peer.say(bytes)?;
        fails(&mut peer, rule)?;
    }
    Ok(())
}

pub(super) fn long(play: &mut Play) -> Result<(), Stop> {
    // Where time is real, a client has to mount for each.
    let times = if play.is_real() { 2 } else { 25 };
    for len in [32, 33, 511, 512] {
        for _ in 0..times {
            let mut peer = play.connect_as("3.1.4.1-12", &Opening::default())?;
            peer.asked("")?;
            peer.respond_and_more(&Response::default(), &vec![0xFF; len - 32])?;
            peer.settle();
            // Where a few bytes too many are taken, it is for want of room that more are not.
            let statements =
                if len > 256 { "3.1.4.1-11 +2.2-03 +2.2-10" } else { "2.2-10 +2.2-03 +3.1.4.1-11" };
            peer.nothing_lost(statements);
            peer.goes_on(statements)?;
            peer.disconnect()?;
        }
    }
    Ok(())
}

/// As a refusal is sent: all zero but the version range and the reason.
fn refusal(status: NtStatus) -> Response {
    Response {
        negotiated_version: 0,
        credits_requested: 0,
        credits_granted: 0,
        status,
        max_read_write_size: 0,
        preferred_send_size: Some(0),
        max_receive_size: 0,
        max_fragmented_size: 0,
        ..Response::default()
    }
}

pub(super) fn status_is_told(play: &mut Play) -> Result<(), Stop> {
    let good_but_refused = Response { status: NOT_SUPPORTED, ..Response::default() };
    for response in [refusal(NOT_SUPPORTED), refusal(INSUFFICIENT_RESOURCES), good_but_refused] {
        let mut peer = play.connect()?;
        peer.asked("")?;
        peer.respond(&response)?;
        let Some(told) = fails(&mut peer, "3.1.5.7-08")? else { return Ok(()) };
        let status = response.status;
        peer.check("3.1.4.1-15 +2.2.2-15", told == ConnectError::Rejected { status }, || {
            format!("connect should fail with {status}, the upper layer was told: {told}")
        });
    }
    Ok(())
}

pub(super) fn bad_status(play: &mut Play) -> Result<(), Stop> {
    for status in [0xC000_00BB, 0xC000_009A, 0x0000_0001, 0x8000_0000] {
        let response = Response { status: NtStatus(status), ..Response::default() };
        refused_by_subject(play, "3.1.5.7-08", &response)?;
    }
    Ok(())
}

pub(super) fn other_version(play: &mut Play) -> Result<(), Stop> {
    for negotiated_version in [0, 0x00FF, 0x0101, 0x0001, 0xFFFF] {
        let response = Response { negotiated_version, ..Response::default() };
        refused_by_subject(play, "3.1.5.7-02 +2.2.2-08", &response)?;
    }
    Ok(())
}

pub(super) fn establishes(play: &mut Play) -> Result<(), Stop> {
    const SUCCEEDS: &str = "3.1.5.7-23 +3.1.4.1-15";
    let mut peer = play.connect()?;
    peer.asked("")?;
    peer.respond(&Response::default())?;
    let told = peer.until_told(Duration::from_secs(5), |told| matches!(told, Told::Established(_)));
    peer.check(SUCCEEDS, told, || "the upper layer should be told that there is a connection".into());
    peer.exchange("3.1.5.7-22 +3.1.5.8-01", 35, 100)?;
    let all = peer.told();
    let told: Vec<_> = all.iter().map(|(_, told)| told.clone()).filter(|told| !is_result(told)).collect();
    let versions: Vec<_> = told.iter().filter_map(version).collect();
    peer.check("3.1.5.7-10", versions.iter().all(|version| *version == 0x0100), || {
        format!("the version should be 0x0100, told was: {}", told.words())
    });
    peer.check(SUCCEEDS, told.len() == 1 && versions.len() == 1, || {
        format!(
            "the upper layer should be told once that there is a connection, it was told: {}",
            told.words()
        )
    });
    // DataOffset 0 and DataLength 1048576, in 32 bytes.
    peer.say(&Response::default().encode(1024))?;
    peer.ends("3.1.5.8-01 +3.1.5.5-05");

    // Read as data it is a probe: NegotiatedVersion is Flags, MaxVersion CreditsGranted, and there is nothing else.
    let probe = Response {
        negotiated_version: 1,
        credits_requested: 0,
        credits_granted: 0,
        max_read_write_size: 0,
        ..Response::default()
    };
    let mut peer = play.established()?;
    peer.initiators_message(Duration::from_secs(5))?;
    peer.post_receives(256)?;
    peer.say(&probe.encode(1024))?;
    empty_answer(&mut peer, "3.1.5.5-05 +3.1.1.1-01")?;
    peer.goes_on("3.1.5.5-05 +3.1.5.8-01")
}

/// The version of an announced connection; nothing of anything else.
const fn version(told: &Told) -> Option<u16> {
    if let Told::Established(all) = told { Some(all.protocol) } else { None }
}

/// Of what was commanded; nothing about the connection.
const fn is_result(told: &Told) -> bool {
    matches!(told, Told::Sent(..))
}
