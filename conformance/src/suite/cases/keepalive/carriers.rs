//! Which message carries the probe.

use std::time::Duration;

use smbd_core::Input;

use super::{INTERVAL, granted, has_flags, is_asked, is_up, nothing_asks};
use crate::suite::words::{self, Words};
use crate::suite::{Data, Next, Play, Stop, Terms, pattern};

/// What the upper layer gives to be sent, is sent.
const POSTED: &str = "3.1.5.1-17";

pub(super) fn asked_once(play: &mut Play) -> Result<(), Stop> {
    const ONCE: &str = "3.1.5.1-12 +3.1.1.1-03 +3.1.5.1-14";
    let mut peer = granted(play, 10)?;
    peer.upper()?.by_hand();
    is_asked(&mut peer, INTERVAL)?;
    for seed in 0..3 {
        let payload = pattern(seed, 10);
        let sent = peer.upper()?.send(payload.clone(), None);
        peer.require(POSTED, sent.is_ok(), || {
            format!("the upper layer's message should be taken: {}", words::result(&sent))
        })?;
        let mut seen = peer.back(POSTED, 10, Duration::from_millis(500))?;
        while seen.header.data_length == 0 {
            has_flags(&mut peer, ONCE, &seen, 0);
            seen = peer.back(POSTED, 10, Duration::from_millis(500))?;
        }
        has_flags(&mut peer, ONCE, &seen, 0);
        peer.check("3.1.5.4-21", seen.payload() == &payload[..], || {
            format!("the upper layer's 10 bytes should come, {} came", seen.words())
        });
        peer.play().pass(Duration::from_millis(500));
    }
    Ok(())
}

pub(super) fn carried(play: &mut Play) -> Result<(), Stop> {
    const CARRIED: &str = "3.1.5.1-11 +3.1.6.2-05";
    let mut peer = granted(play, 10)?;
    let upper = peer.upper()?;
    upper.by_hand();
    // So early that a host with much to do is not late.
    let before = Duration::from_millis(if peer.play().is_real() { 500 } else { 10 });
    let left = peer.last_said().saturating_add(INTERVAL - before).saturating_since(peer.play().now());
    peer.quiet_for("3.1.2.2-02", left);
    // The subject's clock is put forward by what is left: the interval is over, and nothing is polled before the command.
    let at = peer.play().now().saturating_add(2 * before);
    let payload = pattern(1, 3000);
    let endpoint = peer.upper()?.endpoint_mut();
    let expired = endpoint.handle(at, Input::Timeout);
    let sent = endpoint.send(at, payload.clone(), None);
    let done = expired.is_ok() && sent.is_ok();
    peer.require(POSTED, done, || {
        let (expired, sent) = (words::result(&expired), words::result(&sent));
        format!("the upper layer's message should be taken: timer {expired}, message {sent}")
    })?;
    let whole = peer.whole_message(POSTED)?;
    for (index, seen) in whole.fragments.iter().enumerate() {
        let (statements, flags) = if index == 0 { (CARRIED, 1) } else { ("3.1.5.1-12", 0) };
        has_flags(&mut peer, statements, seen, flags);
    }
    let (count, empties) = (whole.fragments.len(), whole.empties.len());
    peer.check("3.1.5.4-21", whole.payload == payload && count > 1, || {
        format!(
            "the upper layer's 3000 bytes should come in fragments, {} came in {count}",
            whole.payload.len()
        )
    });
    peer.check("3.1.6.2-05", empties == 0, || {
        format!("a message that waits can carry the probe, {empties} empty messages came besides")
    });
    let until = peer.play().now().saturating_add(Duration::from_secs(3));
    loop {
        let left = until.saturating_since(peer.play().now());
        let Next::Message(message) = peer.next(left) else { return Ok(()) };
        let seen = peer.as_data(message)?;
        has_flags(&mut peer, "3.1.5.1-12", &seen, 0);
    }
}

pub(super) fn taken_back(play: &mut Play) -> Result<(), Stop> {
    const BACK: &str = "3.1.5.5-04 +3.1.5.1-14";
    let mut peer = play.established_with(&Terms::default(), 0)?;
    let from = peer.last_said();
    let left = from.saturating_add(Duration::from_secs(7)).saturating_since(peer.play().now());
    peer.quiet_for("3.1.5.1-06", left);
    peer.send(&Data::empty().granting(5))?;
    let until = peer.last_said().saturating_add(Duration::from_secs(4));
    nothing_asks(&mut peer, BACK, until)?;
    is_up(&mut peer, BACK, "4 s after the script's message")
}
