//! Invalid messages, which end a connection.

use smbd_core::wire::status::INSUFFICIENT_RESOURCES;

use super::LONG;
use crate::suite::{Data, Peer, Play, Request, Stop, Terms, pattern};

/// A message that breaks one of the five rules of 3.1.5.8 ends the connection, and has no effect.
const BAD: &str = "3.1.5.8-07";

/// A new connection on which one bad message is sent: it has to end. Where it goes on, `rule` is broken.
fn ends_after(play: &mut Play, rule: &str, bad: Data) -> Result<(), Stop> {
    let mut peer = play.established_on(&Terms::many_credits())?;
    peer.send(&bad)?;
    peer.ends_by(rule, BAD).map(|_| ())
}

/// What the good messages before the bad one set in motion is over when that is sent.
fn send_bad(peer: &mut Peer<'_>, all: &[Data]) -> Result<(), Stop> {
    let Some((bad, good)) = all.split_last() else { return Ok(()) };
    for data in good {
        peer.send(data)?;
    }
    peer.settle();
    peer.send(bad)
}

pub(super) fn uncompleted(play: &mut Play) -> Result<(), Stop> {
    let mut peer = play.established_on(&Terms::many_credits())?;
    peer.say(&Data::empty().encode(255, 1)[..19])?;
    peer.ends_by("3.1.5.8-02", BAD).map(|_| ())
}

pub(super) fn alignment(play: &mut Play) -> Result<(), Stop> {
    let payload = pattern(1, 500);
    for (offset, padding) in [(23, 3), (25, 5)] {
        ends_after(play, "3.1.5.8-04 +2.2.3-15", Data::at(offset, padding, &payload))?;
    }
    Ok(())
}

pub(super) fn offset(play: &mut Play) -> Result<(), Stop> {
    for offset in [32, u32::MAX] {
        let data = Data { offset, ..Data::of(&pattern(2, 500)) };
        ends_after(play, "3.1.5.8-05", data)?;
    }
    Ok(())
}

pub(super) fn length(play: &mut Play) -> Result<(), Stop> {
    const RULE: &str = "3.1.5.8-05";
    ends_after(play, RULE, Data { length: 501, ..Data::of(&pattern(3, 500)) })?;
    let mut peer = play.established_on(&Terms::many_credits())?;
    let most = peer.send_size()? - 24;
    peer.send(&Data { length: most + 1, ..Data::of(&pattern(3, most as usize)) })?;
    peer.ends_by(RULE, BAD)?;
    ends_after(play, RULE, Data { length: u32::MAX, ..Data::of(&pattern(3, 500)) })
}

/// A connection whose script announces the greatest values, or what Windows takes at most.
fn greatest(play: &mut Play) -> Result<Peer<'_>, Stop> {
    let offering = |preferred_send_size| Request {
        credits_requested: 255,
        preferred_send_size,
        max_receive_size: u32::MAX,
        max_fragmented_size: u32::MAX,
        ..Request::default()
    };
    let mut peer = play.connect()?;
    peer.request(&offering(u32::MAX))?;
    let (mut response, _) = peer.response("")?;
    let mut id = peer.id();
    if response.status == INSUFFICIENT_RESOURCES {
        let mut peer = play.connect()?;
        peer.request(&offering(8136))?;
        (response, _) = peer.response("")?;
        id = peer.id();
    }
    let mut peer = play.peer(id);
    peer.accepted("", &response)?;
    peer.post_receives(255)?;
    Ok(peer)
}

pub(super) fn too_long(play: &mut Play) -> Result<(), Stop> {
    const ALL: &str = "2.2.2-20 +3.1.5.6-10";
    let mut peer = greatest(play)?;
    let most = peer.send_size()? as usize - 24;
    peer.send(&Data::of(&pattern(4, most + 1)))?;
    peer.ends(ALL);
    let mut peer = greatest(play)?;
    peer.exchange(ALL, 4, most).map(|_| ())
}

pub(super) fn too_much(play: &mut Play) -> Result<(), Stop> {
    let mut peer = greatest(play)?;
    let total = peer.max_fragmented_size()? as usize + 1;
    let size = peer.announced()?.max_receive_size();
    let mut fragments = Data::fragments(&pattern(5, total), size);
    for fragment in &mut fragments {
        fragment.remaining = fragment.remaining.saturating_sub(1);
    }
    // It may end as soon as it is clear what this comes to.
    if let Some((last, all)) = fragments.split_last() {
        for fragment in all {
            peer.try_send(fragment)?;
        }
        peer.settle();
        peer.try_send(last)?;
    }
    peer.ends("3.1.5.8-19 +2.2.2-21 +3.1.5.8-06 +3.1.5.8-07");
    let mut peer = greatest(play)?;
    let question = peer.message(5, size as usize)?;
    for fragment in Data::fragments(&question, size) {
        peer.send(&fragment)?;
    }
    peer.answered("3.1.5.8-17 +2.2.2-21", &question).map(|_| ())
}

pub(super) fn remaining_too_much(play: &mut Play) -> Result<(), Stop> {
    const RULE: &str = "3.1.5.8-06";
    let mut peer = play.established_on(&Terms::many_credits())?;
    let most = peer.max_fragmented_size()?;
    peer.send(&Data::empty().remaining(most.saturating_add(1)))?;
    peer.ends_by(RULE, BAD)?;
    ends_after(play, RULE, Data::empty().remaining(u32::MAX))
}

pub(super) fn ends_early(play: &mut Play) -> Result<(), Stop> {
    for count in [2, 65] {
        let mut peer = play.established_on(&Terms::many_credits())?;
        let mut fragments = peer.fragments(&pattern(6, LONG))?;
        fragments.truncate(count);
        if let Some(last) = fragments.last_mut() {
            last.remaining = 0;
        }
        send_bad(&mut peer, &fragments)?;
        peer.must_end("3.1.5.8-21");
    }
    Ok(())
}

pub(super) fn remaining_wrong(play: &mut Play) -> Result<(), Stop> {
    let mut peer = play.established_on(&Terms::many_credits())?;
    let mut fragments = peer.fragments(&pattern(7, LONG))?;
    fragments.truncate(2);
    if let Some(last) = fragments.last_mut() {
        last.remaining += 1;
    }
    send_bad(&mut peer, &fragments)?;
    peer.ends("3.1.5.8-19");
    Ok(())
}
