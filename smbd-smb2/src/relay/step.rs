//! One step of a direction.

/// What one direction wants to be done. Bytes and memory are looked up where the action is handed out: passed on from call to call they
/// would be copied in each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Nothing: bytes or room are missing.
    Blocked,
    /// Give the server bytes of the queue.
    Queued,
    /// Give it so many bytes: a rewritten request, which nothing was in the way of.
    Rewritten(u8),
    /// Give it so many bytes of the client as they come.
    Pass(usize),
    /// Give it bytes of a buffer.
    Buffer { index: u16, offset: u32, len: u32 },
    /// Order data of a WRITE into a buffer.
    Read,
    /// Order data of a READ to be written from a buffer.
    Write { index: u16, len: u32 },
    /// Put so many bytes of the server into a buffer.
    Store { index: u16, offset: u32, len: u32 },
    /// Give the client so many bytes of the server.
    Send(usize),
    /// Give it a part of the answer to a READ.
    Answer { start: u8, end: u8 },
}

/// What came of trying to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// Something changed: go on.
    Moved,
    Step(Step),
}

impl Progress {
    pub(super) const BLOCKED: Self = Self::Step(Step::Blocked);
}
