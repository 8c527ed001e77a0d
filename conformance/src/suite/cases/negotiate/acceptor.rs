//! The answer of an acceptor, and when data may follow.

use std::time::Duration;

use smbd_core::wire::NegotiateResponse;

use crate::suite::rig::{Opening, SENDS_MAX};
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
        let (_, message) = peer.response(ANSWER)?;
        let bytes = &message.bytes;
        peer.field("3.1.5.6-12", bytes, ("NegotiatedVersion", 4..6), 0x0100);
        peer.field(ANSWER, bytes, ("Status", 12..16), 0);
        peer.field("2.2.2-13 3.1.5.3-10 3.1.7.2-06", bytes, ("CreditsRequested", 8..10), 77);
        peer.field("2.2.2-17 3.1.5.3-12 3.1.7.2-06", bytes, ("MaxReadWriteSize", 16..20), 5_000_000);
        peer.field(
            "2.2.2-18 3.1.5.3-13 3.1.5.6-14 3.1.7.2-06",
            bytes,
            ("PreferredSendSize", 20..24),
            preferred_send_size,
        );
        peer.field(
            "2.2.2-20 3.1.5.3-14 3.1.5.6-10 3.1.7.2-06",
            bytes,
            ("MaxReceiveSize", 24..28),
            max_receive_size,
        );
        peer.field("2.2.2-21 3.1.5.3-15 3.1.7.2-06", bytes, ("MaxFragmentedSize", 28..32), 200_000);
    }
    Ok(())
}

pub(super) fn grants_are_posted(play: &mut Play) -> Result<(), Stop> {
    for asked in [1, 2, 10, 255, u16::MAX] {
        let mut peer = play.connect()?;
        peer.request(&Request { credits_requested: asked, ..Request::default() })?;
        let (response, _) = peer.response("2.2.2-14")?;
        let granted = response.credits_granted;
        peer.check("2.2.2-14 3.1.5.6-13", (1..=asked).contains(&granted), || {
            format!("CreditsGranted should be 1 to {asked}, it is {granted}")
        });
        peer.post_receives(10)?;
        // All that the script's device can have under way.
        for _ in 0..granted.min(SENDS_MAX) {
            peer.send_now(&Data::empty())?;
        }
        peer.settle();
        peer.nothing_lost("3.1.5.3-11 3.1.5.6-16");
        peer.goes_on("3.1.5.6-16")?;
    }
    Ok(())
}

pub(super) fn does_not_speak_first(play: &mut Play) -> Result<(), Stop> {
    let mut peer = play.connect()?;
    // No credits, nothing to send, no keepalive: it waits.
    peer.quiet("3.1.7.2-02 3.1.7.2-07 3.1.7.2-08 3.1.7.2-09");
    peer.request(&Request::default())?;
    let (response, message) = peer.response("2.2.2-01 3.1.5.3-01 3.1.7.2-02")?;
    peer.check("2.2.2-01 3.1.5.3-01", message.bytes.len() == 32 && response.status.is_success(), || {
        format!("32 bytes with Status 0 should come first, {message:?} came")
    });
    peer.post_receives(10)?;
    peer.send(&Data::empty().granting(10))?;
    for seen in peer.all_within("3.1.7.2-09", Duration::from_secs(3))? {
        let header = seen.header;
        peer.check("3.1.7.2-09", header.data_length == 0 && header.remaining_data_length == 0, || {
            format!("nothing was given to send, a message with data came: {header:?}")
        });
        peer.check("3.1.7.2-07", header.flags.0 == 0, || {
            format!("a keepalive response is not wanted yet, Flags are {}", header.flags.0)
        });
    }
    peer.nothing_lost("3.1.7.2-09");
    Ok(())
}

pub(super) fn data_at_once(play: &mut Play) -> Result<(), Stop> {
    const ALL: &str = "2.2-02 3.1.5.6-19 3.1.5.6-22";
    for round in 0..100 {
        let mut peer = play.connect()?;
        peer.post_receives(10)?;
        peer.request(&Request::default())?;
        peer.response("3.1.5.6-22")?;
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
    peer.basic_check(&Request::default(), &response, &message.bytes);
    Ok(())
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
            format!("data without a credit should not be taken, {message:?} came")
        });
    }
    let down = peer.is_down();
    if responded && !down && !is_last {
        peer.disconnect()?;
        return Ok(false);
    }
    peer.check("3.1.5.8-08", down, || "the connection should be down after 12 s, it is up".into());
    Ok(true)
}

pub(super) fn two_connections(play: &mut Play) -> Result<(), Stop> {
    const OWN: &str = "1.7-03 3.1.7.2-01";
    let small = Request { max_receive_size: 128, credits_requested: 1, ..Request::default() };
    let a = play.connect_as("3.1.7.2-04", &Opening::default())?.id();
    let b = play.connect_as("3.1.7.2-04", &Opening::default())?.id();
    for (id, request) in [(a, small), (b, Request::default())] {
        play.peer(id).request(&request)?;
    }
    let (on_a, _) = play.peer(a).response("3.1.7.2-08")?;
    let (on_b, _) = play.peer(b).response("3.1.7.2-08")?;
    play.check(OWN, on_a.preferred_send_size == 128 && on_b.preferred_send_size > 128, || {
        let (a, b) = (on_a.preferred_send_size, on_b.preferred_send_size);
        format!("PreferredSendSize should be 128 on A and more on B, it is {a} and {b}")
    });
    play.check(
        "1.7-03 3.1.7.2-01 3.1.7.2-08",
        on_a.credits_granted == 1 && (1..=10).contains(&on_b.credits_granted),
        || {
            let (a, b) = (on_a.credits_granted, on_b.credits_granted);
            format!("CreditsGranted should be 1 on A and 1 to 10 on B, it is {a} and {b}")
        },
    );
    for id in [a, b] {
        play.peer(id).post_receives(10)?;
    }
    play.peer(a).send(&Data::of(&pattern(1, 100)).remaining(4900))?;
    let question = play.peer(b).message_for(13, 5000, 1000)?;
    play.peer(b).send_fragments(&question)?;
    // Put together with nothing of what A has collected.
    let whole = play.peer(b).answered("3.1.7.2-01 3.1.7.2-09", &question)?;
    let longest = whole.fragments.iter().map(|seen| seen.message.bytes.len()).max().unwrap_or_default();
    play.check("1.7-03", longest > 128, || {
        format!("what A takes should not limit B, its longest message has {longest} bytes")
    });
    play.peer(a).send(&Data::empty().requesting(0))?;
    play.peer(a).ends("3.1.7.2-01");
    play.peer(b).exchange("3.1.7.2-01 3.1.7.2-09", 14, 100).map(|_| ())
}

pub(super) fn timer_stops(play: &mut Play) -> Result<(), Stop> {
    let mut peer = play.connect()?;
    peer.play().pass(Duration::from_secs(3));
    peer.request(&Request::default())?;
    peer.response("3.1.2.1-01")?;
    peer.post_receives(10)?;
    peer.play().pass(Duration::from_secs(8));
    peer.nothing_lost("3.1.2.1-01 3.1.5.6-20");
    peer.exchange("3.1.5.6-20", 17, 100).map(|_| ())
}
