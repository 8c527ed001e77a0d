//! The connection to a client, whatever carries it: orders go in, and what has come of the client comes out. For those who drive
//! [`smbd_smb2::server`] themselves; [`serve`](crate::serve()) does it with these.

mod channel;
mod pool;
mod queue;
mod stuck;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use smbd_link::transport::Memory;
use smbd_smb2::server::{OperationId, Outgoing, Transport};
use smbd_smb2::wire::{BufferDescriptorV1, Token};

pub use channel::{Channel, TRANSFERS_MAX};

/// Memory that data are moved to and from by RDMA. Clones are the same memory.
pub type Data = Arc<dyn Memory>;

/// What has come of a client.
#[derive(Debug)]
pub enum Event {
    /// A whole message.
    Message(BytesMut),
    /// A request that another process has answered, from which the connection was taken over. It comes before all messages.
    PastRequest(Bytes),
    /// The answer to such a request.
    PastResponse(Bytes),
    /// What was asked for by [`Order::Fetch`].
    Fetched {
        /// The operation for which it is done.
        id: OperationId,
        /// The data are at the beginning of this memory; nothing if they were not read.
        data: Option<Data>,
        /// How many bytes.
        len: u32,
    },
    /// What was ordered by [`Order::Deliver`], and whether it is with the client.
    Delivered(OperationId, bool),
}

/// What is to be done. Orders are carried out in their order: a message that is sent behind data arrives behind them.
#[derive(Debug)]
pub enum Order {
    /// Send a message.
    Send {
        /// The message.
        message: Bytes,
        /// What its arrival invalidates (MS-SMBD 3.1.4.2).
        invalidate: Option<Token>,
    },
    /// Read from the client's memory.
    Fetch {
        /// The operation for which it is done.
        id: OperationId,
        /// Where the data are.
        buffers: Arc<[BufferDescriptorV1]>,
        /// How many bytes.
        len: u32,
    },
    /// Write to the client's memory, ahead of the answer that says so.
    Deliver {
        /// The operation for which it is done.
        id: OperationId,
        /// The data, at the beginning of memory that is [`Link::memory`]'s. Other memory is copied.
        data: Data,
        /// How many bytes.
        len: u32,
        /// Where they go.
        buffers: Arc<[BufferDescriptorV1]>,
    },
}

/// Unused bytes of a vector that may wait with its message.
const SLACK: usize = 512;

impl Order {
    /// Sends a message that the server has made, without unused memory: it may wait for long.
    #[must_use]
    pub fn send(message: Outgoing, invalidate: Option<Token>) -> Self {
        if message.held().saturating_sub(message.bytes().len()) > SLACK {
            return Self::Send { message: Bytes::copy_from_slice(message.bytes()), invalidate };
        }
        Self::Send { message: message.into_bytes(), invalidate }
    }

    /// Bytes of memory that it holds, or will: what it counts for while it waits.
    pub(super) const fn held(&self) -> usize {
        /// Its place in the queue, the buffers that it names, what a vector has besides, and what an allocator adds.
        const BESIDES: usize = 128 + SLACK;
        let held = match self {
            Self::Send { message, .. } => message.len(),
            Self::Fetch { len, .. } => *len as usize,
            // Its memory counts for the operation.
            Self::Deliver { .. } => 0,
        };
        held.saturating_add(BESIDES)
    }

    /// Whether it moves data by RDMA.
    pub(super) const fn is_transfer(&self) -> bool {
        !matches!(self, Self::Send { .. })
    }
}

/// A connection to a client. All methods return at once; those that return `Pending` wake the task of `cx` later.
pub trait Link {
    /// What the server has to know of it.
    fn transport(&self) -> Transport;

    /// Memory of this connection, of `len` bytes at least, for data that are delivered. It is used again when nobody else has it.
    ///
    /// # Errors
    /// There is no memory, and why the connection is to be ended.
    fn memory(&mut self, len: u32) -> Result<Data, String>;

    /// Takes an order. It is taken always, and waits if it has to.
    fn order(&mut self, order: Order);

    /// Goes on with what was ordered, and returns what has come. Messages are returned only if they are wanted, and while little waits to
    /// be sent: whoever does not read gets no answers to new requests.
    ///
    /// # Errors
    /// The connection has ended, and why.
    fn poll_event(&mut self, cx: &mut Context<'_>, wants_messages: bool) -> Poll<Result<Event, String>>;

    /// Whether data are to be fetched or delivered, or are on their way.
    fn is_transferring(&self) -> bool;

    /// Goes on with what was ordered; ready when nothing is left, or the connection has ended.
    fn poll_idle(&mut self, cx: &mut Context<'_>) -> Poll<()>;

    /// Ends the connection, when what was ordered is done, in `within` at most. Ready when it is over.
    fn poll_close(&mut self, within: Duration, cx: &mut Context<'_>) -> Poll<()>;
}
