//! One step of a direction, before its bytes are looked up.

use smbd_core::Access;

use crate::relay::BufferId;

/// What one direction wants to be done. Unlike an action it borrows from what has arrived only.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Step<'a> {
    ToServer { bytes: ToServer<'a>, remaining: u32 },
    ToClient(ToClient<'a>),
    Store { buffer: BufferId, offset: u32, bytes: ToServer<'a> },
    Zero { buffer: BufferId, offset: u32, len: u32 },
    Register { buffer: BufferId, access: Access },
    Deregister { buffer: BufferId },
}

/// Bytes that come from the client, or stand for such.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ToServer<'a> {
    /// The last so many bytes that were taken of those that were kept.
    Held(usize),
    Stream(&'a [u8]),
    /// A part of a request with a channel.
    Request {
        start: usize,
        end: usize,
    },
}

/// Bytes that come from the server, or stand for such.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ToClient<'a> {
    /// The last so many bytes that were taken of those that were kept.
    Held(usize),
    Stream(&'a [u8]),
    /// A part of what stands before the bytes that came.
    Front {
        start: usize,
        end: usize,
    },
    /// Bytes of a buffer.
    Buffer {
        buffer: BufferId,
        offset: u32,
        len: u32,
    },
}

/// What came of trying to go on.
#[derive(Debug)]
pub(super) enum Progress<'a> {
    /// Something changed: go on.
    Moved,
    /// Bytes, room or buffers are missing.
    Blocked,
    Step(Step<'a>),
}
