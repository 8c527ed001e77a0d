//! The request of an initiator, its timer, and the resulting values.

use std::time::Duration;

use smbd_core::Instant;
use smbd_core::error::ConnectError;
use smbd_core::wire::DataTransfer;
use smbd_core::wire::status::NOT_SUPPORTED;

use crate::suite::basic::Duties;
use crate::suite::layout::of_request;
use crate::suite::rig::{Opening, Told};
use crate::suite::words::Words;
use crate::suite::{Data, Peer, Play, Request, Response, Stop, pattern};

pub(super) fn own_values(play: &mut Play) -> Result<(), Stop> {
    let mut peer = play.connect()?;
    let (request, message) = peer.asked("3.1.4.1-14 3.1.5.2-09")?;
    let bytes = &message.bytes;
    peer.basic_check_of(&request, bytes);
    let duties = Duties::of_request(&request);
    peer.layout(
        bytes,
        &[
            of_request::MIN_VERSION.holds("", 0x0100),
            of_request::MAX_VERSION.holds("", 0x0100),
            of_request::RESERVED.holds("", 0),
            of_request::CREDITS_REQUESTED.holds(duties.credits_requested, 77),
            of_request::PREFERRED_SEND_SIZE.holds(duties.preferred_send_size, 2000),
            of_request::MAX_RECEIVE_SIZE.holds(duties.max_receive_size, 3000),
            of_request::MAX_FRAGMENTED_SIZE.holds(duties.max_fragmented_size, 200_000),
        ],
    );
    // Nobody is left waiting.
    peer.respond(&Response::default())
}

pub(super) fn comes_first(play: &mut Play) -> Result<(), Stop> {
    const FIRST: &str = "3.1.5.2-01 +2.2-01 +3.1.1.1-01 +3.1.4.1-02";
    let speaks = play.subject_speaks();
    let mut peer = play.connect()?;
    let (request, message) = peer.asked("3.1.4.1-14")?;
    let is_data = message.bytes.len() != 20 && DataTransfer::parse(&message.bytes).is_ok();
    // What is no request has no fields of one.
    peer.require(FIRST, !is_data || request.min_version == 0x0100, || {
        format!("a Negotiate Request should come first, {} came", message.words())
    })?;
    peer.basic_check_of(&request, &message.bytes);
    // Without a response it has no credit to say anything with.
    peer.quiet("2.2-01 +3.1.1.1-01 +3.1.4.1-07");
    peer.respond(&Response::default())?;
    for seen in peer.all_within("3.1.4.1-08", Duration::from_secs(3))? {
        let header = seen.header;
        let bare = header.data_length == 0 && header.remaining_data_length == 0;
        peer.check("3.1.4.1-08", bare || speaks, || {
            format!("nothing was given to send, a message with data came: {}", seen.words())
        });
        peer.check("3.1.4.1-08", seen.message.invalidated.is_none(), || {
            format!("no token was given to invalidate, this came: {}", seen.words())
        });
        peer.check("3.1.4.1-06", header.flags.0 == 0, || {
            format!("a keepalive response is not wanted yet, Flags are 0x{:04X}", header.flags.0)
        });
    }
    Ok(())
}

pub(super) fn version(play: &mut Play) -> Result<(), Stop> {
    let accepts = play.subject_accepts();
    let mut peer = play.connect()?;
    let bytes = if accepts {
        peer.request(&Request::default())?;
        let (response, message) = peer.response("")?;
        peer.accepted("", &response)?;
        peer.field("3.1.5.3-09 +1.7-01 +3.1.5.6-12", &message.bytes, ("NegotiatedVersion", 4..6), 0x0100);
        peer.post_receives(10)?;
        message.bytes
    } else {
        let (_, message) = peer.asked("")?;
        peer.respond(&Response::default())?;
        message.bytes
    };
    // The lowest and the highest.
    let offers = if accepts { ["2.2.2-03", "2.2.2-06"] } else { ["2.2.1-03", "2.2.1-06"] };
    peer.field(&format!("{} +1.7-01", offers[0]), &bytes, ("MinVersion", 0..2), 0x0100);
    peer.field(&format!("{} +1.7-01", offers[1]), &bytes, ("MaxVersion", 2..4), 0x0100);
    let speaks = if accepts { "2.2.2-07 +3.1.5.6-12" } else { "2.2.1-07 +3.1.5.7-10" };
    peer.exchange(speaks, 19, 500).map(|_| ())
}

/// The negotiation timer of an initiator, connecting included.
const TIMER: Duration = Duration::from_secs(120);

/// Where it can be looked at: connecting failed for want of time, as long after `begin` as the timer runs.
fn timed_out(peer: &mut Peer<'_>, statements: &str, begin: Instant) {
    let Some(error) = peer.not_connected(statements) else { return };
    let failed = Told::ConnectFailed(error);
    let at = peer.told().iter().find(|(_, told)| *told == failed).map(|(at, _)| *at);
    let after = at.map(|at| at.saturating_since(begin));
    let in_time = after.is_some_and(|after| (TIMER..TIMER + Duration::from_secs(1)).contains(&after));
    peer.check(statements, in_time && error == ConnectError::Timeout, || {
        format!(
            "connecting should fail after 120 s for want of time, it did after {}: {error}",
            after.words()
        )
    });
}

pub(super) fn waits(play: &mut Play) -> Result<(), Stop> {
    const TIMED: &str = "3.1.4.1-10 +3.1.2.1-01 +3.1.6.1-01";
    const ENDS: &str = "3.1.2.1-01 3.1.6.1-01";
    let begin = play.now();
    let mut peer = play.connect()?;
    peer.asked("")?;
    let left = begin.saturating_add(Duration::from_secs(115)).saturating_since(peer.play().now());
    peer.quiet_for("3.1.4.1-10", left);
    peer.goes_down(ENDS, begin, "connecting began", Duration::from_secs(132));
    timed_out(&mut peer, TIMED, begin);
    Ok(())
}

pub(super) fn late_response(play: &mut Play) -> Result<(), Stop> {
    let mut peer = play.connect()?;
    peer.asked("")?;
    peer.play().pass(Duration::from_secs(115));
    peer.respond(&Response::default())?;
    peer.play().pass(Duration::from_secs(10));
    peer.nothing_lost("3.1.5.7-20 +3.1.4.1-10");
    peer.exchange("3.1.5.7-20", 32, 100).map(|_| ())
}

pub(super) fn connecting_counts(play: &mut Play) -> Result<(), Stop> {
    const ALL: &str = "3.1.4.1-10 +3.1.2.1-01";
    let begin = play.now();
    let id = play.prepare(&Opening::default())?;
    play.pass(TIMER / 2);
    let gave_up = |told: &Told| matches!(told, Told::ConnectFailed(ConnectError::Connect(_)));
    if play.is_real() && play.peer(id).told().iter().any(|(_, told)| gave_up(told)) {
        return Err(Stop::NotApplicable("the device gives a connection up before the timer does".into()));
    }
    play.go(id)?;
    let mut peer = play.peer(id);
    peer.asked("3.1.4.1-10")?;
    peer.quiet_for(ALL, TIMER / 2 - Duration::from_secs(5));
    timed_out(&mut peer, ALL, begin);
    Ok(())
}

pub(super) fn first_message_grants(play: &mut Play) -> Result<(), Stop> {
    let mut peer = play.connect()?;
    peer.asked("")?;
    peer.respond(&Response::default())?;
    let first = peer.expect_data("3.1.5.7-18", Duration::from_secs(10))?;
    let granted = first.header.credits_granted;
    peer.check("3.1.5.7-18 +3.1.5.1-05", granted > 0, || {
        "CreditsGranted of the first message should be 1 at least, it is 0".into()
    });
    peer.check("3.1.5.7-11", granted <= 10, || {
        format!(
            "CreditsGranted of the first message should be 10 at most, which was asked for, it is {granted}"
        )
    });
    if granted == 0 {
        return Ok(());
    }
    for _ in 0..granted {
        peer.send_now(&Data::empty())?;
    }
    peer.settle();
    peer.nothing_lost("3.1.5.7-18 +3.1.5.1-05");
    if peer.is_down() {
        return Ok(());
    }
    peer.goes_on("3.1.5.7-22")
}

pub(super) fn starts_from_nothing(play: &mut Play) -> Result<(), Stop> {
    const NOTHING: &str = "3.1.4.1-01 +3.1.4.1-03 +3.1.4.1-07 +3.1.4.1-08";
    let mut peer = play.connect()?;
    let (_, first) = peer.asked(NOTHING)?;
    peer.respond(&Response { status: NOT_SUPPORTED, ..Response::default() })?;
    peer.settle();

    let mut peer = play.connect()?;
    let (_, second) = peer.asked(NOTHING)?;
    peer.same(NOTHING, &second.bytes, &first.bytes);
    peer.respond(&Response::default())?;
    let pieces = peer.fragments(&pattern(33, 5000))?;
    if let Some(piece) = pieces.first() {
        peer.send(piece)?;
    }
    peer.settle();
    peer.disconnect()?;
    peer.settle();

    let mut peer = play.connect()?;
    let (_, third) = peer.asked(NOTHING)?;
    peer.same(NOTHING, &third.bytes, &first.bytes);
    peer.respond(&Response::default())?;
    // Nothing of the sequence that was begun before.
    peer.exchange("3.1.4.1-07 +3.1.4.1-01 +3.1.4.1-03", 34, 100).map(|_| ())
}

pub(super) fn sizes_hold(play: &mut Play) -> Result<(), Stop> {
    let accepts = play.subject_accepts();
    let mut peer = play.connect()?;
    let most = if accepts {
        peer.request(&Request::default())?;
        let (response, _) = peer.response("")?;
        peer.accepted("", &response)?;
        peer.post_receives(10)?;
        response.preferred_send_size.min(Request::default().max_receive_size)
    } else {
        let (request, _) = peer.asked("")?;
        peer.respond(&Response::default())?;
        request.preferred_send_size.min(Response::default().max_receive_size)
    };
    for round in 0..200_u16 {
        let question = peer.message_for(round.into(), 3000, 3000)?;
        for (index, fragment) in (0_u16..).zip(peer.fragments(&question)?) {
            // 1 to 65535, never the same twice in a row.
            let asked = round.wrapping_mul(321).wrapping_add(index.wrapping_mul(7919)).max(1);
            peer.send(&fragment.requesting(if round == 199 { u16::MAX } else { asked }))?;
        }
        let echo = peer.answered("1.7-03", &question)?;
        let longest = echo.fragments.iter().map(|seen| seen.message.bytes.len()).max().unwrap_or_default();
        // What held at first and does not any more has changed.
        let statements = if round == 0 { "3.1.5.4-13 +1.7-03" } else { "1.7-03 +3.1.5.4-13" };
        peer.require(statements, longest <= most as usize, || {
            format!("round {round}: no message should be longer than {most} bytes, one has {longest}")
        })?;
    }
    Ok(())
}
