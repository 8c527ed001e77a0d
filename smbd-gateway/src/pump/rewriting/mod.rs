//! What a pump drives, in either direction.

mod forward;
mod reverse;

use smbd_core::{Access, RdmaVerb};
use smbd_smb2::relay::{BufferId, Misuse, Placement, Reason, Side, Source, Statistics, Transfer};
use smbd_smb2::wire::{BufferDescriptorV1, Dialect, Token};

/// Rewrites the messages of one connection, between a side over SMB Direct and a side over a stream:
/// [`Relay`](smbd_smb2::relay::Relay) has the client over SMB Direct, [`Reverse`](smbd_smb2::relay::reverse::Reverse) the server.
pub trait Rewriting {
    /// The side over the stream.
    const STREAM: Side;

    /// The buffers of each way, and the bytes of each.
    fn buffers(&self) -> (u16, u32);

    /// The next thing to do. It takes bytes off the front of `arrived`, and gives neither side more than its `room`.
    fn poll<'r, 'a: 'r>(&'r mut self, arrived: &mut Arrived<'a>, room: Room) -> Action<'r>;

    /// Takes what has happened.
    ///
    /// # Errors
    /// The buffer is not used for what was reported.
    fn handle(&mut self, event: Event) -> Result<(), Misuse>;

    /// Where the next bytes of the stream can be put, instead of offering them.
    fn placement(&mut self) -> Option<Placement>;

    /// Whether a message of the stream has come in part, or was not sent in full. It may be an answer that the statistics count already.
    fn is_amid_message(&self) -> bool;

    /// What has passed.
    fn statistics(&self) -> &Statistics;

    /// Whether data of the stream's messages have gone by RDMA.
    fn has_rdma(&self) -> bool;

    /// The dialect that the server has chosen, once it has.
    fn dialect(&self) -> Option<Dialect>;

    /// Whether a session is established.
    fn has_session(&self) -> bool;
}

/// What has arrived from both sides and was not taken.
#[derive(Clone, Copy, Debug)]
pub struct Arrived<'a> {
    /// The rest of a piece of a message, over SMB Direct.
    pub piece: &'a [u8],
    /// Bytes of the message that follow the piece.
    pub remaining: u32,
    /// Bytes of the stream, cut anywhere.
    pub stream: &'a [u8],
}

/// How many bytes each side takes now.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    /// The side over SMB Direct.
    pub messages: usize,
    /// The stream.
    pub stream: usize,
}

/// What a pump has to do. Actions are carried out in the order in which they come.
#[derive(Debug)]
pub enum Action<'r> {
    /// Send bytes to the stream.
    ToStream(Source<'r>),
    /// Send the next piece of a message over SMB Direct.
    ToPeer {
        /// Data that are written to the peer's memory before.
        write: Option<Transfer>,
        /// Bytes of the message.
        bytes: &'r [u8],
        /// Bytes of the message behind them.
        remaining: u32,
        /// The token that the message invalidates.
        invalidate: Option<Token>,
    },
    /// Move data between a buffer and the peer's memory.
    Rdma(RdmaVerb, Transfer),
    /// Put bytes into a buffer.
    Store {
        /// The buffer.
        buffer: BufferId,
        /// Where the bytes go, in bytes.
        offset: u32,
        /// The bytes.
        bytes: &'r [u8],
    },
    /// Put zeros into a buffer.
    Zero {
        /// The buffer.
        buffer: BufferId,
        /// Where the zeros go, in bytes.
        offset: u32,
        /// Their number.
        len: u32,
    },
    /// Give the peer access to all of a buffer.
    Register {
        /// The buffer.
        buffer: BufferId,
        /// What the peer may do.
        access: Access,
    },
    /// End the peer's access to a buffer.
    Deregister {
        /// The buffer.
        buffer: BufferId,
    },
    /// Nothing to do until something arrives, there is more room, or an event comes.
    Idle,
    /// End both connections.
    Close(Reason),
}

/// What has happened besides arrivals.
#[derive(Clone, Copy, Debug)]
pub enum Event {
    /// An RDMA operation has ended.
    RdmaDone {
        /// Its buffer.
        buffer: BufferId,
        /// Whether all bytes were moved.
        is_success: bool,
    },
    /// The peer has access to a buffer.
    Registered {
        /// The buffer.
        buffer: BufferId,
        /// All of the buffer.
        descriptor: BufferDescriptorV1,
    },
    /// The peer has no access to a buffer any more.
    Deregistered {
        /// The buffer.
        buffer: BufferId,
    },
    /// A registration, or the end of one, has failed.
    Failed {
        /// The buffer.
        buffer: BufferId,
    },
    /// Bytes of a buffer were sent to the stream.
    Sent {
        /// The buffer.
        buffer: BufferId,
        /// How many bytes.
        len: u32,
    },
    /// The next bytes of the stream were put into a buffer, where [`Rewriting::placement`] said.
    Placed {
        /// The buffer.
        buffer: BufferId,
        /// How many bytes.
        len: u32,
    },
    /// The stream has ended.
    StreamEnded,
}
