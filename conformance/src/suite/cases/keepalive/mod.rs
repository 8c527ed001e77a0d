//! Keepalive. The interval and the answer timeout are 5 s, so that a case takes seconds.

mod answers;
mod carriers;
mod silence;

use std::ops::RangeInclusive;
use std::time::Duration;

use smbd_core::{Instant, Keepalive, Params};

use super::Entry;
use crate::suite::basis::Basis;
use crate::suite::words::Words;
use crate::suite::{Data, Next, Peer, Play, Seen, Stop, Terms};

/// The cases of this group.
pub(super) const CASES: &[Entry] = &[
    Entry::new("keepalive::an_answer_does_not_ask", answers::does_not_ask).with(usual),
    Entry::new("keepalive::silence_is_probed", silence::probed).with(short),
    Entry::new("keepalive::an_unanswered_probe_ends_the_connection", silence::unanswered).with(short),
    Entry::new("keepalive::a_probe_that_cannot_be_sent_ends_the_connection_too", silence::unsent).with(short),
    Entry::new("keepalive::a_peer_without_a_credit_is_not_given_up", silence::mute).with(few_receives),
    Entry::new("keepalive::only_what_comes_is_a_keepalive_response", silence::what_comes).with(short),
    Entry::new("keepalive::any_message_is_an_answer", answers::any_message).with(short),
    Entry::new("keepalive::messages_keep_the_probe_away", silence::kept_away).with(short),
    Entry::new("keepalive::a_probe_is_sent_once", carriers::asked_once).with(short),
    Entry::new("keepalive::a_message_that_waits_carries_the_probe", carriers::carried).with(short),
    Entry::new("keepalive::a_message_takes_back_a_probe_not_yet_sent", carriers::taken_back).with(short),
    Entry::new("keepalive::both_may_ask_at_once", answers::both_at_once).with(short),
];

const INTERVAL: Duration = Duration::from_secs(5);
/// The latest moment for what has to happen when the interval is over.
const INTERVAL_MAX: Duration = Duration::from_secs(7);

fn keepalive(params: &mut Params, interval: Duration) {
    params.keepalive = Some(Keepalive { interval, answer_timeout: Duration::from_secs(5) });
    // Nothing else ends a connection whose peer is silent.
    params.send_credit_timeout = None;
}

fn short(params: &mut Params) {
    keepalive(params, INTERVAL);
}

/// 10 receives, so that few messages use them up.
fn few_receives(params: &mut Params) {
    short(params);
    (params.receive_credit_max, params.borrowed_max) = (10, 0);
}

fn usual(params: &mut Params) {
    keepalive(params, Duration::from_secs(120));
}

/// A usual connection on which the subject has credits, and nothing is under way.
pub(super) fn able_to_speak(play: &mut Play) -> Result<Peer<'_>, Stop> {
    let accepts = play.subject_accepts();
    let mut peer = play.established()?;
    if accepts {
        peer.send(&Data::empty().granting(10))?;
    }
    peer.settle();
    Ok(peer)
}

/// A connection on which the script takes its time for the negotiation: what counts from its beginning is told from what
/// counts from its end.
fn slowly<'p>(play: &'p mut Play, terms: &Terms) -> Result<Peer<'p>, Stop> {
    let connects = !play.subject_accepts();
    let mut peer = play.connect()?;
    peer.play().pass(Duration::from_secs(3));
    peer.negotiate(terms)?;
    if connects {
        peer.initiators_message(INTERVAL)?;
    }
    Ok(peer)
}

/// `established; grant N`, after which the script is silent.
fn granted(play: &mut Play, credits: u16) -> Result<Peer<'_>, Stop> {
    let mut peer = play.established_with(&Terms::default(), 0)?;
    peer.send(&Data::empty().granting(credits))?;
    peer.settle();
    Ok(peer)
}

/// The next message, which should ask for an answer, should come when the script has been silent for so long; that it comes
/// then is what `timed` is about.
pub(super) fn silence_is_probed(
    peer: &mut Peer<'_>,
    from: Instant,
    within: RangeInclusive<Duration>,
    timed: &str,
) -> Result<(), Stop> {
    const PROBED: &str = "3.1.2.2-02 3.1.6.2-04 +3.1.6.2-01 +3.1.6.2-03";
    peer.is_usable(1)?;
    let until = from.saturating_add(*within.end() + INTERVAL);
    loop {
        let left = until.saturating_since(peer.play().now());
        let seen = peer.expect_data(PROBED, left)?;
        let after = seen.message.at.saturating_since(from);
        let asks = seen.header.flags.0 & 1 == 1;
        // What it says meanwhile is no matter, if it does not ask.
        if !asks && after < *within.start() {
            continue;
        }
        peer.check("3.1.5.1-11", asks, || {
            format!("a message that asks for an answer should come, {} came", seen.words())
        });
        peer.check(timed, within.contains(&after), || {
            let (min, max) = (within.start().words(), within.end().words());
            let after = after.words();
            format!("a message should come {min} to {max} after the script's last one, it came after {after}")
        });
        return Ok(());
    }
}

/// The message with which the subject asks after so much silence: other cases are about it.
pub(super) fn is_asked(peer: &mut Peer<'_>, interval: Duration) -> Result<Seen, Stop> {
    let begin = peer.play().now();
    let until = begin.saturating_add(interval + 2 * INTERVAL);
    loop {
        let left = until.saturating_since(peer.play().now());
        let next = peer.next(left);
        let because = match next {
            Next::Message(message) => {
                let seen = peer.as_data(message)?;
                if seen.header.flags.0 & 1 == 1 {
                    return Ok(seen);
                }
                continue;
            }
            Next::Down => "the connection went down",
            Next::Nothing => "nothing came",
        };
        let after = peer.play().now().saturating_since(begin).words();
        let because = format!("a probe should come, {because} in {after}");
        return Err(peer.play().without(Basis::Probe(interval), because));
    }
}

/// The subject asks after so much silence and gets no answer: the connection is up 4 s later, and down `within` that time.
pub(super) fn unanswered_probe_ends(
    peer: &mut Peer<'_>,
    interval: Duration,
    within: Duration,
) -> Result<(), Stop> {
    let asked = is_asked(peer, interval)?.message.at;
    peer.play().pass(Duration::from_secs(4));
    is_up(peer, "3.1.5.1-13", "4 s after the probe")?;
    peer.goes_down("3.1.6.2-02 +3.1.2.2-03 +3.1.5.1-13", asked, "the probe", within);
    Ok(())
}

pub(super) fn has_flags(peer: &mut Peer<'_>, statements: &str, seen: &Seen, flags: u16) {
    let came = seen.header.flags.0;
    // Bits without a meaning are another matter.
    peer.check(statements, came & 1 == flags, || {
        let should = if flags == 1 { "should" } else { "should not" };
        format!("the message {should} ask for an answer, Flags are 0x{came:04X}")
    });
}

/// No message that comes until a time asks for an answer. What comes at once answers something, and what comes later was set
/// off by a timer: that is what `timed` is about.
fn nothing_asks(peer: &mut Peer<'_>, timed: &str, until: Instant) -> Result<(), Stop> {
    loop {
        let left = until.saturating_since(peer.play().now());
        let Next::Message(message) = peer.next(left) else { return Ok(()) };
        let seen = peer.as_data(message)?;
        let after = seen.message.at.saturating_since(peer.last_said());
        has_flags(peer, if after < AT_ONCE { "3.1.5.1-14" } else { timed }, &seen, 0);
    }
}

/// An answer comes within this time.
const AT_ONCE: Duration = Duration::from_secs(1);

/// The connection is up.
pub(super) fn is_up(peer: &mut Peer<'_>, statements: &str, when: &str) -> Result<(), Stop> {
    peer.is_usable(1)?;
    let up = !peer.is_down();
    peer.require(statements, up, || format!("the connection should be up {when}, it is down"))
}
