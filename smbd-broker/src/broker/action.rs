//! What a broker wants done.

use std::sync::Arc;

use bytes::Bytes;
use smbd_core::BufferDescriptorV1;

pub use super::ids::{ConnectionId, OwnerId, TransferId};
use super::log::Log;
use crate::wire::{Area, Direction, Invalidate, Packet};

/// A file descriptor that goes with a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attachment {
    /// The owner's end of a new socket of this connection. The other end is the broker's.
    Socket(ConnectionId),
    /// The memfd that was made for these slots.
    Memory {
        /// Whose they are.
        owner: OwnerId,
        /// The first of them.
        first: u16,
    },
}

/// What a broker wants done. What concerns a connection is done in its order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Send a packet on the socket of an owner.
    ToOwner {
        /// The owner.
        owner: OwnerId,
        /// The packet.
        packet: Packet,
        /// What goes with it.
        attachment: Option<Attachment>,
    },
    /// Close the socket of an owner when what was to be sent is sent, and tell [`owner_left`](super::Broker::owner_left).
    CloseOwner(OwnerId),
    /// Make a sealed memfd for slots of an owner, and tell [`memory_made`](super::Broker::memory_made).
    MakeMemory {
        /// The owner.
        owner: OwnerId,
        /// The first slot.
        first: u16,
        /// How many, at least 1.
        count: u16,
    },
    /// Give back all memory of an owner. No transfer uses it, and the owner is gone.
    FreeMemory(OwnerId),
    /// Send a packet on the socket of a connection.
    ToSocket {
        /// The connection.
        connection: ConnectionId,
        /// The packet.
        packet: Packet,
    },
    /// Close the socket of a connection when what was to be sent is sent.
    CloseSocket(ConnectionId),
    /// Read all that is in the socket of a connection now, and tell [`drained`](super::Broker::drained).
    DrainSocket(ConnectionId),
    /// Answer NEGOTIATE with [`answer`](super::answer), and tell [`negotiated`](super::Broker::negotiated).
    Negotiate {
        /// The connection.
        connection: ConnectionId,
        /// NEGOTIATE.
        request: Bytes,
    },
    /// Send a message to the client, and tell [`sent`](super::Broker::sent) when the transport has taken it.
    Send {
        /// The connection.
        connection: ConnectionId,
        /// The message.
        message: Bytes,
        /// What its last fragment invalidates.
        invalidate: Invalidate,
    },
    /// Move bytes between slots and the client, and tell [`transfer_done`](super::Broker::transfer_done) when the device uses neither any
    /// more.
    Transfer {
        /// The connection.
        connection: ConnectionId,
        /// The transfer.
        id: TransferId,
        /// Whose slots they are.
        owner: OwnerId,
        /// Which way.
        direction: Direction,
        /// The slots, one behind the other, each from its beginning.
        areas: Vec<Area>,
        /// The client's memory.
        remote: Arc<[BufferDescriptorV1]>,
        /// Where in it, in bytes.
        offset: u64,
    },
    /// Finish what was ordered, in so many milliseconds at most, and end the connection. Tell [`ended`](super::Broker::ended) when all its
    /// transfers have ended.
    Disconnect {
        /// The connection.
        connection: ConnectionId,
        /// How long it may take, in milliseconds.
        within: u32,
    },
    /// For the log.
    Log(Log),
}
