//! Violations of credit rules that end a connection.

use crate::suite::basis::Basis;
use crate::suite::{Data, Grant, Peer, Play, Stop, Terms, pattern};

pub(super) fn without_a_credit(play: &mut Play) -> Result<(), Stop> {
    let mut peer = play.established_with(&Terms::default(), 0)?;
    if peer.credits() <= 0 {
        return Err(peer
            .play()
            .without(Basis::Credits, "the script has no credit from the beginning".into()));
    }
    while peer.credits() > 0 {
        peer.send_now(&Data::empty().granting(0))?;
    }
    peer.settle();
    peer.is_usable(1)?;
    let up = !peer.is_down();
    peer.require("3.1.5.9-08", up, || "the connection ended although each message had a credit".into())?;
    peer.send_now(&Data::empty().granting(0))?;
    peer.ends("3.1.5.8-08");
    Ok(())
}

pub(super) fn none_asked_for(play: &mut Play) -> Result<(), Stop> {
    for message in [Data::empty(), Data::of(&pattern(1, 100))] {
        let mut peer = play.established()?;
        peer.settle();
        peer.send(&message.requesting(0))?;
        peer.ends_by("3.1.5.8-03", "3.1.5.8-07")?;
    }
    Ok(())
}

/// An empty message that brings the subject's credits to `sum`.
fn bring_to(peer: &mut Peer<'_>, sum: i64) -> Result<(), Stop> {
    peer.settle();
    let missing = u16::try_from(sum - peer.granted()).unwrap_or(u16::MAX);
    peer.send(&Data { grant: Grant::Claimed(missing), ..Data::empty() })
}

pub(super) fn add_up(play: &mut Play) -> Result<(), Stop> {
    let mut peer = play.established()?;
    peer.settle();
    bring_to(&mut peer, 65_535)?;
    peer.send(&Data { flags: 1, ..Data::empty().granting(0) })?;
    // 65535 are taken.
    peer.answer("3.1.5.8-15", std::time::Duration::from_secs(5))?;
    bring_to(&mut peer, 65_536)?;
    peer.ends("3.1.5.8-15");
    let mut peer = play.established_with(&Terms::default(), 1)?;
    if peer.granted() != 1 {
        let because = format!("the subject should have kept its credit, it has {}", peer.granted());
        return Err(peer.play().without(Basis::Quiet, because));
    }
    peer.send(&Data { grant: Grant::Claimed(u16::MAX), ..Data::empty() })?;
    peer.ends("3.1.5.8-15");
    Ok(())
}
