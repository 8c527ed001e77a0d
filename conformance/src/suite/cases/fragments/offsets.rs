//! DataOffset: where data begin.

use std::iter;

use super::{BAD, ends_after, settled};
use crate::suite::{Data, Play, Stop, pattern};

/// A message whose payload begins at `offset`, behind padding that is not zero.
fn padded(offset: u32, payload: &[u8]) -> Data {
    let padding = offset.saturating_sub(20) as usize;
    let mut data = Data::at(offset, padding, payload);
    data.body[..padding].fill(0xFF);
    data
}

pub(super) fn any_multiple_of_8(play: &mut Play) -> Result<(), Stop> {
    // Payload at 24 shows what is behind padding with something in it; elsewhere, that the field is heeded.
    const PADDED: &str = "2.2.3-20 +2.2.3-15 +2.2.3-18";
    const ELSEWHERE: &str = "2.2.3-13 +2.2.3-21 +3.1.5.4-16 +3.1.5.8-05";
    let mut peer = settled(play)?;
    let size = peer.send_size()?;
    // The subject may take less than usual.
    let offsets =
        [24, 32, 64, 512, size.saturating_sub(1) / 8 * 8].into_iter().filter(|offset| *offset < size);
    for offset in offsets {
        let statements = if offset == 24 { PADDED } else { ELSEWHERE };
        for (first, len) in [(1, 1), (3, 904)] {
            let question = peer.message(offset.into(), len)?;
            // A short piece, one of a byte, and the rest as there is room for it.
            let room = (size - offset) as usize;
            let mut rest = &question[..];
            for len in [first, 1].into_iter().chain(iter::repeat(room)) {
                let (piece, behind) = rest.split_at(len.min(room).min(rest.len()));
                rest = behind;
                let remaining = u32::try_from(behind.len()).unwrap_or(u32::MAX);
                peer.send(&padded(offset, piece).remaining(remaining))?;
                if rest.is_empty() {
                    break;
                }
            }
            peer.answered(statements, &question)?;
        }
    }
    Ok(())
}

pub(super) fn inside_the_header(play: &mut Play) -> Result<(), Stop> {
    for offset in [0, 8, 16] {
        ends_after(play, ("2.2.3-13", "2.2.3-13"), &[Data { offset, ..Data::of(&pattern(1, 100)) }])?;
    }
    Ok(())
}

pub(super) fn of_empty_messages(play: &mut Play) -> Result<(), Stop> {
    for offset in [1, 4, 20, 23, 24, 0xFFFF_FFF8, 0xFFFF_FFFF] {
        let rule = if offset % 8 == 0 { "3.1.5.8-05" } else { "3.1.5.8-04" };
        ends_after(play, (rule, BAD), &[Data { offset, ..Data::empty() }])?;
    }
    Ok(())
}
