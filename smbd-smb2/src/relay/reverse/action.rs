//! What goes in and what comes out.

use smbd_core::Access;

use crate::relay::{BufferId, Idle, Reason, Side, Source};
use crate::wire::BufferDescriptorV1;

/// What has arrived from both sides and was not taken yet. [`Reverse::poll`](super::Reverse::poll) takes bytes from the front; what
/// it leaves is given to it again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arrived<'a> {
    /// From the client: the bytes of the stream, cut anywhere.
    pub client: &'a [u8],
    /// From the server.
    pub server: ServerBytes<'a>,
}

/// A piece of one of the server's messages. Pieces come in order; the next message begins when all of this one was taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServerBytes<'a> {
    /// The bytes that were not taken yet.
    pub bytes: &'a [u8],
    /// Bytes of the message that follow them: RemainingDataLength (MS-SMBD 2.2.3).
    pub remaining: u32,
}

/// What the driver has to do. Actions are carried out in the order in which they come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "an action that is not carried out is lost"]
pub enum Action<'r> {
    /// Send the next piece of a message to the server.
    ToServer {
        /// Its bytes.
        bytes: &'r [u8],
        /// Bytes of the message behind them.
        remaining: u32,
    },
    /// Send bytes to the client.
    ToClient(Source<'r>),
    /// Put bytes of the client into a buffer, which the server reads later.
    Store {
        /// The buffer.
        buffer: BufferId,
        /// Where in it, in bytes.
        offset: u32,
        /// The bytes.
        bytes: &'r [u8],
    },
    /// Put zeros into a buffer.
    Zero {
        /// The buffer.
        buffer: BufferId,
        /// Where in it, in bytes.
        offset: u32,
        /// How many; never 0.
        len: u32,
    },
    /// Give the server access to all of a buffer (MS-SMBD 3.1.4.3). [`Event::Registered`] tells its descriptor.
    Register {
        /// The buffer.
        buffer: BufferId,
        /// What the server may do.
        access: Access,
    },
    /// End the server's access to a buffer, also if the server has invalidated its token (MS-SMBD 3.1.4.4). [`Event::Deregistered`]
    /// tells the end of it.
    Deregister {
        /// The buffer.
        buffer: BufferId,
    },
    /// Nothing to do until something arrives, there is more room, or an event comes.
    Idle(Idle),
    /// End both connections, the one that still is. Nothing comes after it.
    Close(Reason),
}

/// What has happened besides arrivals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The server has access to a buffer.
    Registered {
        /// The buffer.
        buffer: BufferId,
        /// All of the buffer, in one piece (MS-SMBD 2.2.3.1).
        descriptor: BufferDescriptorV1,
    },
    /// The server has no access to a buffer any more, and the device does not touch it.
    Deregistered {
        /// The buffer.
        buffer: BufferId,
    },
    /// A registration, or the end of one, has failed.
    Failed {
        /// The buffer.
        buffer: BufferId,
    },
    /// Bytes of a buffer that were given to [`Action::ToClient`] were sent, or copied.
    Sent {
        /// The buffer.
        buffer: BufferId,
        /// How many bytes.
        len: u32,
    },
    /// The next bytes of the client's stream were put into a buffer, where [`Reverse::placement`](super::Reverse::placement) said.
    Placed {
        /// The buffer.
        buffer: BufferId,
        /// How many bytes.
        len: u32,
    },
    /// The connection of a side has ended, for whatever reason.
    Ended(Side),
}
