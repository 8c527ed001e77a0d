//! The connection to a client, whatever carries it: orders go in, and what has come of the client comes out. For those who drive
//! [`smbd_smb2::server`] themselves; [`serve`](crate::serve()) does it with these.

mod channel;
mod queue;
mod stuck;
#[cfg(test)]
mod tests;

use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Buf as _, Bytes, BytesMut};
use smbd_smb2::server::{OperationId, Outgoing, Transport};
use smbd_smb2::wire::{BufferDescriptorV1, Token};

pub use channel::{Channel, TRANSFERS_MAX};

/// What has come of a client.
#[derive(Debug)]
pub enum Event {
    /// A whole message.
    Message(BytesMut),
    /// A request that another process has answered, from which the connection was taken over. It comes before all messages.
    PastRequest(Bytes),
    /// The answer to such a request.
    PastResponse(Bytes),
    /// What was asked for by [`Order::Fetch`]; nothing if that failed.
    Fetched(OperationId, Option<Vec<u8>>),
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
        buffers: Vec<BufferDescriptorV1>,
        /// How many bytes.
        len: u32,
    },
    /// Write to the client's memory.
    Deliver {
        /// The operation for which it is done.
        id: OperationId,
        /// The data.
        data: Vec<u8>,
        /// Where they go.
        buffers: Vec<BufferDescriptorV1>,
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
        let (bytes, start) = message.into_parts();
        let mut message = Bytes::from(bytes);
        // A slice of them would be a second owner, for whom memory is allocated.
        message.advance(start.min(message.len()));
        Self::Send { message, invalidate }
    }

    /// Bytes of memory that it holds, or will: what it counts for while it waits.
    pub(super) const fn held(&self) -> usize {
        /// Its place in the queue, the buffers that it names, what a vector has besides, and what an allocator adds.
        const BESIDES: usize = 128 + SLACK;
        let held = match self {
            Self::Send { message, .. } => message.len(),
            Self::Fetch { len, .. } => *len as usize,
            Self::Deliver { data, .. } => data.capacity(),
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

/// The first `len` bytes, without memory for many more: they may wait for long.
pub(crate) fn first(mut data: Vec<u8>, len: u32) -> Vec<u8> {
    data.truncate(len as usize);
    // Not shrunk in place: see `ReadBuffer::truncate`.
    if data.capacity() / 2 > data.len() { data.as_slice().into() } else { data }
}
