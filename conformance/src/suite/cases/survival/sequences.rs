//! Sequences of fragments: without end, beyond any length, and in very many pieces.

use std::time::Duration;

use super::{Becomes, SHORT, alone, some};
use crate::suite::basis::Basis;
use crate::suite::{Data, Grant, Peer, Play, Stop, Terms};

/// Of a fragment that does not continue what the one before it left to come.
const OTHER: &str = "3.1.5.8-19";
const TOO_LONG: &str = "3.1.5.8-06 3.1.5.8-07";
/// Most fragments of one sequence.
const FRAGMENTS_MAX: u32 = 20_000;
/// The same where each announces 4 GiB.
const ANNOUNCED_MAX: u32 = 1000;
/// A connection is down so long after what ends it.
const ENDS_WITHIN: Duration = Duration::from_secs(12);
/// The script stops here: so many times the longest message that the subject puts together.
const TIMES: u64 = 4;
/// Bytes of a message in very many fragments, each of one byte; and where time is real.
const PIECES: usize = 30_000;
const PIECES_REAL: usize = 3000;

/// RemainingDataLength of the fragments of a sequence.
#[derive(Clone, Copy, Debug)]
enum Remaining {
    /// The same in each.
    Constant,
    /// The same in each, and as much as the subject takes in one message.
    Longest,
    /// More in each.
    Growing,
    /// Less in each, but by less than it has brought.
    Falling,
    /// The same in each until more has come than one message may have; then there is a last one.
    EndsTooLate,
}

impl Remaining {
    const ALL: [Self; 5] = [Self::Constant, Self::EndsTooLate, Self::Growing, Self::Longest, Self::Falling];

    const fn words(self) -> &'static str {
        match self {
            Self::Constant => "RemainingDataLength 1000 in every fragment",
            Self::Longest => "RemainingDataLength as large as may be in every fragment",
            Self::Growing => "a RemainingDataLength that grows with every fragment",
            Self::Falling => "a RemainingDataLength that falls by 1 with every fragment",
            Self::EndsTooLate => "a last fragment beyond MaxFragmentedSize",
        }
    }

    /// Behind `sent` bytes, in a fragment of `len`.
    fn of(self, sent: u64, len: u64, max: u64) -> u32 {
        let value = match self {
            Self::Constant => 1000,
            Self::Longest => max.saturating_sub(len),
            Self::Growing => 1000_u64.saturating_add(sent).min(max.saturating_sub(len)),
            Self::Falling => max.saturating_sub(len).saturating_sub(sent / len.max(1)).max(1),
            Self::EndsTooLate if sent > max => 0,
            Self::EndsTooLate => 1000,
        };
        u32::try_from(value).unwrap_or(u32::MAX)
    }
}

/// Credits that the script asks for: as usual, and as many as there can be.
const ASKED: [u16; 2] = [u16::MAX, 255];

/// As in most cases, with so many credits asked for in the negotiation and in every message. As many receives are kept as
/// there are usually.
fn terms(asked: u16) -> Terms {
    let mut terms = Terms::default();
    (terms.request.credits_requested, terms.response.credits_requested) = (asked, asked);
    terms
}

/// Fragment `index` of a sequence: with the first one the subject gets all credits there are, where the script asks for all.
/// No other brings more than was used.
fn granting(peer: &Peer<'_>, data: Data, index: u32, asked: u16) -> Data {
    let missing = i64::from(u16::MAX).saturating_sub(peer.granted());
    match u16::try_from(missing) {
        Ok(missing) if index == 0 && asked == u16::MAX => Data { grant: Grant::Claimed(missing), ..data },
        _ if index == 0 => data,
        _ => Data { grant: Grant::Used, ..data },
    }
}

pub(super) fn without_end(play: &mut Play) -> Result<(), Stop> {
    for remaining in some(play, &Remaining::ALL, 3) {
        for asked in ASKED {
            endless(play, *remaining, asked)?;
        }
    }
    Ok(())
}

fn endless(play: &mut Play, remaining: Remaining, asked: u16) -> Result<(), Stop> {
    alone(play, &terms(asked), (Becomes::Down, OTHER), |peer, what| {
        let room = usize::try_from(peer.send_size()?.saturating_sub(24)).unwrap_or(usize::MAX);
        let max = u64::from(peer.announced()?.max_fragmented_size());
        // The bytes are those of a message that the upper layer would take.
        let payload: Vec<_> = peer.message(2, SHORT)?.iter().copied().cycle().take(room).collect();
        let len = payload.len() as u64;
        let (mut sent, mut fragments) = (0_u64, 0);
        while sent <= TIMES.saturating_mul(max) && fragments < FRAGMENTS_MAX {
            let data = Data::of(&payload).remaining(remaining.of(sent, len, max));
            let data = granting(peer, data, fragments, asked);
            // Without a credit or a connection nothing can be sent any more: what became of it is looked at behind.
            if !peer.credit_within(ENDS_WITHIN) || !peer.try_send(&data)? {
                break;
            }
            (sent, fragments) = (sent.saturating_add(len), fragments + 1);
            *what = format!(
                "{fragments} fragments of {len} bytes with {} ({asked} credits asked for)",
                remaining.words()
            );
            if data.remaining == 0 {
                break;
            }
        }
        Ok(())
    })
}

pub(super) fn announces_gigabytes(play: &mut Play) -> Result<(), Stop> {
    for asked in ASKED {
        for good in [0, 1] {
            announced(play, good, asked)?;
        }
    }
    Ok(())
}

/// A fragment with RemainingDataLength 0xFFFFFFFF, behind so many good ones. Whoever takes it gets more of them.
fn announced(play: &mut Play, good: u32, asked: u16) -> Result<(), Stop> {
    alone(play, &terms(asked), (Becomes::Down, TOO_LONG), |peer, what| {
        let payload = peer.message(3, SHORT)?;
        for index in 0..ANNOUNCED_MAX {
            let remaining = if index < good { 1000 } else { u32::MAX };
            let data = Data::of(&payload).remaining(remaining);
            let data = granting(peer, data, index, asked);
            // Without a credit or a connection nothing can be sent any more: what became of it is looked at behind.
            if !peer.credit_within(ENDS_WITHIN) || !peer.try_send(&data)? {
                break;
            }
            *what = format!(
                "{} fragments, {good} with RemainingDataLength 1000, then 0xFFFFFFFF ({asked} credits asked for)",
                index + 1
            );
            if index == good {
                let down = peer.down_within(peer.last_said(), ENDS_WITHIN);
                let text =
                    || format!("the first announcement of 4 GiB should end the connection, it is up: {what}");
                if !down && let Some(stop) = peer.play().lacks(Basis::End, &text()) {
                    return Err(stop);
                }
                peer.check(TOO_LONG, down, text);
            }
        }
        Ok(())
    })
}

fn pieces(play: &Play) -> usize {
    if play.is_real() { PIECES_REAL } else { PIECES }
}

/// Sends all but so many of the bytes, each in a fragment of its own, as long as the connection is up.
fn in_pieces(peer: &mut Peer<'_>, bytes: &[u8], kept: usize, what: &mut String) -> Result<(), Stop> {
    let mut sent = 0;
    let mut goes_on = Ok(true);
    for piece in bytes.chunks(1).take(bytes.len().saturating_sub(kept)) {
        let remaining = u32::try_from(bytes.len().saturating_sub(sent + 1)).unwrap_or(u32::MAX);
        goes_on = peer.try_send(&Data { grant: Grant::Used, ..Data::of(piece).remaining(remaining) });
        if goes_on != Ok(true) {
            break;
        }
        sent += 1;
    }
    *what = format!("{sent} of {} fragments of 1 byte", bytes.len());
    goes_on.map(|_| ())
}

pub(super) fn of_one_byte(play: &mut Play) -> Result<(), Stop> {
    const WHOLE: &str = "3.1.5.8-17 3.1.5.8-24";
    let len = pieces(play);
    alone(play, &terms(255), (Becomes::Up, WHOLE), |peer, what| {
        let question = peer.message(4, len)?;
        in_pieces(peer, &question, 0, what)?;
        if !peer.is_down() {
            peer.answered(WHOLE, &question)?;
        }
        Ok(())
    })
}

pub(super) fn never_the_last(play: &mut Play) -> Result<(), Stop> {
    let len = pieces(play) / 2;
    for asked in ASKED {
        alone(play, &terms(asked), (Becomes::Up, "3.1.5.8-18"), |peer, what| {
            let question = peer.message(5, SHORT)?;
            let bytes: Vec<_> = question.iter().copied().cycle().take(len).collect();
            in_pieces(peer, &bytes, 1, what)
        })?;
    }
    Ok(())
}
