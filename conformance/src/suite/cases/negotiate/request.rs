//! How an acceptor checks a Negotiate Request, and how it reads its fields.

use std::time::Duration;

use smbd_core::wire::NegotiateResponse;
use smbd_core::wire::status::NOT_SUPPORTED;

use super::empty_answer;
use crate::suite::words::Words;
use crate::suite::{Data, Next, Peer, Play, Request, Response, Stop};

/// A request with these versions.
fn versions(min_version: u16, max_version: u16) -> Request {
    Request { min_version, max_version, ..Request::default() }
}

/// A refusal: MinVersion and MaxVersion, 8 zero bytes, Status, 16 zero bytes.
const REFUSAL: [u8; 32] =
    [0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0xBB, 0, 0, 0xC0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

/// Connects, sends a request and looks at the response; that it comes is what `statements` say.
fn answered<'p>(
    play: &'p mut Play,
    statements: &str,
    request: &Request,
) -> Result<(Peer<'p>, NegotiateResponse, Vec<u8>), Stop> {
    let mut peer = play.connect()?;
    peer.request(request)?;
    let (response, message) = peer.response(statements)?;
    peer.basic_check(statements, request, &response, &message.bytes)?;
    Ok((peer, response, message.bytes))
}

/// Connects and sends a request, which should be refused: one that is taken breaks `taken`.
fn refused<'p>(play: &'p mut Play, taken: &str, request: &Request) -> Result<Peer<'p>, Stop> {
    let mut peer = play.connect()?;
    peer.request(request)?;
    let (response, _) = peer.response(REFUSED)?;
    let (min, max, status) = (request.min_version, request.max_version, response.status);
    let text =
        || format!("versions 0x{min:04x} to 0x{max:04x} should get {NOT_SUPPORTED}, they get {status}");
    peer.require(taken, !status.is_success(), text)?;
    peer.check(REFUSED, status == NOT_SUPPORTED, text);
    Ok(peer)
}

/// Whose versions do not fit is refused, and with which status.
const REFUSED: &str = "3.1.5.6-04";

pub(super) fn refusal(play: &mut Play) -> Result<(), Stop> {
    const SENT: &str = "3.1.5.3-07 +3.1.5.6-04";
    let request = versions(0x0101, 0x0101);
    let mut peer = play.connect()?;
    peer.request(&request)?;
    let (_, message) = peer.response(SENT)?;
    let bytes = &message.bytes;
    peer.check("2.2.2-01", bytes.len() == 32, || format!("32 bytes should come, {} came", bytes.len()));
    let min = peer.field("3.1.5.3-02", bytes, ("MinVersion", 0..2), 0x0100);
    let max = peer.field("3.1.5.3-03", bytes, ("MaxVersion", 2..4), 0x0100);
    let status = peer.field("3.1.5.6-04 +2.2.2-15 +3.1.5.3-05", bytes, ("Status", 12..16), NOT_SUPPORTED.0);
    // The other fields.
    if min && max && status && bytes.len() == 32 {
        peer.same("3.1.5.3-06", bytes, &REFUSAL);
    }
    peer.must_end("3.1.5.3-08");
    let failures = peer.failures().to_vec();
    peer.check("3.1.5.3-08", failures.is_empty(), || {
        format!("the connection should be ended in good order, what failed: {}", failures.words())
    });
    let mut peer = play.connect()?;
    peer.request(&request)?;
    peer.response(SENT)?;
    peer.disconnect()?;
    peer.must_end("3.1.5.3-08");
    answered(play, "3.1.5.6-18 +3.1.5.3-05", &Request::default()).map(|_| ())
}

pub(super) fn version_first(play: &mut Play) -> Result<(), Stop> {
    let bad = versions(0x0101, 0x0101);
    let all =
        |request| Request { credits_requested: 0, max_receive_size: 0, max_fragmented_size: 0, ..request };
    for request in [
        Request { credits_requested: 0, ..bad },
        Request { max_receive_size: 0, ..bad },
        Request { max_fragmented_size: 0, ..bad },
        all(bad),
    ] {
        refused(play, "3.1.5.6-03 +3.1.5.6-04", &request)?;
    }
    let mut peer = play.connect()?;
    peer.request(&all(Request::default()))?;
    peer.must_end("3.1.5.6-09");
    Ok(())
}

pub(super) fn empty_ranges(play: &mut Play) -> Result<(), Stop> {
    for (min, max) in [(0x0101, 0x00FF), (0x0100, 0x00FF), (0x0101, 0x0100), (0xFFFF, 0x0000)] {
        refused(play, "3.1.5.6-03", &versions(min, max))?;
    }
    Ok(())
}

/// A response without CreditsGranted, which may depend on what was granted before.
fn but_credits(mut response: Vec<u8>) -> Vec<u8> {
    if let Some(granted) = response.get_mut(10..12) {
        granted.fill(0);
    }
    response
}

pub(super) fn reserved(play: &mut Play) -> Result<(), Stop> {
    const IGNORED: &str = "2.2-07 2.2.1-10";
    let (_, _, usual) = answered(play, "3.1.5.6-18", &Request::default())?;
    for reserved in [0x0001, 0x0100, 0x8000, 0xFFFF] {
        let request = Request { reserved, ..Request::default() };
        let (mut peer, _, bytes) = answered(play, IGNORED, &request)?;
        peer.same(IGNORED, &but_credits(bytes), &but_credits(usual.clone()));
    }
    Ok(())
}

pub(super) fn short(play: &mut Play) -> Result<(), Stop> {
    for len in [1, 4, 12, 19] {
        let mut peer = play.connect()?;
        peer.say(&Request::default().encode()[..len])?;
        peer.ends_by("3.1.5.6-01 +2.2.1-01", "3.1.5.6-02")?;
    }
    Ok(())
}

pub(super) fn long(play: &mut Play) -> Result<(), Stop> {
    let request = Request::default();
    let (_, _, usual) = answered(play, "3.1.5.6-18", &request)?;
    for len in [20, 21, 32, 511, 512] {
        let mut peer = play.connect()?;
        let mut bytes = peer.as_sent(&request).encode();
        bytes.resize(len, 0xFF);
        peer.say(&bytes)?;
        // Where a few bytes too many are taken, it is for want of room that more are not.
        let statements = if len > 256 { "3.1.7.2-05 +2.2-03" } else { "2.2-10" };
        let (response, message) = peer.response(statements)?;
        peer.basic_check(statements, &request, &response, &message.bytes)?;
        peer.same("2.2-10", &but_credits(message.bytes), &but_credits(usual.clone()));
    }
    Ok(())
}

pub(super) fn first_message(play: &mut Play) -> Result<(), Stop> {
    const READ_AS_REQUEST: &str = "3.1.5.5-01 +2.2-01 +3.1.1.1-01 +3.1.7.2-02";
    // With the version of a request, and CreditsRequested 0.
    let good_version = Data::empty().encode(0x0100, 0x0100);
    let response = Response::default().encode(1024);
    for first in [good_version, response] {
        let mut peer = play.connect()?;
        peer.say(&first)?;
        peer.ends(READ_AS_REQUEST);
    }
    // MinVersion 0x000A, MaxVersion 0.
    let mut peer = play.connect()?;
    peer.say(&Data::empty().encode(10, 0))?;
    let (response, _) = peer.response(READ_AS_REQUEST)?;
    peer.check(READ_AS_REQUEST, !response.status.is_success(), || {
        "versions 0x000a to 0x0000 should be refused, Status is 0".into()
    });
    Ok(())
}

pub(super) fn second_request(play: &mut Play) -> Result<(), Stop> {
    const READ_AS_DATA: &str = "3.1.5.5-05 +3.1.1.1-01 +3.1.5.4-01 +3.1.5.6-22 +3.1.5.8-01";
    let mut peer = play.established()?;
    peer.settle();
    // DataOffset 1024 and DataLength 131072, in 20 bytes.
    peer.say(&Request::default().encode())?;
    let next = peer.next(Duration::from_secs(5));
    let again = matches!(&next, Next::Message(message) if NegotiateResponse::parse(&message.bytes).is_ok());
    peer.require("2.2-01", !again, || {
        format!("a Negotiate Response should not come again, {}", next.words())
    })?;
    peer.ends("3.1.5.8-01 +3.1.5.5-05");

    let probe = Request {
        reserved: 1,
        preferred_send_size: 0,
        max_receive_size: 0,
        max_fragmented_size: 0,
        ..Request::default()
    };
    let mut peer = play.established()?;
    // MaxVersion is CreditsGranted: 256.
    peer.post_receives(256)?;
    peer.say(&probe.encode())?;
    empty_answer(&mut peer, READ_AS_DATA)?;
    peer.goes_on(READ_AS_DATA)
}

pub(super) fn largest(play: &mut Play) -> Result<(), Stop> {
    let request = Request {
        credits_requested: u16::MAX,
        preferred_send_size: 8136,
        max_receive_size: u32::MAX,
        max_fragmented_size: u32::MAX,
        ..versions(0, u16::MAX)
    };
    let (mut peer, response, _) = answered(play, "3.1.5.6-18 +3.1.5.6-05", &request)?;
    peer.post_receives(255)?;
    let question = peer.message_for(15, 131_072, 130_000)?;
    peer.send_fragments(&question)?;
    let echo = peer.answered("3.1.5.8-17 +3.1.5.6-15", &question)?;
    let longest = echo.fragments.iter().map(|seen| seen.message.bytes.len()).max().unwrap_or_default();
    let most = response.preferred_send_size;
    peer.check("3.1.5.4-13 +3.1.5.6-14", longest <= most as usize, || {
        format!("no message should be longer than PreferredSendSize, {most}; one has {longest} bytes")
    });
    Ok(())
}

pub(super) fn smallest(play: &mut Play) -> Result<(), Stop> {
    let request = Request {
        credits_requested: 1,
        preferred_send_size: 0,
        max_receive_size: 128,
        max_fragmented_size: 131_072,
        exact: true,
        ..Request::default()
    };
    let (mut peer, response, bytes) = answered(play, "3.1.5.6-18 +3.1.5.6-07 +3.1.5.6-08", &request)?;
    let receives = response.max_receive_size;
    peer.shrinks_only_here(receives)?;
    let statements = if receives < 128 { "3.1.5.6-11" } else { "3.1.5.6-10" };
    peer.field(&format!("{statements} +3.1.5.6-11"), &bytes, ("MaxReceiveSize", 24..28), 128);
    peer.post_receives(10)?;
    let question = peer.message_for(16, 2000, 2000)?;
    for fragment in Data::fragments(&question, 128) {
        peer.send(&fragment)?;
    }
    let echo = peer.answered("3.1.5.8-17", &question)?;
    let mut left = echo.payload.len();
    for seen in &echo.fragments {
        let (len, came) = (seen.header.data_length as usize, seen.message.bytes.len());
        // What it has announced to send at most is settled: it may be wrong, or it may not be heeded.
        let rule = if response.preferred_send_size > 128 { "3.1.5.6-14" } else { "3.1.5.4-13" };
        peer.check(&format!("{rule} +3.1.5.6-14 +3.1.5.4-13"), came <= 128, || {
            format!("a message has 128 bytes at most, which are taken, {} came", seen.words())
        });
        peer.check("3.1.5.4-15", len >= left.min(104), || {
            format!("a fragment of {} bytes should come, {} came", left.min(104), seen.words())
        });
        left = left.saturating_sub(len);
    }
    Ok(())
}
