//! How an initiator checks a Negotiate Response as a whole.

use std::time::Duration;

use smbd_core::Negotiated;
use smbd_core::error::ConnectError;
use smbd_core::wire::NtStatus;
use smbd_core::wire::status::{INSUFFICIENT_RESOURCES, NOT_SUPPORTED};

use crate::suite::rig::{Opening, Told};
use crate::suite::{Data, Peer, Play, Response, Stop};

/// The connection ends, and whoever wanted it is told that it did not come about.
pub(super) fn fails(peer: &mut Peer<'_>, statements: &str) -> Option<ConnectError> {
    peer.ends(statements);
    peer.not_connected(statements)
}

/// Answers a request with a response that should be found bad.
pub(super) fn refused_by_subject(play: &mut Play, statements: &str, response: &Response) -> Result<(), Stop> {
    let mut peer = play.connect()?;
    peer.asked("")?;
    peer.respond(response)?;
    fails(&mut peer, statements);
    Ok(())
}

pub(super) fn short(play: &mut Play) -> Result<(), Stop> {
    const ALL: &str = "2.2.2-01 3.1.5.5-02 3.1.5.7-01 3.1.5.7-09";
    let response = Response::default().encode(1024);
    let empty = Data::empty().encode(10, 0);
    for bytes in [&response[..1], &response[..16], &response[..20], &response[..31], &empty] {
        let mut peer = play.connect()?;
        peer.asked("")?;
        peer.post_receives(10)?;
        peer.say(bytes)?;
        fails(&mut peer, ALL);
    }
    Ok(())
}

pub(super) fn long(play: &mut Play) -> Result<(), Stop> {
    for len in [32, 33, 511, 512] {
        for _ in 0..25 {
            let mut peer = play.connect_as("3.1.4.1-12", &Opening::default())?;
            peer.asked("3.1.4.1-12")?;
            peer.respond_and_more(&Response::default(), &vec![0xFF; len - 32])?;
            peer.settle();
            peer.nothing_lost("2.2-03 3.1.4.1-11");
            peer.goes_on("2.2-03 2.2-10 3.1.4.1-11")?;
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
        let told = fails(&mut peer, "3.1.4.1-15 3.1.5.7-08 3.1.5.7-09");
        let status = response.status;
        peer.check("2.2.2-15 3.1.4.1-15", told == Some(ConnectError::Rejected { status }), || {
            format!("connect should fail with {status}, the upper layer was told {told:?}")
        });
    }
    Ok(())
}

pub(super) fn bad_status(play: &mut Play) -> Result<(), Stop> {
    for status in [0xC000_00BB, 0xC000_009A, 0x0000_0001, 0x8000_0000] {
        let response = Response { status: NtStatus(status), ..Response::default() };
        refused_by_subject(play, "3.1.5.7-08 3.1.5.7-09", &response)?;
    }
    Ok(())
}

pub(super) fn other_version(play: &mut Play) -> Result<(), Stop> {
    for negotiated_version in [0, 0x00FF, 0x0101, 0x0001, 0xFFFF] {
        let response = Response { negotiated_version, ..Response::default() };
        refused_by_subject(play, "2.2.2-08 3.1.5.7-02 3.1.5.7-09", &response)?;
    }
    Ok(())
}

pub(super) fn establishes(play: &mut Play) -> Result<(), Stop> {
    const SUCCEEDS: &str = "3.1.4.1-15 3.1.5.7-10 3.1.5.7-22 3.1.5.7-23";
    let mut peer = play.connect()?;
    let (request, _) = peer.asked("")?;
    peer.respond(&Response::default())?;
    let told = peer.until_told(Duration::from_secs(5), |told| matches!(told, Told::Established(_)));
    peer.check(SUCCEEDS, told, || "the upper layer should be told that there is a connection".into());
    let config = peer.upper()?.endpoint().connection().config().clone();
    let settled = Negotiated {
        protocol: 0x0100,
        max_send_size: request.preferred_send_size.min(1024),
        max_receive_size: request.max_receive_size.min(1024),
        max_fragmented_send_size: 131_072,
        max_fragmented_recv_size: request.max_fragmented_size,
        max_read_write_size: config.max_read_write_size.min(1 << 20),
        keepalive_interval: config.keepalive.map(|keepalive| keepalive.interval),
    };
    peer.exchange("3.1.5.7-22 3.1.5.8-01", 35, 100)?;
    let all = peer.told();
    let told: Vec<_> = all.iter().map(|(_, told)| told.clone()).filter(|told| !is_result(told)).collect();
    peer.check(SUCCEEDS, told == [Told::Established(settled)], || {
        format!("the upper layer should be told once of {settled:?}, it was told {told:?}")
    });
    // DataOffset 0 and DataLength 1048576, in 32 bytes.
    peer.say(&Response::default().encode(1024))?;
    peer.ends("3.1.5.4-01 3.1.5.5-05 3.1.5.8-01");

    // Read as data it is a probe: NegotiatedVersion is Flags, MaxVersion CreditsGranted, and there is nothing else.
    let probe = Response {
        negotiated_version: 1,
        credits_requested: 0,
        credits_granted: 0,
        max_read_write_size: 0,
        ..Response::default()
    };
    let mut peer = play.established()?;
    peer.expect_data("", Duration::from_secs(5))?;
    peer.post_receives(256)?;
    peer.say(&probe.encode(1024))?;
    let answer = peer.expect_data("3.1.1.1-01 3.1.5.5-05", Duration::from_secs(5))?;
    peer.check("3.1.1.1-01 3.1.5.4-01 3.1.5.8-01", answer.message.bytes.len() == 20, || {
        format!("an empty message should answer, {answer:?} came")
    });
    peer.goes_on("3.1.5.8-01")
}

/// Of what was commanded; nothing about the connection.
const fn is_result(told: &Told) -> bool {
    matches!(told, Told::Sent(..))
}
