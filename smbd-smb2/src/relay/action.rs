//! What goes in and what comes out.

use alloc::sync::Arc;

use thiserror::Error;

use super::reason::Reason;
pub use crate::side::Side;
use crate::wire::{BufferDescriptorV1, Token};

/// What has arrived from both sides and was not taken yet. [`Relay::poll`](super::Relay::poll) takes bytes from the front; what it
/// leaves is given to it again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arrived<'a> {
    /// From the client.
    pub client: ClientBytes<'a>,
    /// From the server: the bytes of the stream, cut anywhere.
    pub server: &'a [u8],
}

/// A piece of one of the client's messages. Pieces come in order; the next message begins when all of this one was taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClientBytes<'a> {
    /// The bytes that were not taken yet.
    pub bytes: &'a [u8],
    /// Bytes of the message that follow them: RemainingDataLength (MS-SMBD 2.2.3).
    pub remaining: u32,
}

/// How many bytes each side takes now. It may be less than it could be, and 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Room {
    /// What the client's connection takes.
    pub client: usize,
    /// What the server's stream takes.
    pub server: usize,
}

/// Which way the data in a buffer go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Way {
    /// Data of WRITEs: read from the client's memory and sent to the server, or the [other way round](super::reverse) received from
    /// the client and read by the server.
    ToServer,
    /// Data of READs: received from the server and written to the client's memory, or written by the server and sent to the client.
    ToClient,
}

/// One of the driver's buffers: there are as many for each way as the configuration says, from index 0 on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BufferId {
    /// Which way its data go.
    pub way: Way,
    /// Which one of that way.
    pub index: u16,
}

/// Bytes that leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source<'r> {
    /// Bytes as they arrived or as they were rewritten. They are to be copied, or sent, before the next call.
    Bytes(&'r [u8]),
    /// Bytes of one of the driver's buffers. They stay there until the driver says [`Event::Sent`], which does not count those before
    /// them.
    Buffer {
        /// Bytes that go before them, the front of the same message; often none. They are like those of [`Self::Bytes`].
        head: &'r [u8],
        /// Which buffer.
        buffer: BufferId,
        /// Where in it, in bytes.
        offset: u32,
        /// How many bytes.
        len: u32,
    },
}

impl Source<'_> {
    /// How many bytes they are.
    #[must_use]
    pub const fn len(&self) -> usize {
        match self {
            Self::Bytes(bytes) => bytes.len(),
            Self::Buffer { head, len, .. } => head.len().saturating_add(*len as usize),
        }
    }

    /// Whether they are none. A relay never sends none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// An RDMA operation between the beginning of a buffer and memory of the client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// The buffer. It is not used for anything else before [`Event::RdmaDone`].
    pub buffer: BufferId,
    /// Number of bytes.
    pub len: u32,
    /// The client's memory.
    pub remote: Arc<[BufferDescriptorV1]>,
    /// Where in that memory, in bytes from the beginning of the first descriptor.
    pub offset: u64,
}

/// A place for bytes of the server's stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placement {
    /// A buffer.
    pub buffer: BufferId,
    /// Where in it, in bytes.
    pub offset: u32,
    /// How many bytes there can be put there; never 0.
    pub len: u32,
    /// Whether these are the last data of their message: what comes behind them can be received with them, and is offered then.
    pub is_last: bool,
}

/// What the driver has to do. Actions are carried out in the order in which they come.
#[derive(Clone, Debug, PartialEq)]
#[must_use = "an action that is not carried out is lost"]
pub enum Action<'r> {
    /// Send bytes to the server.
    ToServer(Source<'r>),
    /// Send the next piece of a message to the client.
    ToClient {
        /// The last data of the READ that it answers: to be written before, like those of [`Self::RdmaWrite`].
        write: Option<Transfer>,
        /// Its bytes.
        bytes: &'r [u8],
        /// Bytes of the message behind them.
        remaining: u32,
        /// The token that the last piece of the message invalidates; the same in all pieces (3.3.5.12, 3.3.5.13).
        invalidate: Option<Token>,
    },
    /// Read from the client's memory (MS-SMBD 3.1.4.6).
    RdmaRead(Transfer),
    /// Write to the client's memory (MS-SMBD 3.1.4.5). What goes to the client after it arrives after it; nobody has to wait for its
    /// end. The last data of a READ mostly go with its answer: [`Self::ToClient`].
    RdmaWrite(Transfer),
    /// Put bytes of the server into a buffer, which is written to the client's memory later.
    Store {
        /// The buffer.
        buffer: BufferId,
        /// Where in it, in bytes.
        offset: u32,
        /// The bytes.
        bytes: &'r [u8],
    },
    /// Nothing to do until something arrives, there is more room, or an event comes.
    Idle(Idle),
    /// End both connections, the one that still is. Nothing comes after it.
    Close(Reason),
}

/// Which sides are held up. A driver that reads no more from such a side holds it up by its own means: credits of SMB Direct, and
/// the window of TCP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Idle {
    /// Bytes of the client were left: pause it. Otherwise resume it.
    pub pause_client: bool,
    /// Bytes of the server were left: pause it. Otherwise resume it.
    pub pause_server: bool,
}

impl Idle {
    pub(super) const fn with(left: &Arrived<'_>) -> Self {
        Self { pause_client: !left.client.bytes.is_empty(), pause_server: !left.server.is_empty() }
    }
}

/// What has happened besides arrivals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// An RDMA operation has ended.
    RdmaDone {
        /// Its buffer.
        buffer: BufferId,
        /// Whether all bytes were moved. If not, the client's connection is over as well.
        is_success: bool,
    },
    /// Bytes of a buffer that were given to [`Action::ToServer`] were sent, or copied.
    Sent {
        /// The buffer.
        buffer: BufferId,
        /// How many bytes.
        len: u32,
    },
    /// The next bytes of the server's stream were put into a buffer, where [`Relay::placement`](super::Relay::placement) said.
    Placed {
        /// The buffer.
        buffer: BufferId,
        /// How many bytes.
        len: u32,
    },
    /// The connection of a side has ended, for whatever reason.
    Ended(Side),
}

/// The driver reports something of a buffer that cannot be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{event} was reported of buffer {} {:?}, which is not due", .buffer.index, .buffer.way)]
pub struct Misuse {
    /// What was reported.
    pub event: &'static str,
    /// The buffer.
    pub buffer: BufferId,
}
