//! Sequences: which fragments belong to one message.

use std::time::Duration;

use smbd_core::{Keepalive, Params};

use super::{ends_after, settled};
use crate::suite::words::Words;
use crate::suite::{Data, Next, Play, Stop, pattern};

/// A piece of a message with this RemainingDataLength.
fn piece(payload: &[u8], remaining: u32) -> Data {
    Data::of(payload).remaining(remaining)
}

pub(super) fn continue_exactly(play: &mut Play) -> Result<(), Stop> {
    let payload = pattern(1, 1500);
    let (first, rest) = payload.split_at(500);
    // What a fragment says that is to follow it, and what follows.
    const OTHER: &str = "3.1.5.8-19 +3.1.5.8-18";
    let wrong: [(&str, usize, u32); 5] =
        [(OTHER, 500, 1), ("3.1.5.8-21", 499, 0), (OTHER, 501, 0), (OTHER, 499, 2), (OTHER, 1000, 0)];
    for (statements, len, remaining) in wrong {
        ends_after(play, (statements, statements), &[piece(first, 500), piece(&rest[..len], remaining)])?;
    }
    let mut peer = settled(play)?;
    let question = peer.message(1, 1000)?;
    let (first, rest) = question.split_at(question.len() / 2);
    peer.send(&piece(first, u32::try_from(rest.len()).unwrap_or(u32::MAX)))?;
    peer.send(&piece(rest, 0))?;
    peer.answered("3.1.5.8-18", &question)?;
    Ok(())
}

pub(super) fn cannot_grow(play: &mut Play) -> Result<(), Stop> {
    let mut peer = settled(play)?;
    let payload = pattern(2, 1000);
    let mut sent = 0;
    for _ in 0..200 {
        // A subject that says nothing any more grants nothing, either.
        if peer.is_down() || !peer.credit_within(Duration::from_secs(10)) {
            break;
        }
        peer.send_now(&piece(&payload, 1000))?;
        sent += payload.len();
        // The end has to be known here before the next one is sent.
        peer.play().pass(Duration::from_millis(10));
    }
    if sent == 0 {
        peer.has_credit("3.1.5.8-09", Duration::ZERO, "to begin with")?;
    }
    peer.ends("3.1.5.8-19");
    peer.check("3.1.5.8-19", sent < 131_072, || {
        format!("the connection should end before 131072 bytes are sent of what has no end, {sent} were")
    });
    Ok(())
}

/// A fragment of no bytes.
const fn nothing(remaining: u32) -> Data {
    Data::empty().remaining(remaining)
}

pub(super) fn of_no_bytes(play: &mut Play) -> Result<(), Stop> {
    let mut peer = settled(play)?;
    let question = peer.message(3, 1000)?;
    let all = u32::try_from(question.len()).unwrap_or(u32::MAX);
    peer.send(&nothing(all))?;
    peer.send(&nothing(all))?;
    peer.send(&piece(&question[..400], all - 400))?;
    peer.send(&nothing(all - 400))?;
    peer.send(&piece(&question[400..], 0))?;
    peer.answered("2.2.3-11 +3.1.5.8-18 +3.1.5.8-19", &question)?;
    const GROWS: &str = "3.1.5.8-19 +2.2.3-11";
    ends_after(play, (GROWS, GROWS), &[nothing(1000), nothing(999)])
}

pub(super) fn starts_from_nothing(play: &mut Play) -> Result<(), Stop> {
    let mut peer = settled(play)?;
    let lengths = (1..).zip([131_072, 1, 2001, 1000]);
    let questions: Result<Vec<_>, _> = lengths.map(|(seed, len)| peer.message(seed, len)).collect();
    let questions = questions?;
    for question in &questions {
        peer.send_fragments(question)?;
    }
    let mut statements = "3.1.5.8-17 +3.1.5.8-18 +3.1.5.8-24";
    for question in &questions {
        peer.answered(statements, question)?;
        statements = "3.1.5.8-25";
    }
    Ok(())
}

/// KeepaliveInterval 5 s.
pub(super) fn idle_5_s(params: &mut Params) {
    let five = Duration::from_secs(5);
    params.keepalive = Some(Keepalive { interval: five, answer_timeout: five });
}

pub(super) fn left_alone(play: &mut Play) -> Result<(), Stop> {
    let mut peer = settled(play)?;
    let question = peer.message(5, 3000)?;
    let mut fragments = peer.fragments(&question)?.into_iter();
    let Some(first) = fragments.next() else { return Ok(()) };
    let missing = first.remaining;
    peer.send(&first)?;
    let until = peer.last_said().saturating_add(Duration::from_secs(20));
    let mut probes = 0;
    for _ in 0..100 {
        let left = until.saturating_since(peer.play().now());
        let Next::Message(message) = peer.next(left) else { break };
        let seen = peer.as_data(message)?;
        if seen.header.flags.0 == 1 {
            probes += 1;
            let silent = seen.message.at.saturating_since(peer.last_said());
            peer.check("3.1.5.5-03", silent >= Duration::from_secs(5), || {
                let silent = silent.words();
                format!("a probe should come 5 s after the script's last message, it came after {silent}")
            });
        }
        peer.send(&nothing(missing))?;
    }
    peer.is_usable(question.len())?;
    let up = !peer.is_down();
    peer.check("3.1.5.5-03", probes <= 4, || format!("4 probes at most fit into 20 s, {probes} came"));
    peer.require("3.1.5.5-03 +3.1.5.8-18", up, || {
        "the connection should be up while probes are answered and a message is not finished".into()
    })?;
    for fragment in fragments {
        peer.send(&fragment)?;
    }
    peer.answered("3.1.5.8-18", &question)?;
    Ok(())
}
