//! The answer of an acceptor, and when data may follow.

use std::time::Duration;

use smbd_core::wire::NegotiateResponse;

use crate::suite::basic::Duties;
use crate::suite::layout::of_response;
use crate::suite::rig::{Opening, SENDS_MAX};
use crate::suite::words::Words;
use crate::suite::{Data, Next, Play, Request, Stop, pattern};

/// What it takes beyond the values themselves: the first message, in answer to a good request.
const ANSWER: &str = "3.1.5.3-01";

pub(super) fn own_values(play: &mut Play) -> Result<(), Stop> {
    for (offered, preferred_send_size, max_receive_size) in
        [((4000, 4000), 2000, 3000), ((1500, 1700), 1700, 1500)]
    {
        let request =
            Request { preferred_send_size: offered.0, max_receive_size: offered.1, ..Request::default() };
        let mut peer = play.connect()?;
        peer.request(&request)?;
        let (response, message) = peer.response(ANSWER)?;
        peer.accepted("3.1.5.6-18", &response)?;
        // What nobody may say has rules of its own.
        let duties = Duties::of_response(&request, &response);
        let receives = match duties.max_receive_size {
            "3.1.5.3-14" if max_receive_size < 3000 => "3.1.5.6-10 +3.1.5.3-14",
            other => other,
        };
        let granted = u32::from(response.credits_granted.min(10));
        peer.layout(
            &message.bytes,
            &[
                of_response::MIN_VERSION.holds("", 0x0100),
                of_response::MAX_VERSION.holds("", 0x0100),
                of_response::NEGOTIATED_VERSION.holds("3.1.5.3-09 +3.1.5.6-12", 0x0100),
                of_response::RESERVED.holds("", 0),
                of_response::CREDITS_REQUESTED.holds(duties.credits_requested, 77),
                of_response::CREDITS_GRANTED.holds("", granted),
                of_response::STATUS.holds("", 0),
                of_response::MAX_READ_WRITE_SIZE.holds("3.1.5.3-12", 5_000_000),
                of_response::PREFERRED_SEND_SIZE.holds(duties.preferred_send_size, preferred_send_size),
                of_response::MAX_RECEIVE_SIZE.holds(receives, max_receive_size),
                of_response::MAX_FRAGMENTED_SIZE.holds(duties.max_fragmented_size, 200_000),
            ],
        );
    }
    Ok(())
}

pub(super) fn grants_are_posted(play: &mut Play) -> Result<(), Stop> {
    for asked in [1, 2, 10, 255, u16::MAX] {
        let mut peer = play.connect()?;
        peer.request(&Request { credits_requested: asked, ..Request::default() })?;
        let (response, _) = peer.response("3.1.5.6-18")?;
        peer.accepted("3.1.5.6-18", &response)?;
        let granted = response.credits_granted;
        peer.check("3.1.5.6-16", granted > 0, || "CreditsGranted should be 1 at least, it is 0".into());
        peer.check("3.1.5.6-13 +2.2.2-14", granted <= asked, || {
            format!("CreditsGranted should be {asked} at most, which was asked for, it is {granted}")
        });
        peer.post_receives(10)?;
        // All that the script's device can have under way.
        for _ in 0..granted.min(SENDS_MAX) {
            peer.send_now(&Data::empty())?;
        }
        peer.settle();
        if granted > 0 {
            peer.nothing_lost("3.1.5.3-11");
            peer.goes_on("3.1.5.3-11")?;
        }
    }
    Ok(())
}

pub(super) fn does_not_speak_first(play: &mut Play) -> Result<(), Stop> {
    let mut peer = play.connect()?;
    // No credits, nothing to send, no keepalive: it waits.
    peer.quiet("3.1.7.2-02 +3.1.7.2-07 +3.1.7.2-08 +3.1.7.2-09");
    peer.request(&Request::default())?;
    let (response, message) = peer.response("3.1.5.3-01 +3.1.7.2-02")?;
    peer.accepted("3.1.5.3-01", &response)?;
    peer.check("2.2.2-01", message.bytes.len() == 32, || {
        format!("a Negotiate Response has 32 bytes, {} came", message.words())
    });
    peer.post_receives(10)?;
    peer.send(&Data::empty().granting(10))?;
    for seen in peer.all_within("3.1.7.2-09", Duration::from_secs(3))? {
        let header = seen.header;
        peer.check("3.1.7.2-09", header.data_length == 0 && header.remaining_data_length == 0, || {
            format!("nothing was given to send, a message with data came: {}", seen.words())
        });
        peer.check("3.1.7.2-07", header.flags.0 == 0, || {
            format!("a keepalive response is not wanted yet, Flags are 0x{:04X}", header.flags.0)
        });
    }
    Ok(())
}

pub(super) fn data_at_once(play: &mut Play) -> Result<(), Stop> {
    const ALL: &str = "3.1.5.6-22 +2.2-02 +3.1.5.6-19";
    for round in 0..100 {
        let mut peer = play.connect()?;
        peer.post_receives(10)?;
        peer.request(&Request::default())?;
        let (response, _) = peer.response("")?;
        peer.accepted("", &response)?;
        let question = peer.message(round, 500)?;
        peer.send_now(&Data::of(&question))?;
        peer.answered(ALL, &question)?;
        peer.disconnect()?;
    }
    Ok(())
}

/// How often the message may come late in real time: behind the response it has a credit, and nothing is shown.
const LATE_MAX: usize = 5;

pub(super) fn data_too_early(play: &mut Play) -> Result<(), Stop> {
    let late_max = if play.is_real() { LATE_MAX } else { 0 };
    for tried in 0..=late_max {
        if is_early_data_refused(play, tried == late_max)? {
            break;
        }
    }
    let mut peer = play.connect()?;
    peer.request(&Request::default())?;
    let (response, message) = peer.response("")?;
    peer.basic_check("3.1.5.6-18", &Request::default(), &response, &message.bytes)
}

/// Sends data behind the request. `false`: they may have come behind the response as well, and this was not the last try.
fn is_early_data_refused(play: &mut Play, is_last: bool) -> Result<bool, Stop> {
    let mut peer = play.connect()?;
    peer.post_receives(10)?;
    peer.request(&Request::default())?;
    peer.send_now(&Data::of(&pattern(12, 100)))?;
    let until = peer.last_said().saturating_add(Duration::from_secs(12));
    peer.play().pass(Duration::from_secs(1));
    if !peer.failures().is_empty() && !peer.is_down() {
        // Refused for want of a receive. The device of the subject learns no sooner that the script's has given up than
        // its own messages time out, 17 s with rxe.
        peer.disconnect()?;
    }
    let mut responded = false;
    loop {
        let left = until.saturating_since(peer.play().now());
        let Next::Message(message) = peer.next(left) else { break };
        // A response may have been on its way already.
        let response = NegotiateResponse::parse(&message.bytes).is_ok() && message.bytes.len() == 32;
        if responded && !response && !is_last {
            peer.disconnect()?;
            return Ok(false);
        }
        responded |= response;
        peer.check("3.1.5.8-08", response, || {
            format!("data without a credit should not be taken, {} came", message.words())
        });
    }
    let down = peer.is_down();
    if responded && !down && !is_last {
        peer.disconnect()?;
        return Ok(false);
    }
    let from = peer.last_said();
    let since = peer.since(from, "data without a credit were sent");
    peer.check("3.1.5.8-08", down, || format!("the connection should be down after 12 s, {since}"));
    Ok(true)
}

pub(super) fn two_connections(play: &mut Play) -> Result<(), Stop> {
    const OWN: &str = "3.1.7.2-01 +1.7-03";
    // Not the least that may be: that is for others.
    const LITTLE: u32 = 256;
    let small = Request { max_receive_size: LITTLE, credits_requested: 1, ..Request::default() };
    let mut peer = play.connect()?;
    peer.request(&Request::default())?;
    let (alone, _) = peer.response("")?;
    peer.disconnect()?;
    let a = play.connect_as("3.1.7.2-04", &Opening::default())?.id();
    let b = play.connect_as("3.1.7.2-04", &Opening::default())?.id();
    for (id, request) in [(a, small), (b, Request::default())] {
        play.peer(id).request(&request)?;
    }
    let (on_a, _) = play.peer(a).response("3.1.7.2-01")?;
    let (on_b, _) = play.peer(b).response("3.1.7.2-01")?;
    play.peer(a).accepted("3.1.7.2-01", &on_a)?;
    play.peer(b).accepted("3.1.7.2-01", &on_b)?;
    let sends = alone.preferred_send_size;
    play.check(OWN, on_b.preferred_send_size == sends, || {
        let came = on_b.preferred_send_size;
        format!("PreferredSendSize on B should be {sends}, as without A, it is {came}")
    });
    let granted = alone.credits_granted;
    play.check("3.1.7.2-08 +1.7-03 +3.1.7.2-01", on_b.credits_granted > 1 || granted <= 1, || {
        let came = on_b.credits_granted;
        format!("CreditsGranted on B should be {granted}, as without A, it is {came}")
    });
    for id in [a, b] {
        play.peer(id).post_receives(10)?;
    }
    play.peer(a).send(&Data::of(&pattern(1, 100)).remaining(4900))?;
    let question = play.peer(b).message_for(13, 5000, 1000)?;
    play.peer(b).send_fragments(&question)?;
    // Put together with nothing of what A has collected.
    let whole = play.peer(b).answered("3.1.7.2-09 +3.1.7.2-01", &question)?;
    let longest = whole.fragments.iter().map(|seen| seen.message.bytes.len()).max().unwrap_or_default();
    play.check("3.1.7.2-01 +1.7-03", longest > LITTLE as usize || sends <= LITTLE, || {
        format!("what A takes should not limit B, its longest message has {longest} bytes")
    });
    play.peer(a).send(&Data::empty().requesting(0))?;
    play.peer(a).settle();
    play.peer(b).exchange("3.1.7.2-01 +3.1.7.2-09", 14, 100).map(|_| ())
}

pub(super) fn timer_stops(play: &mut Play) -> Result<(), Stop> {
    let mut peer = play.connect()?;
    peer.play().pass(Duration::from_secs(3));
    peer.request(&Request::default())?;
    let (response, _) = peer.response("3.1.7.2-03")?;
    peer.accepted("3.1.7.2-03", &response)?;
    peer.post_receives(10)?;
    peer.play().pass(Duration::from_secs(8));
    peer.nothing_lost("3.1.5.6-20 +3.1.2.1-01");
    peer.exchange("3.1.5.6-20", 17, 100).map(|_| ())
}
