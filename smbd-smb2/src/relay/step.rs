//! One step of a direction. Bytes and memory are looked up where the action is handed out: passed on from call to call they would be
//! copied in each.

use core::convert::Infallible;

/// What is to be done with the client's messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Up {
    /// Give the server bytes of the queue.
    Queued,
    /// Give it a rewritten request, which nothing was in the way of.
    Rewritten,
    /// Give it so many bytes of the client as they come.
    Pass(usize),
    /// Give it bytes of a buffer, behind what is given of the queue.
    Buffer { index: u16, offset: u32, len: u32 },
    /// Order data of a WRITE into a buffer.
    Read,
}

/// What is to be done with the server's messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Down {
    /// Order data of a READ to be written from a buffer; with the last ones goes the answer.
    Write { index: u16, len: u32, is_last: bool },
    /// Put so many bytes of the server into a buffer.
    Store { index: u16, offset: u32, len: u32 },
    /// Give the client so many bytes of the server.
    Send(usize),
    /// Give it a whole message of so many bytes.
    Whole(usize),
    /// Give it a part of the answer to a READ.
    Answer { start: u8, end: u8 },
}

/// What came of trying to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress<S = Infallible> {
    /// Something changed: go on.
    Moved,
    Step(S),
    /// Nothing: bytes or room are missing.
    Blocked,
}
