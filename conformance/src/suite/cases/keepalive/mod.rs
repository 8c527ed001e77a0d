//! Keepalive. The interval and the answer timeout are 5 s, so that a case takes seconds.

mod answers;
mod carriers;
mod silence;

use std::time::Duration;

use smbd_core::{Instant, Keepalive, Params};

use super::Entry;
use crate::suite::{Data, Peer, Play, Seen, Stop, Terms};

/// The cases of this group.
pub(super) const CASES: &[Entry] = &[
    Entry::new("keepalive::an_answer_does_not_ask", answers::does_not_ask).with(usual),
    Entry::new("keepalive::silence_is_probed", silence::probed).with(short),
    Entry::new("keepalive::an_unanswered_probe_ends_the_connection", silence::unanswered).with(short),
    Entry::new("keepalive::a_probe_that_cannot_be_sent_ends_the_connection_too", silence::unsent).with(short),
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

fn usual(params: &mut Params) {
    keepalive(params, Duration::from_secs(120));
}

/// A usual connection on which the subject has credits, and nothing is under way.
fn able_to_ask(play: &mut Play) -> Result<Peer<'_>, Stop> {
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
        peer.expect_data("", INTERVAL)?;
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

/// The next message, which should be an empty one with Flags 1, when the script has been silent for the interval.
fn probe(peer: &mut Peer<'_>, statements: &str, from: Instant) -> Result<Seen, Stop> {
    let seen = peer.expect_data(statements, INTERVAL_MAX + INTERVAL)?;
    let after = seen.message.at.saturating_since(from);
    peer.check(statements, (INTERVAL..=INTERVAL_MAX).contains(&after), || {
        format!("a message should come 5 to 7 s after the script's last one, it came after {after:?}")
    });
    has_flags(peer, statements, &seen, 1);
    is_empty(peer, statements, &seen);
    Ok(seen)
}

fn has_flags(peer: &mut Peer<'_>, statements: &str, seen: &Seen, flags: u16) {
    let came = seen.header.flags.0;
    peer.check(statements, came == flags, || format!("Flags should be {flags}, they are {came}"));
}

fn is_empty(peer: &mut Peer<'_>, statements: &str, seen: &Seen) {
    let (header, len) = (seen.header, seen.message.bytes.len());
    let bare = [header.data_offset, header.data_length, header.remaining_data_length] == [0; 3];
    peer.check(statements, len == 20 && bare && seen.reserved() == 0, || {
        format!("20 bytes with nothing about data and Reserved 0 should come, {len} bytes came, {header:?}")
    });
}

/// The connection is up.
fn is_up(peer: &mut Peer<'_>, statements: &str, when: &str) -> Result<(), Stop> {
    let up = !peer.is_down();
    peer.require(statements, up, || format!("the connection should be up {when}, it is down"))
}
