//! Invalid messages, which end a connection.

use smbd_core::wire::status::INSUFFICIENT_RESOURCES;

use super::LONG;
use crate::suite::{Announced, Data, Peer, Play, Request, Stop, Terms, pattern};

/// A new connection on which one bad message is sent, or several of which the last is bad: it has to end.
fn ends_after(play: &mut Play, statements: &str, bad: &[Data]) -> Result<(), Stop> {
    let mut peer = play.established_on(&Terms::many_credits())?;
    send_bad(&mut peer, bad)?;
    peer.ends(statements);
    Ok(())
}

/// What the good messages before the bad one set in motion is over when that is sent.
fn send_bad(peer: &mut Peer<'_>, all: &[Data]) -> Result<(), Stop> {
    let Some((bad, good)) = all.split_last() else { return Ok(()) };
    for data in good {
        if !peer.try_send(data)? {
            return Ok(());
        }
    }
    if !good.is_empty() {
        peer.settle();
    }
    peer.try_send(bad).map(|_| ())
}

pub(super) fn uncompleted(play: &mut Play) -> Result<(), Stop> {
    let mut peer = play.established_on(&Terms::many_credits())?;
    peer.say(&Data::empty().encode(255, 1)[..19])?;
    peer.ends("3.1.5.8-02 3.1.5.8-07");
    Ok(())
}

pub(super) fn alignment(play: &mut Play) -> Result<(), Stop> {
    let payload = pattern(1, 500);
    for (offset, padding) in [(23, 3), (25, 5)] {
        ends_after(play, "2.2.3-15 3.1.5.8-04 3.1.5.8-07", &[Data::at(offset, padding, &payload)])?;
    }
    Ok(())
}

pub(super) fn offset(play: &mut Play) -> Result<(), Stop> {
    for offset in [32, u32::MAX] {
        let data = Data { offset, ..Data::of(&pattern(2, 500)) };
        ends_after(play, "3.1.5.8-05 3.1.5.8-07", &[data])?;
    }
    Ok(())
}

pub(super) fn length(play: &mut Play) -> Result<(), Stop> {
    const ALL: &str = "3.1.5.8-05 3.1.5.8-07";
    ends_after(play, ALL, &[Data { length: 501, ..Data::of(&pattern(3, 500)) }])?;
    let mut peer = play.established_on(&Terms::many_credits())?;
    let most = peer.announced()?.max_receive_size() - 24;
    peer.send(&Data { length: most + 1, ..Data::of(&pattern(3, most as usize)) })?;
    peer.ends(ALL);
    ends_after(play, ALL, &[Data { length: u32::MAX, ..Data::of(&pattern(3, 500)) }])
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
    peer.require("", response.status.is_success(), || format!("Status is {}", response.status))?;
    peer.post_receives(255)?;
    Ok(peer)
}

pub(super) fn too_long(play: &mut Play) -> Result<(), Stop> {
    const ALL: &str = "2.2.2-20 3.1.5.6-10";
    let mut peer = greatest(play)?;
    let most = peer.announced()?.max_receive_size() as usize - 24;
    peer.send(&Data::of(&pattern(4, most + 1)))?;
    peer.ends(ALL);
    let mut peer = greatest(play)?;
    peer.exchange(ALL, 4, most).map(|_| ())
}

pub(super) fn too_much(play: &mut Play) -> Result<(), Stop> {
    let mut peer = greatest(play)?;
    let total = max_fragmented_size(&peer)? as usize + 1;
    let size = peer.announced()?.max_receive_size();
    let mut fragments = Data::fragments(&pattern(5, total), size);
    for fragment in &mut fragments {
        fragment.remaining = fragment.remaining.saturating_sub(1);
    }
    send_bad(&mut peer, &fragments)?;
    peer.ends("2.2.2-21 3.1.5.8-06 3.1.5.8-07");
    let mut peer = greatest(play)?;
    let question = peer.message(5, size as usize)?;
    for fragment in Data::fragments(&question, size) {
        peer.send(&fragment)?;
    }
    peer.answered("2.2.2-21", &question).map(|_| ())
}

fn max_fragmented_size(peer: &Peer<'_>) -> Result<u32, Stop> {
    peer.announced().as_ref().map(Announced::max_fragmented_size).map_err(Clone::clone)
}

pub(super) fn remaining_too_much(play: &mut Play) -> Result<(), Stop> {
    const ALL: &str = "3.1.5.8-06 3.1.5.8-07";
    let mut peer = play.established_on(&Terms::many_credits())?;
    let most = max_fragmented_size(&peer)?;
    peer.send(&Data::empty().remaining(most.saturating_add(1)))?;
    peer.ends(ALL);
    ends_after(play, ALL, &[Data::empty().remaining(u32::MAX)])
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
        peer.ends("3.1.5.8-21");
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
