//! A payload that DataOffset and DataLength place where no message is, in front of one that the upper layer would take.

use super::{Becomes, SHORT, alone, some};
use crate::suite::{Data, Peer, Play, Stop, Terms};

const OUTSIDE: &str = "3.1.5.8-05 3.1.5.8-07";
/// Multiples of 8, from just below 2^32 down to just outside.
const OFFSETS: [u32; 8] =
    [0xFFFF_FFF8, 0xFFFF_FFF0, 0x8000_0000, 0xFFFF_FFE8, 0xFFFF_F000, 0x8000_0018, 0x7FFF_FFF8, 0x0001_0000];
/// Behind DataOffset 24: just below 2^32, with a sum just above it, negative and not as 32 bits.
const LENGTHS: [u32; 6] = [0xFFFF_FFFF, 0xFFFF_FFE8, 0x8000_0000, 0xFFFF_FFF8, 0x7FFF_FFFF, 0x0001_0000];

/// Where in a connection a message is.
#[derive(Clone, Copy, Debug)]
enum Place {
    /// The first behind the negotiation.
    First,
    /// Behind others.
    Later,
    /// The second fragment of a message.
    Fragment,
}

impl Place {
    const ALL: [Self; 3] = [Self::First, Self::Later, Self::Fragment];

    const fn words(self) -> &'static str {
        match self {
            Self::First => "as the first message",
            Self::Later => "behind others",
            Self::Fragment => "in the second fragment",
        }
    }

    /// All that comes before the bad message, and the good one that is to be made bad.
    fn reached(self, peer: &mut Peer<'_>) -> Result<Data, Stop> {
        if let Self::First = self {
            return Ok(Data::of(&peer.first_message(1, SHORT)?));
        }
        let question = peer.message(1, SHORT)?;
        if let Self::Later = self {
            return Ok(Data::of(&question));
        }
        let (first, second) = question.split_at(question.len() / 2);
        peer.send(&Data::of(first).remaining(length(second)))?;
        Ok(Data::of(second))
    }
}

fn length(bytes: &[u8]) -> u32 {
    u32::try_from(bytes.len()).unwrap_or(u32::MAX)
}

/// The message in this place, with other numbers: its connection ends, and nothing else does.
fn placed(play: &mut Play, place: Place, change: impl Fn(&mut Data)) -> Result<(), Stop> {
    alone(play, &Terms::default(), (Becomes::Down, OUTSIDE), |peer, what| {
        let mut data = place.reached(peer)?;
        change(&mut data);
        let (offset, length) = (data.offset, data.length);
        *what = format!("DataOffset 0x{offset:X} and DataLength 0x{length:X} {}", place.words());
        let sent = peer.try_send(&data)?;
        peer.check(OUTSIDE, sent, || format!("the connection ended before {what}"));
        Ok(())
    })
}

pub(super) fn far_outside(play: &mut Play) -> Result<(), Stop> {
    for place in Place::ALL {
        for offset in some(play, &OFFSETS, 3) {
            placed(play, place, |data| data.offset = *offset)?;
        }
    }
    Ok(())
}

pub(super) fn gigabytes(play: &mut Play) -> Result<(), Stop> {
    for place in Place::ALL {
        for length in some(play, &LENGTHS, 2) {
            placed(play, place, |data| data.length = *length)?;
        }
        // In 32 bits the payload ends where the message does.
        for offset in some(play, &[0xFFFF_FFF8, 0x8000_0000_u32], 1) {
            placed(play, place, |data| {
                let end = length(&data.encode(0, 0));
                (data.offset, data.length) = (*offset, end.wrapping_sub(*offset));
            })?;
        }
    }
    Ok(())
}
