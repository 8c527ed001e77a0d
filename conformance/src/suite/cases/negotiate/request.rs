//! How an acceptor checks a Negotiate Request, and how it reads its fields.

use std::time::Duration;

use smbd_core::wire::NegotiateResponse;
use smbd_core::wire::status::NOT_SUPPORTED;

use crate::suite::{Data, Peer, Play, Request, Response, Stop};

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
    peer.basic_check(request, &response, &message.bytes);
    Ok((peer, response, message.bytes))
}

/// Connects and sends a request, which should be refused.
fn refused<'p>(play: &'p mut Play, statements: &str, request: &Request) -> Result<Peer<'p>, Stop> {
    let mut peer = play.connect()?;
    peer.request(request)?;
    let (response, _) = peer.response(statements)?;
    let (min, max) = (request.min_version, request.max_version);
    peer.check(statements, response.status == NOT_SUPPORTED, || {
        format!(
            "versions 0x{min:04x} to 0x{max:04x} should get {NOT_SUPPORTED}, they get {}",
            response.status
        )
    });
    Ok(peer)
}

pub(super) fn refusal(play: &mut Play) -> Result<(), Stop> {
    const SENT: &str = "2.2.2-01 3.1.5.3-07 3.1.5.6-04";
    let request = versions(0x0101, 0x0101);
    let mut peer = play.connect()?;
    peer.request(&request)?;
    let (_, message) = peer.response(SENT)?;
    let bytes = &message.bytes;
    peer.check("2.2.2-01", bytes.len() == 32, || format!("32 bytes should come, {} came", bytes.len()));
    peer.field("3.1.5.3-02", bytes, ("MinVersion", 0..2), 0x0100);
    peer.field("3.1.5.3-03", bytes, ("MaxVersion", 2..4), 0x0100);
    peer.field("2.2.2-15 3.1.5.3-05 3.1.5.6-04", bytes, ("Status", 12..16), NOT_SUPPORTED.0);
    peer.same("3.1.5.3-06", bytes, &REFUSAL);
    peer.ends("3.1.5.3-08");
    let failures = peer.failures().to_vec();
    peer.check("3.1.5.3-08", failures.is_empty(), || {
        format!("the connection should be ended in good order, failures are {failures:?}")
    });
    let mut peer = play.connect()?;
    peer.request(&request)?;
    let (_, message) = peer.response(SENT)?;
    peer.same("3.1.5.3-06", &message.bytes, &REFUSAL);
    peer.disconnect()?;
    peer.ends("3.1.5.3-08");
    answered(play, "3.1.5.3-05", &Request::default()).map(|_| ())
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
        refused(play, "3.1.5.6-04", &request)?;
    }
    let mut peer = play.connect()?;
    peer.request(&all(Request::default()))?;
    peer.ends("3.1.5.6-09");
    Ok(())
}

pub(super) fn empty_ranges(play: &mut Play) -> Result<(), Stop> {
    for (min, max) in [(0x0101, 0x00FF), (0x0100, 0x00FF), (0x0101, 0x0100), (0xFFFF, 0x0000)] {
        let mut peer = refused(play, "3.1.5.6-03 3.1.5.6-04", &versions(min, max))?;
        peer.ends("3.1.5.6-04");
    }
    Ok(())
}

pub(super) fn reserved(play: &mut Play) -> Result<(), Stop> {
    const IGNORED: &str = "2.2-07 2.2.1-10";
    let (_, _, usual) = answered(play, "", &Request::default())?;
    for reserved in [0x0001, 0x0100, 0x8000, 0xFFFF] {
        let request = Request { reserved, ..Request::default() };
        let (mut peer, _, bytes) = answered(play, IGNORED, &request)?;
        peer.same(IGNORED, &bytes, &usual);
        peer.field("2.2-06 2.2.2-11 3.1.5.3-04", &bytes, ("Reserved", 6..8), 0);
    }
    Ok(())
}

pub(super) fn short(play: &mut Play) -> Result<(), Stop> {
    for len in [1, 4, 12, 19] {
        let mut peer = play.connect()?;
        peer.say(&Request::default().encode()[..len])?;
        peer.ends("2.2.1-01 3.1.5.6-01 3.1.5.6-02");
    }
    Ok(())
}

pub(super) fn long(play: &mut Play) -> Result<(), Stop> {
    const ALL: &str = "2.2-03 2.2-10 3.1.7.2-05";
    let request = Request::default();
    let (_, _, usual) = answered(play, "", &request)?;
    for len in [20, 21, 32, 511, 512] {
        let mut peer = play.connect()?;
        let mut bytes = peer.as_sent(&request).encode();
        bytes.resize(len, 0xFF);
        peer.say(&bytes)?;
        let (response, message) = peer.response(ALL)?;
        peer.basic_check(&request, &response, &message.bytes);
        peer.same(ALL, &message.bytes, &usual);
    }
    Ok(())
}

pub(super) fn first_message(play: &mut Play) -> Result<(), Stop> {
    const READ_AS_REQUEST: &str = "2.2-01 3.1.1.1-01 3.1.5.5-01 3.1.7.2-02";
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
    let (_, message) = peer.response(READ_AS_REQUEST)?;
    peer.same(READ_AS_REQUEST, &message.bytes, &REFUSAL);
    peer.ends(READ_AS_REQUEST);
    Ok(())
}

pub(super) fn second_request(play: &mut Play) -> Result<(), Stop> {
    const READ_AS_DATA: &str = "3.1.1.1-01 3.1.5.4-01 3.1.5.5-05 3.1.5.6-22 3.1.5.8-01";
    let mut peer = play.established()?;
    // DataOffset 1024 and DataLength 131072, in 20 bytes.
    peer.say(&Request::default().encode())?;
    peer.ends("2.2-01 3.1.5.5-05 3.1.5.8-01");

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
    let answer = peer.expect_data(READ_AS_DATA, Duration::from_secs(5))?;
    let header = answer.header;
    peer.check(READ_AS_DATA, answer.message.bytes.len() == 20 && header.credits_requested >= 1, || {
        format!("an empty message should answer, {answer:?} came")
    });
    peer.goes_on("2.2-01")
}

pub(super) fn largest(play: &mut Play) -> Result<(), Stop> {
    let request = Request {
        credits_requested: u16::MAX,
        preferred_send_size: 8136,
        max_receive_size: u32::MAX,
        max_fragmented_size: u32::MAX,
        ..versions(0, u16::MAX)
    };
    let (mut peer, response, _) = answered(play, "3.1.5.6-05 3.1.5.6-18", &request)?;
    peer.check("3.1.5.6-18", response.status.is_success(), || format!("Status is {}", response.status));
    peer.post_receives(255)?;
    let question = peer.message_for(15, 131_072, 130_000)?;
    peer.send_fragments(&question)?;
    let echo = peer.answered("3.1.5.6-15", &question)?;
    let longest = echo.fragments.iter().map(|seen| seen.message.bytes.len()).max().unwrap_or_default();
    let most = response.preferred_send_size;
    peer.check("3.1.5.6-14", longest <= most as usize, || {
        format!("no message should be longer than PreferredSendSize, {most}; one has {longest} bytes")
    });
    Ok(())
}

pub(super) fn smallest(play: &mut Play) -> Result<(), Stop> {
    const CUT: &str = "3.1.5.4-13 3.1.5.4-15";
    let request = Request {
        credits_requested: 1,
        preferred_send_size: 0,
        max_receive_size: 128,
        max_fragmented_size: 131_072,
        exact: true,
        ..Request::default()
    };
    let (mut peer, response, bytes) = answered(play, "3.1.5.6-07 3.1.5.6-08", &request)?;
    peer.check("3.1.5.6-07 3.1.5.6-08", response.status.is_success(), || {
        format!("Status should be 0, it is {}", response.status)
    });
    peer.field("3.1.5.6-14", &bytes, ("PreferredSendSize", 20..24), 128);
    peer.field("3.1.5.6-11", &bytes, ("MaxReceiveSize", 24..28), 128);
    peer.post_receives(10)?;
    let question = peer.message_for(16, 2000, 2000)?;
    for fragment in Data::fragments(&question, 128) {
        peer.send(&fragment)?;
    }
    let echo = peer.answered(CUT, &question)?;
    let mut left = echo.payload.len();
    for seen in &echo.fragments {
        let (len, came) = (left.min(104), seen.message.bytes.len());
        left -= len;
        peer.check(CUT, seen.header.data_length as usize == len && came == 24 + len, || {
            format!("a fragment of {len} bytes in a message of {} should come, {seen:?} came", 24 + len)
        });
    }
    Ok(())
}
