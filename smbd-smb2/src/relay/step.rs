//! One step of a direction, before its bytes are looked up.

use super::action::Transfer;
use super::queue::Next;
use crate::wire::Token;

/// What one direction wants to be done. Unlike an action it borrows from what has arrived only. It is written where the relay wants
/// it: passed on from call to call it would be copied in each.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Step<'a> {
    ToServer(ToServer<'a>),
    ToClient { bytes: ToClient<'a>, remaining: u32, invalidate: Option<Token> },
    RdmaRead(Transfer),
    RdmaWrite(Transfer),
    Store { index: u16, offset: u32, bytes: ToClient<'a> },
}

/// Bytes for the server.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ToServer<'a> {
    Queue(Next),
    Stream(&'a [u8]),
}

/// Bytes that come from the server, or stand for such.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ToClient<'a> {
    /// The last so many bytes that were taken of those that were kept.
    Held(usize),
    Stream(&'a [u8]),
    /// A part of the answer to a READ.
    Answer {
        start: usize,
        end: usize,
    },
}

/// What came of trying to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// Something changed: go on.
    Moved,
    /// Bytes or room are missing.
    Blocked,
    /// There is a step.
    Stepped,
}
