//! Undefined bits and bytes, and deviations that a receiver accepts.

use std::time::Duration;

use super::{ends_after, settled};
use crate::suite::{Data, Next, Peer, Play, Seen, Stop, pattern};

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
    peer.require(statements, up, || "the message should be taken, the connection went down".into())
}

/// A probe gets a message without data: nothing was given to the upper layer.
fn nothing_echoed(peer: &mut Peer<'_>, statements: &str) -> Result<(), Stop> {
    taken(peer, statements)?;
    peer.send(&Data::probe())?;
    let seen = peer.expect_data(statements, Duration::from_secs(5))?;
    no_data(peer, statements, &seen);
    Ok(())
}

fn no_data(peer: &mut Peer<'_>, statements: &str, seen: &Seen) {
    let header = seen.header;
    peer.check(statements, header.data_length == 0, || {
        format!("a message without data should come, {header:?} came")
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
    let answer = peer.expect_data("3.1.5.8-14", Duration::from_secs(5))?;
    no_data(&mut peer, "3.1.5.8-14 3.1.5.8-17", &answer);
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
    peer.quiet("2.2.3-04 2.2.3-06");
    let question = peer.message(2, 100)?;
    peer.send(&Data { flags: 0x8000, ..Data::of(&question) })?;
    let whole = peer.answered("2.2.3-04", &question)?;
    let empties = whole.empties.len();
    peer.check("2.2.3-06", empties == 0, || format!("{empties} messages came that nobody had asked for"));
    peer.send(&Data { flags: 0xFFFF, ..Data::empty().granting(1) })?;
    let answer = peer.expect_data("2.2.3-06", Duration::from_secs(5))?;
    let flags = answer.header.flags.0;
    peer.check("2.2.3-04 2.2.3-06", flags == 0, || format!("Flags should be 0, they are {flags}"));
    no_data(&mut peer, "2.2.3-06", &answer);
    Ok(())
}

pub(super) fn no_meaning(play: &mut Play) -> Result<(), Stop> {
    let mut peer = settled(play)?;
    let question = peer.message(3, 100)?;
    let mut data = Data { reserved: 0xFFFF, ..Data::of(&question) };
    data.body[..4].fill(0xFF);
    peer.send(&data)?;
    peer.answered("2.2-07 2.2.3-08 2.2.3-10 2.2.3-20", &question)?;
    let question = peer.message(4, 100)?;
    peer.send(&followed(Data::of(&question), 300))?;
    peer.answered("2.2-10", &question)?;
    peer.send(&followed(Data::empty().granting(1), 300))?;
    nothing_echoed(&mut peer, "2.2-10")
}

pub(super) fn refused_if_strict(play: &mut Play) -> Result<(), Stop> {
    let payload = pattern(5, 1500);
    let unfinished = Data::of(&payload[..500]).remaining(1000);
    ends_after(play, "3.1.5.8-21", &[unfinished, Data::empty().granting(3)])?;
    ends_after(play, "", &[Data { offset: 8, ..Data::empty() }])?;
    ends_after(play, "", &[followed(Data::of(&payload[..100]), 300)])?;
    // What nobody can object to is taken all the same.
    let mut peer = settled(play)?;
    let question = peer.message(5, 100)?;
    peer.send(&Data { reserved: 0xFFFF, flags: 0x8000, ..Data::of(&question) })?;
    peer.answered("", &question)?;
    let next = peer.next(Duration::from_secs(1));
    peer.check("", next == Next::Nothing, || format!("nothing else should come, {next:?} came"));
    Ok(())
}
