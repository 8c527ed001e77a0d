//! Which message carries the probe.

use std::time::Duration;

use smbd_core::Input;

use super::{INTERVAL, granted, has_flags, is_up, probe};
use crate::suite::{Data, Next, Play, Stop, Terms, pattern};

pub(super) fn asked_once(play: &mut Play) -> Result<(), Stop> {
    const ONCE: &str = "3.1.1.1-03 3.1.5.1-12 3.1.5.1-14";
    let mut peer = granted(play, 10)?;
    peer.upper()?.by_hand();
    let from = peer.last_said();
    probe(&mut peer, "3.1.1.1-03", from)?;
    for seed in 0..3 {
        let payload = pattern(seed, 10);
        let sent = peer.upper()?.send(payload.clone(), None);
        peer.require(ONCE, sent.is_ok(), || format!("the upper layer's message is refused: {sent:?}"))?;
        let seen = peer.expect_data(ONCE, Duration::from_millis(500))?;
        has_flags(&mut peer, ONCE, &seen, 0);
        peer.check(ONCE, seen.payload() == &payload[..], || {
            format!("the upper layer's 10 bytes should come, {:?} came", seen.header)
        });
        peer.play().pass(Duration::from_millis(500));
    }
    Ok(())
}

pub(super) fn carried(play: &mut Play) -> Result<(), Stop> {
    const CARRIED: &str = "3.1.5.1-11 3.1.6.2-05";
    let mut peer = granted(play, 10)?;
    let upper = peer.upper()?;
    upper.by_hand();
    // So early that a host with much to do is not late.
    let before = Duration::from_millis(if peer.play().is_real() { 500 } else { 10 });
    let left = peer.last_said().saturating_add(INTERVAL - before).saturating_since(peer.play().now());
    peer.quiet_for(CARRIED, left);
    // The subject's clock is put forward by what is left: the interval is over, and nothing is polled before the command.
    let at = peer.play().now().saturating_add(2 * before);
    let payload = pattern(1, 3000);
    let endpoint = peer.upper()?.endpoint_mut();
    let expired = endpoint.handle(at, Input::Timeout);
    let sent = endpoint.send(at, payload.clone(), None);
    let done = expired.is_ok() && sent.is_ok();
    peer.require(CARRIED, done, || format!("the upper layer's message is refused: {expired:?}, {sent:?}"))?;
    let whole = peer.whole_message(CARRIED)?;
    for (index, seen) in whole.fragments.iter().enumerate() {
        let (statements, flags) = if index == 0 { (CARRIED, 1) } else { ("3.1.5.1-12", 0) };
        has_flags(&mut peer, statements, seen, flags);
    }
    let (count, empties) = (whole.fragments.len(), whole.empties.len());
    peer.check("3.1.5.1-12 3.1.6.2-05", whole.payload == payload && count > 1 && empties == 0, || {
        format!(
            "3000 bytes in fragments and nothing else should come, {count} and {empties} empty messages came"
        )
    });
    peer.quiet_for("3.1.5.1-12", Duration::from_secs(3));
    Ok(())
}

pub(super) fn taken_back(play: &mut Play) -> Result<(), Stop> {
    const BACK: &str = "3.1.5.1-14 3.1.5.5-04";
    let mut peer = play.established_with(&Terms::default(), 0)?;
    let from = peer.last_said();
    let left = from.saturating_add(Duration::from_secs(7)).saturating_since(peer.play().now());
    peer.quiet_for(BACK, left);
    peer.send(&Data::empty().granting(5))?;
    let until = peer.last_said().saturating_add(Duration::from_secs(4));
    loop {
        let left = until.saturating_since(peer.play().now());
        let Next::Message(message) = peer.next(left) else { break };
        let seen = peer.as_data(BACK, message)?;
        has_flags(&mut peer, BACK, &seen, 0);
    }
    is_up(&mut peer, BACK, "4 s after the script's message")
}
