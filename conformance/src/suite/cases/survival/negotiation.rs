//! A negotiation where none belongs: of SMB Direct, and of SMB2.

use std::time::Duration;

use smbd_core::wire::status::NOT_SUPPORTED;

use super::{Becomes, SHORT, alone};
use crate::suite::{Data, Next, Peer, Play, Request, Response, Stop, Terms, Whole};

/// Each is bad as data: the payload lies outside, or DataOffset is no multiple of 8.
const READ_AS_DATA: &str = "2.2-01 3.1.5.5-05 3.1.5.8-01";
/// An answer to an SMB2 NEGOTIATE would come within this time.
const ANSWER_TIME: Duration = Duration::from_secs(2);

/// A message of a negotiation.
#[derive(Clone, Copy, Debug)]
enum Repeated {
    Request,
    Response,
    Refusal,
}

impl Repeated {
    const fn words(self) -> &'static str {
        match self {
            Self::Request => "a Negotiate Request",
            Self::Response => "a Negotiate Response",
            Self::Refusal => "a Negotiate Response that refuses",
        }
    }

    fn bytes(self, peer: &Peer<'_>) -> Result<Vec<u8>, Stop> {
        let takes = peer.announced()?.max_receive_size();
        let response = Response::default();
        Ok(match self {
            Self::Request => peer.as_sent(&Request::default()).encode(),
            Self::Response => response.encode(takes),
            Self::Refusal => Response { status: NOT_SUPPORTED, ..response }.encode(takes),
        })
    }
}

pub(super) fn in_the_middle(play: &mut Play) -> Result<(), Stop> {
    for repeated in [Repeated::Request, Repeated::Response, Repeated::Refusal] {
        for within in [false, true] {
            alone(play, &Terms::default(), (Becomes::Down, READ_AS_DATA), |peer, what| {
                repeat(peer, repeated, within, what)
            })?;
        }
    }
    Ok(())
}

/// Once between messages, or three times between two fragments.
fn repeat(peer: &mut Peer<'_>, repeated: Repeated, within: bool, what: &mut String) -> Result<(), Stop> {
    let question = peer.message(6, SHORT)?;
    let (times, place) =
        if within { (3, "3 times between two fragments") } else { (1, "once between two messages") };
    if within {
        let (first, second) = question.split_at(question.len() / 2);
        peer.send(&Data::of(first).remaining(u32::try_from(second.len()).unwrap_or(u32::MAX)))?;
        peer.settle();
    }
    let bytes = repeated.bytes(peer)?;
    *what = format!("{} {place}", repeated.words());
    for _ in 0..times {
        peer.post_receives(1)?;
        peer.say(&bytes)?;
    }
    Ok(())
}

pub(super) fn of_smb2(play: &mut Play) -> Result<(), Stop> {
    for next in [true, false] {
        alone(play, &Terms::default(), (Becomes::Any, ""), |peer, what| smb2(peer, next, what))?;
    }
    Ok(())
}

fn smb2(peer: &mut Peer<'_>, next: bool, what: &mut String) -> Result<(), Stop> {
    peer.exchange("3.1.5.8-24", 7, SHORT)?;
    let negotiate = peer.smb2_negotiate(next)?;
    let id = if next { "the next MessageId" } else { "the MessageId of the first" };
    *what = format!("a second SMB2 NEGOTIATE with {id}");
    peer.send(&Data::of(&negotiate))?;
    let answered = is_answered(peer)?;
    peer.check("", !answered, || format!("{what} should not be answered (MS-SMB2 3.3.5.4), it was"));
    // It goes on, or it has ended.
    if !peer.is_down() {
        peer.exchange("", 8, SHORT)?;
    }
    Ok(())
}

/// Whether an SMB2 NEGOTIATE Response with success comes.
fn is_answered(peer: &mut Peer<'_>) -> Result<bool, Stop> {
    let until = peer.play().now().saturating_add(ANSWER_TIME);
    let (mut whole, mut answered) = (Whole::default(), false);
    loop {
        let left = until.saturating_since(peer.play().now());
        let Next::Message(message) = peer.next(left) else { return Ok(answered) };
        let seen = peer.as_data(message)?;
        if whole.take(seen) {
            answered |= peer.is_smb2_negotiated(&whole.payload);
            whole = Whole::default();
        }
    }
}
