//! Undefined bits and bytes, and deviations that a receiver accepts.

use std::time::Duration;

use super::{ends_after, settled};
use crate::suite::basis::Basis;
use crate::suite::words::Words;
use crate::suite::{Data, Peer, Play, Seen, Stop, pattern};

/// A message with so many bytes behind it.
fn followed(mut data: Data, bytes: usize) -> Data {
    let len = data.body.len() + bytes;
    data.body.resize(len, 0xFF);
    data
}

/// The connection is still there when what was sent has arrived.
fn taken(peer: &mut Peer<'_>, statements: &str) -> Result<(), Stop> {
    peer.settle();
    let up = !peer.is_down();
    if up {
        return peer.require(statements, true, String::new);
    }
    let text = "the message should be taken, the connection went down";
    for basis in [Basis::Answer, Basis::Echo(3000)] {
        if let Some(stop) = peer.play().lacks(basis, text) {
            return Err(stop);
        }
    }
    peer.require(statements, false, || text.into())
}

/// A probe gets a message without data: nothing was given to the upper layer.
fn nothing_echoed(peer: &mut Peer<'_>, statements: &str) -> Result<(), Stop> {
    taken(peer, statements)?;
    peer.send(&Data::probe())?;
    let seen = peer.answer(statements, Duration::from_secs(5))?;
    no_data(peer, statements, &seen);
    Ok(())
}

fn no_data(peer: &mut Peer<'_>, statements: &str, seen: &Seen) {
    peer.check(statements, seen.header.data_length == 0, || {
        format!("a message without data should come, {} came", seen.words())
    });
}

pub(super) fn empties_between(play: &mut Play) -> Result<(), Stop> {
    let mut peer = settled(play)?;
    let question = peer.message(1, 3000)?;
    let mut fragments = peer.fragments(&question)?.into_iter();
    let Some(first) = fragments.next() else { return Ok(()) };
    peer.send(&first)?;
    peer.send(&Data::empty().granting(3))?;
    taken(&mut peer, "3.1.5.8-17")?;
    peer.send(&Data::probe())?;
    let answer = peer.answer("3.1.5.8-14", Duration::from_secs(5))?;
    no_data(&mut peer, "2.2.3-12", &answer);
    for fragment in fragments {
        peer.send(&fragment)?;
    }
    peer.answered("3.1.5.8-17", &question)?;
    Ok(())
}

pub(super) fn offset_without_data(play: &mut Play) -> Result<(), Stop> {
    let mut peer = settled(play)?;
    let mut with_padding = Data { offset: 24, ..Data::empty() };
    with_padding.body = vec![0; 4];
    let inside = |offset| Data { offset, ..Data::empty() };
    for data in [with_padding, inside(8), inside(16)] {
        peer.send(&data)?;
        nothing_echoed(&mut peer, "3.1.5.4-16")?;
    }
    Ok(())
}

pub(super) fn unknown_flags(play: &mut Play) -> Result<(), Stop> {
    let mut peer = settled(play)?;
    peer.send(&Data { flags: 0xFFFE, ..Data::empty().granting(2) })?;
    peer.nothing_more("2.2.3-06 +2.2.3-04")?;
    let question = peer.message(2, 100)?;
    peer.send(&Data { flags: 0x8000, ..Data::of(&question) })?;
    peer.answered("2.2.3-04", &question)?;
    peer.send(&Data { flags: 0xFFFF, ..Data::empty().granting(1) })?;
    let answer = peer.answer("2.2.3-06", Duration::from_secs(5))?;
    no_data(&mut peer, "3.1.5.8-24", &answer);
    Ok(())
}

pub(super) fn no_meaning(play: &mut Play) -> Result<(), Stop> {
    let mut peer = settled(play)?;
    let question = peer.message(3, 100)?;
    let mut data = Data::of(&question);
    data.body[..4].fill(0xFF);
    peer.send(&data)?;
    peer.answered("2.2.3-20", &question)?;
    let question = peer.message(3, 100)?;
    peer.send(&Data { reserved: 0xFFFF, ..Data::of(&question) })?;
    peer.answered("2.2-07 2.2.3-10 +2.2.3-08 +2.2.3-20", &question)?;
    let question = peer.message(4, 100)?;
    peer.send(&followed(Data::of(&question), 300))?;
    peer.answered("2.2-10", &question)?;
    peer.send(&followed(Data::empty().granting(1), 300))?;
    nothing_echoed(&mut peer, "2.2-10")
}

pub(super) fn refused_if_strict(play: &mut Play) -> Result<(), Stop> {
    let payload = pattern(5, 1500);
    let unfinished = Data::of(&payload[..500]).remaining(1000);
    const MISSING: &str = "3.1.5.8-21";
    ends_after(play, (MISSING, MISSING), &[unfinished, Data::empty().granting(3)])?;
    ends_after(play, ("", ""), &[Data { offset: 8, ..Data::empty() }])?;
    ends_after(play, ("", ""), &[followed(Data::of(&payload[..100]), 300)])?;
    // What nobody can object to is taken all the same.
    let mut peer = settled(play)?;
    let question = peer.message(5, 100)?;
    peer.send(&Data { reserved: 0xFFFF, flags: 0x8000, ..Data::of(&question) })?;
    peer.answered("3.1.5.8-24", &question)?;
    peer.nothing_more("3.1.5.1-19")
}
