//! Microsoft's cases of negotiation.

use std::time::Duration;

use smbd_core::Params;
use smbd_core::wire::NegotiateResponse;
use smbd_core::wire::status::{INSUFFICIENT_RESOURCES, NOT_SUPPORTED};

use super::Entry;
use crate::suite::words::Words;
use crate::suite::{Next, Peer, Play, Request, Stop};

/// The cases of this group.
pub(super) const CASES: &[Entry] = &[
    Entry::new("BVT_SmbdNegotiate_Basic", basic),
    Entry::new("SmbdNegotiate_PreferredSendSizeWithZero", preferred_zero),
    Entry::new("SmbdNegotiate_PreferredSendSizeLessThan128", preferred_below_128),
    Entry::new("SmbdNegotiate_PreferredSendSizeMaxValue", preferred_max),
    Entry::new("SmbdNegotiate_Redundancy", redundancy),
    Entry::new("SmbdNegotiate_DisconnectAfterNegotiate", disconnect_after),
    Entry::new("SmbdNegotiate_UncompletedMessage", uncompleted),
    Entry::new("SmbdNegotiate_VersionRangeNotCover0x0100_LessThanMinVersion", |play| {
        versions_refused(play, "+2.2.1-02", (0x0101, 0xFFFF))
    }),
    Entry::new("SmbdNegotiate_VersionRangeNotCover0x0100_LargerThanMaxVersion", |play| {
        versions_refused(play, "+2.2.1-04", (0x0000, 0x00FF))
    }),
    Entry::new("SmbdNegotiate_VersionRangeCover0x0100_EqualMinVersion", |play| {
        versions_taken(play, "3.1.5.6-05", (0x0100, 0xFFFF))
    }),
    Entry::new("SmbdNegotiate_VersionRangeCover0x0100_EqualMaxVersion", |play| {
        versions_taken(play, "3.1.5.6-05", (0x0000, 0x0100))
    }),
    Entry::new("SmbdNegotiate_VersionRangeCover0x0100_InMiddle", |play| {
        versions_taken(play, "3.1.5.6-05", (0x00FF, 0x0101))
    }),
    Entry::new("SmbdNegotiate_VersionRangeCover0x0100_EqualMinVersionAndMaxVersion", |play| {
        versions_taken(play, "+2.2.2-07", (0x0100, 0x0100))
    }),
    Entry::new("SmbdNegotiate_NegativeParameter_CreditsRequested", credits_requested),
    Entry::new("SmbdNegotiate_NegativeParameter_MaxReceiveSize", max_receive_size),
    Entry::new("SmbdNegotiate_NegativeParameter_MaxFragmentedSize", max_fragmented_size),
    Entry::new("SmbdNegotiate_NegotiationTimer", timer),
    Entry::new("SmbdNegotiate_NegotiationTimer_Timeout", timeout).with(timer_of_5_s),
];

/// Connects, sends a request that breaks no rule, and looks at the response; that it comes and accepts is what `statements`
/// say. That the rest of it is as it should be is checked, too.
fn answered<'p>(
    play: &'p mut Play,
    statements: &str,
    request: &Request,
) -> Result<(Peer<'p>, NegotiateResponse), Stop> {
    let mut peer = play.connect()?;
    peer.request(request)?;
    let (response, message) = peer.response(statements)?;
    peer.basic_check(statements, request, &response, &message.bytes)?;
    Ok((peer, response))
}

fn basic(play: &mut Play) -> Result<(), Stop> {
    let request = Request::default();
    let mut peer = play.connect()?;
    peer.request(&request)?;
    let (response, message) = peer.response("3.1.5.3-16")?;
    peer.check("2.2.2-01 +2.2-03", message.bytes.len() == 32, || {
        format!("a Negotiate Response has 32 bytes, {} came", message.bytes.len())
    });
    peer.basic_check("3.1.5.6-18", &request, &response, &message.bytes)
}

/// MaxReceiveSize of the response to a request with this PreferredSendSize should be `wanted`.
fn preferred(play: &mut Play, shown: &str, (asked, wanted): (u32, u32)) -> Result<(), Stop> {
    let request = Request { preferred_send_size: asked, ..Request::default() };
    let (mut peer, response) = answered(play, "3.1.5.6-18", &request)?;
    let got = response.max_receive_size;
    peer.shrinks_only_here(got)?;
    let broken = if got < RECEIVE_SIZE_MIN { "3.1.5.6-11" } else { "3.1.5.6-10" };
    peer.check(&format!("{broken} {shown}"), got == wanted, || {
        format!("for PreferredSendSize {asked} MaxReceiveSize should be {wanted}, it is {got}")
    });
    Ok(())
}

fn preferred_zero(play: &mut Play) -> Result<(), Stop> {
    preferred(play, "+2.2.1-12 +3.1.5.3-14 +3.1.5.6-11", (0, 128))
}

fn preferred_below_128(play: &mut Play) -> Result<(), Stop> {
    for asked in [127, 128] {
        preferred(play, "+3.1.5.3-14 +3.1.5.6-10 +3.1.5.6-11", (asked, 128))?;
    }
    Ok(())
}

const RECEIVE_SIZE_MIN: u32 = 128;
/// What Windows Server 2012 R2 and later take at most.
const WINDOWS_MOST: u32 = 8136;

fn preferred_max(play: &mut Play) -> Result<(), Stop> {
    const ALL: &str = "+2.2.1-12 +3.1.5.6-10";
    let asking = |preferred_send_size| Request { preferred_send_size, ..Request::default() };
    let mut peer = play.connect()?;
    peer.request(&asking(u32::MAX))?;
    let (mut response, mut message) = peer.response("2.2-05")?;
    let mut asked = u32::MAX;
    if response.status == INSUFFICIENT_RESOURCES {
        asked = WINDOWS_MOST;
        peer = play.connect()?;
        peer.request(&asking(asked))?;
        (response, message) = peer.response("3.1.5.6-18")?;
    }
    peer.basic_check("3.1.5.6-18", &asking(asked), &response, &message.bytes)?;
    let own = response.max_receive_size;
    peer.shrinks_only_here(own)?;
    if let Some(upper) = peer.upper_if_seen() {
        let configured = upper.endpoint().connection().config().max_receive_size;
        peer.check("3.1.5.3-14", own == configured, || {
            format!("MaxReceiveSize should be the subject's own, {configured}, it is {own}")
        });
    }
    // Whatever it is, the subject sticks to it: a little less is what it shrinks to, as much is what it has.
    preferred(play, ALL, (own, own))?;
    if own > 128 { preferred(play, ALL, (own - 1, own - 1)) } else { Ok(()) }
}

fn redundancy(play: &mut Play) -> Result<(), Stop> {
    const ALL: &str = "+2.2-03 +2.2-10 +3.1.7.2-05";
    let request = Request::default();
    // Where a byte too many is, it is not for want of room that 512 bytes are not answered.
    followed(play, "2.2-10", &request, 21)?;
    let mut peer = followed(play, "3.1.7.2-05", &request, 512)?;
    peer.check(ALL, true, String::new);
    peer.disconnect()
}

/// Sends a request followed by zero bytes, so many in all, and looks at the response; that it comes is what `statements` say.
fn followed<'p>(
    play: &'p mut Play,
    statements: &str,
    request: &Request,
    len: usize,
) -> Result<Peer<'p>, Stop> {
    let mut peer = play.connect()?;
    let mut bytes = peer.as_sent(request).encode();
    bytes.resize(len, 0);
    peer.say(&bytes)?;
    let (response, message) = peer.response(statements)?;
    peer.basic_check(statements, request, &response, &message.bytes)?;
    Ok(peer)
}

fn disconnect_after(play: &mut Play) -> Result<(), Stop> {
    let (mut peer, _) = answered(play, "", &Request::default())?;
    peer.disconnect()?;
    let mut again = play.connect_as("3.1.7.2-04 +3.1.7.1-02", &crate::suite::rig::Opening::default())?;
    again.request(&Request::default())?;
    again.response("3.1.7.1-02").map(|_| ())
}

fn uncompleted(play: &mut Play) -> Result<(), Stop> {
    let request = Request::default();
    let mut peer = play.connect()?;
    peer.say(&request.encode()[..19])?;
    peer.ends_by("3.1.5.6-01", "3.1.5.6-02")?;
    answered(play, "+3.1.5.6-01", &request).map(|_| ())
}

fn versions_refused(play: &mut Play, field: &str, (min, max): (u16, u16)) -> Result<(), Stop> {
    let request = Request { min_version: min, max_version: max, ..Request::default() };
    let mut peer = play.connect()?;
    peer.request(&request)?;
    let (response, _) = peer.response("3.1.5.6-04")?;
    let status = response.status;
    let text =
        || format!("versions 0x{min:04x} to 0x{max:04x} should get {NOT_SUPPORTED}, they get {status}");
    peer.check(&format!("3.1.5.6-03 +1.7-02 {field}"), !status.is_success(), text);
    peer.check("3.1.5.6-04 +3.1.5.3-05", status.is_success() || status == NOT_SUPPORTED, text);
    if !status.is_success() {
        peer.must_end("3.1.5.3-08");
    }
    Ok(())
}

fn versions_taken(play: &mut Play, statements: &str, (min, max): (u16, u16)) -> Result<(), Stop> {
    let request = Request { min_version: min, max_version: max, ..Request::default() };
    let (mut peer, _) = answered(play, "3.1.5.6-03", &request)?;
    peer.post_receives(10)?;
    peer.exchange(statements, 1, 500).map(|_| ())
}

fn credits_requested(play: &mut Play) -> Result<(), Stop> {
    let asking = |credits_requested| Request { credits_requested, ..Request::default() };
    let mut peer = play.connect()?;
    peer.request(&asking(0))?;
    peer.ends_by("3.1.5.6-06", "3.1.5.6-09")?;
    for credits in [1, 65535] {
        answered(play, "3.1.5.6-06 +2.2.1-11", &asking(credits))?;
    }
    Ok(())
}

fn max_receive_size(play: &mut Play) -> Result<(), Stop> {
    let offering = |max_receive_size| Request { max_receive_size, ..Request::default() };
    let mut peer = play.connect()?;
    peer.request(&offering(127))?;
    peer.ends_by("3.1.5.6-07", "3.1.5.6-09")?;
    answered(play, "3.1.5.6-07 +2.2.1-13 +3.1.5.3-13", &offering(128))?;
    answered(play, "2.2-05", &offering(u32::MAX)).map(|_| ())
}

fn max_fragmented_size(play: &mut Play) -> Result<(), Stop> {
    let offering = |max_fragmented_size| Request { max_fragmented_size, exact: true, ..Request::default() };
    let mut peer = play.connect()?;
    peer.request(&offering(131_071))?;
    peer.ends_by("3.1.5.6-08", "3.1.5.6-09")?;
    for (size, statements) in [(131_072, "3.1.5.6-08 +2.2.1-14"), (u32::MAX, "2.2-05")] {
        answered(play, statements, &offering(size))?;
    }
    Ok(())
}

fn timer(play: &mut Play) -> Result<(), Stop> {
    let mut peer = play.connect()?;
    peer.play().pass(Duration::from_secs(4));
    let request = Request {
        credits_requested: 255,
        preferred_send_size: 1364,
        max_receive_size: 8192,
        ..Request::default()
    };
    peer.request(&request)?;
    let (response, _) = peer.response("3.1.7.2-03")?;
    peer.accepted("3.1.7.2-03", &response)
}

/// The timer of an initiator, and some seconds more.
const LONG_TIMER: Duration = Duration::from_secs(132);

fn timer_of_5_s(params: &mut Params) {
    params.passive_negotiation_timeout = Duration::from_secs(5);
}

fn timeout(play: &mut Play) -> Result<(), Stop> {
    const ENDS: &str = "3.1.2.1-01 3.1.6.1-01";
    let mut peer = play.connect()?;
    let made = peer.play().now();
    peer.quiet_for("3.1.7.2-03", Duration::from_secs(4));
    let in_time = peer.down_within(made, Duration::from_secs(17));
    // Of another timer it is known how long it is when it expires.
    let down = in_time || peer.down_within(made, LONG_TIMER);
    let since = peer.since(made, "it was made");
    let statements = if down { "3.1.7.2-03" } else { ENDS };
    peer.check(&format!("{statements} +3.1.2.1-01 +3.1.6.1-01"), in_time, || {
        format!("the connection should be down 17 s after it was made, {since}")
    });
    let said = peer.next(Duration::ZERO);
    let spoke = matches!(said, Next::Message(_));
    peer.check("3.1.5.3-01", !spoke, || {
        format!("no message should come without a request, {}", said.words())
    });
    answered(play, "", &Request::default()).map(|_| ())
}
