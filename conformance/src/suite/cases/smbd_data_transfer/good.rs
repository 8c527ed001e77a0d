//! Valid messages.

use super::LONG;
use crate::suite::{Data, PATIENCE, Peer, Play, Seen, Stop, Terms};

pub(super) fn small(play: &mut Play) -> Result<(), Stop> {
    let mut peer = play.established_on(&Terms::many_credits())?;
    let echo =
        peer.exchange("3.1.5.8-24 +1.7-04 +2.2-02 +2.2.3-12 +2.2.3-16 +2.2.3-21 +3.1.5.4-10", 1, 500)?;
    let Some(seen) = echo.fragments.first() else { return Ok(()) };
    let header = seen.header;
    asks_for_credits(&mut peer, seen);
    peer.check("2.2.3-15 3.1.5.4-12 +2.2.3-13", header.data_offset % 8 == 0, || {
        format!("DataOffset should be a multiple of 8, it is {}", header.data_offset)
    });
    Ok(())
}

/// Nobody may ask for no credits.
fn asks_for_credits(peer: &mut Peer<'_>, seen: &Seen) {
    peer.check("3.1.5.8-03 +2.2.3-02", seen.header.credits_requested > 0, || {
        "CreditsRequested should be 1 at least, it is 0".into()
    });
}

/// Messages without data: 20 bytes that give and ask for credits, and nothing else. Counted for what the case lists.
fn empties(peer: &mut Peer<'_>, all: &[Seen]) {
    let id = peer.id();
    let play = peer.play();
    for seen in all {
        let (header, len) = (seen.header, seen.message.bytes.len());
        let (reserved, remaining) = (seen.reserved(), header.remaining_data_length);
        let (offset, length, flags) = (header.data_offset, header.data_length, header.flags.0);
        let fields = [
            ("3.1.5.4-08 +2.2.3-01 +3.1.5.9-09", "the length", len as u64, 20),
            ("3.1.5.1-14 +2.2.3-07", "Flags", flags.into(), 0),
            ("2.2-06 2.2.3-09 3.1.5.4-04", "Reserved", reserved.into(), 0),
            ("3.1.5.4-05", "RemainingDataLength", remaining.into(), 0),
            ("2.2.3-14 3.1.5.4-06", "DataOffset", offset.into(), 0),
            ("2.2.3-17 3.1.5.4-07", "DataLength", length.into(), 0),
        ];
        for (statements, name, value, wanted) in fields {
            if play.is_about(statements) {
                play.shared(id, statements, value == wanted, || {
                    format!("{name} of a message without data should be {wanted}, it is 0x{value:x}")
                });
            }
        }
    }
}

pub(super) fn moderate(play: &mut Play) -> Result<(), Stop> {
    let mut peer = play.established_on(&Terms::many_credits())?;
    let question = peer.message_for(2, LONG, LONG)?;
    let fragments = peer.fragments(&question)?;
    let count = u16::try_from(fragments.len()).unwrap_or(u16::MAX);
    let first = peer.credits();
    for (fragment, asked) in fragments.iter().zip((1..=count).rev()) {
        peer.send(&fragment.clone().requesting(asked))?;
    }
    let whole = peer.answered("3.1.5.8-17 +3.1.5.8-18 +3.1.5.8-19 +3.1.5.8-24", &question)?;
    // Who had more than was asked for gets nothing new, whoever had less gets no more than that.
    let (credits, most) = (peer.credits(), (first - i64::from(count)).max(i64::from(count)));
    peer.check("3.1.5.8-12", credits <= most, || {
        format!("{count} credits were asked for at last, {first} were there before: {most} at most should be left, {credits} are")
    });
    empties(&mut peer, &whole.empties);
    // A subject that was never short of credits has sent none yet.
    peer.send(&Data::probe())?;
    let answer = peer.answer("3.1.5.8-14", PATIENCE)?;
    // The answer to another request than the last may come as late as this.
    if answer.payload().is_empty() || peer.answers_in_order() {
        empties(&mut peer, &[answer]);
    }
    Ok(())
}

/// 128, 127, ... 1, 0, 0, 1, 2, 3, ... until all of `total` is shared out.
fn lengths(total: usize) -> impl Iterator<Item = usize> {
    let mut left = total;
    (0..=128).rev().chain(0..).map_while(move |length: usize| {
        let some = length.min(left);
        (left > 0).then(|| {
            left -= some;
            some
        })
    })
}

pub(super) fn variable_lengths(play: &mut Play) -> Result<(), Stop> {
    let mut peer = play.established_on(&Terms::many_credits())?;
    let question = peer.message(3, LONG)?;
    let long = u32::try_from(question.len()).unwrap_or(u32::MAX);
    peer.send(&Data::empty().requesting(255).remaining(long))?;
    let mut rest = &question[..];
    for length in lengths(question.len()) {
        let (piece, behind) = rest.split_at(length);
        rest = behind;
        let remaining = u32::try_from(rest.len()).unwrap_or(u32::MAX);
        peer.send(&Data::of(piece).requesting(255).remaining(remaining))?;
    }
    let whole = peer.answered("3.1.5.8-19 +2.2.3-11 +3.1.5.4-16 +3.1.5.8-17 +3.1.5.8-18", &question)?;
    empties(&mut peer, &whole.empties);
    Ok(())
}

pub(super) fn small_lengths(play: &mut Play) -> Result<(), Stop> {
    let mut peer = play.established_on(&Terms::many_credits())?;
    let question = peer.message(4, LONG)?;
    let full = peer.send_size()? as usize;
    let mut remaining = question.len();
    for byte in question.chunks(1) {
        remaining -= 1;
        let data = Data::of(byte).requesting(255).filled_to(full);
        peer.send(&data.remaining(u32::try_from(remaining).unwrap_or(u32::MAX)))?;
    }
    let whole = peer.answered("3.1.5.8-17 +2.2-10 +3.1.5.4-16 +3.1.5.8-19", &question)?;
    empties(&mut peer, &whole.empties);
    Ok(())
}

pub(super) fn redundancy(play: &mut Play) -> Result<(), Stop> {
    let mut peer = play.established_on(&Terms::many_credits())?;
    let question = peer.message(5, 500)?;
    peer.send(&Data::of(&question).filled_to(1024))?;
    peer.answered("2.2-10 +2.2.3-16 +2.2.3-21", &question).map(|_| ())
}

pub(super) fn max_receive_size(play: &mut Play) -> Result<(), Stop> {
    let mut peer = play.established_on(&Terms::many_credits())?;
    let question = peer.message_for(6, 1024, 1024)?;
    peer.send_fragments(&question)?;
    let whole = peer.answered("3.1.5.4-23", &question)?;
    let mut missing = u32::try_from(whole.payload.len()).unwrap_or(u32::MAX);
    for seen in &whole.fragments {
        let header = seen.header;
        let says = header.data_length.saturating_add(header.remaining_data_length);
        let rule = if header.data_length == missing { "3.1.5.4-17" } else { "3.1.5.4-18" };
        peer.check(&format!("{rule} +2.2.3-11 +3.1.5.4-17 +3.1.5.4-18"), says == missing, || {
            format!("DataLength and RemainingDataLength should make {missing}, they make {says}")
        });
        missing = missing.saturating_sub(header.data_length);
        peer.check("2.2.3-15 3.1.5.4-12", header.data_offset % 8 == 0, || {
            format!("DataOffset should be a multiple of 8, it is {}", header.data_offset)
        });
    }
    Ok(())
}
