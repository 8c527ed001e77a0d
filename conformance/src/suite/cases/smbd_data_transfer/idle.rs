//! Idle connections.

use std::time::Duration;

use smbd_core::{Keepalive, Params};

use super::super::keepalive::{has_flags, is_up, silence_is_probed, unanswered_probe_ends};
use crate::suite::{Data, Peer, Play, Stop, Terms};

const INTERVAL: Duration = Duration::from_secs(120);
/// The answer to a probe comes within this time.
const ANSWER: Duration = Duration::from_secs(5);

/// KeepaliveInterval 120 s, and 5 s for the answer.
pub(super) fn keepalive_of_the_text(params: &mut Params) {
    params.keepalive = Some(Keepalive { interval: INTERVAL, answer_timeout: ANSWER });
}

/// A connection whose subject has credits.
fn with_credits(play: &mut Play) -> Result<Peer<'_>, Stop> {
    let mut peer = play.established_on(&Terms::many_credits())?;
    peer.send(&Data::empty())?;
    Ok(peer)
}

pub(super) fn client(play: &mut Play) -> Result<(), Stop> {
    let mut peer = with_credits(play)?;
    peer.play().pass(INTERVAL - Duration::from_secs(1));
    peer.send(&Data { flags: 1, ..Data::empty() })?;
    peer.post_receives(1)?;
    let answer = peer.answer("3.1.5.8-14 +2.2.3-06", ANSWER)?;
    let header = answer.header;
    peer.check("3.1.5.1-14", header.flags.0 == 0, || {
        format!("Flags should be 0, they are 0x{:04X}", header.flags.0)
    });
    let fields = [
        ("3.1.5.4-04", "Reserved", u32::from(answer.reserved()), 0),
        ("3.1.5.4-05", "RemainingDataLength", header.remaining_data_length, 0),
        ("3.1.5.4-06", "DataOffset", header.data_offset, 0),
        ("3.1.5.4-07", "DataLength", header.data_length, 0),
        ("3.1.5.4-08", "the length", u32::try_from(answer.message.bytes.len()).unwrap_or(u32::MAX), 20),
    ];
    for (statement, name, value, wanted) in fields {
        peer.check(statement, value == wanted, || format!("{name} should be {wanted}, it is {value}"));
    }
    Ok(())
}

pub(super) fn server(play: &mut Play) -> Result<(), Stop> {
    let mut peer = with_credits(play)?;
    let from = peer.last_said();
    let whole = INTERVAL..=INTERVAL + ANSWER;
    silence_is_probed(&mut peer, from, whole.clone(), "3.1.2.2-02 +3.1.2.2-01 +3.1.5.6-21")?;
    peer.play().pass(Duration::from_secs(4));
    is_up(&mut peer, "3.1.5.1-13", "4 s after the probe")?;
    peer.send(&Data { flags: 1, ..Data::empty().requesting(255).granting(1) })?;
    let answer = peer.answer("3.1.5.8-14", Duration::from_secs(6))?;
    has_flags(&mut peer, "3.1.5.1-14", &answer, 0);
    let from = peer.last_said();
    silence_is_probed(&mut peer, from, whole, "3.1.5.5-03 +3.1.2.2-01")
}

pub(super) fn server_timeout(play: &mut Play) -> Result<(), Stop> {
    let mut peer = with_credits(play)?;
    unanswered_probe_ends(&mut peer, INTERVAL, Duration::from_secs(17))
}
