//! What carries the messages of a client, and its data.

use std::task::{Context, Poll};

use bytes::BytesMut;
use smbd_smb2::server::{OperationId, Outgoing, Transport};
use smbd_smb2::wire::{BufferDescriptorV1, Token};

use crate::transport::Lost;

/// What has come of a client.
#[derive(Debug)]
pub enum Event {
    /// A whole message.
    Message(BytesMut),
    /// A request that another process has answered, from which the connection was taken over. It comes before all messages.
    PastRequest(Vec<u8>),
    /// The answer to such a request.
    PastResponse(Vec<u8>),
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
        message: Outgoing,
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

impl Order {
    /// Bytes of memory that it holds, or will: what it counts for while it waits.
    pub(super) const fn held(&self) -> usize {
        /// Its place in the queue, the buffers that it names, and what an allocator adds.
        const BESIDES: usize = 128;
        let held = match self {
            Self::Send { message, .. } => message.held(),
            Self::Fetch { len, .. } => *len as usize,
            Self::Deliver { data, .. } => data.capacity(),
        };
        held.saturating_add(BESIDES)
    }

    /// Whether it moves data by RDMA.
    pub(super) const fn is_transfer(&self) -> bool {
        !matches!(self, Self::Send { .. })
    }

    /// Bytes that it moves by RDMA.
    pub(super) const fn moved(&self) -> u64 {
        match self {
            Self::Send { .. } => 0,
            Self::Fetch { len, .. } => *len as u64,
            Self::Deliver { data, .. } => data.len() as u64,
        }
    }
}

/// A connection to a client. All methods return at once; those that return `Pending` wake the task of `cx` later.
pub trait Link: Send {
    /// What the server has to know of it.
    fn transport(&self) -> Transport;

    /// Takes an order. It is taken always, and waits if it has to.
    fn order(&mut self, order: Order);

    /// Goes on with what was ordered, and returns what has come. Messages are returned only if they are wanted, and while little waits to
    /// be sent: whoever does not read gets no answers to new requests.
    ///
    /// # Errors
    /// The connection has ended.
    fn poll_event(&mut self, cx: &mut Context<'_>, wants_messages: bool) -> Poll<Result<Event, Lost>>;

    /// Whether data are to be fetched or delivered, or are on their way.
    fn is_transferring(&self) -> bool {
        false
    }

    /// Goes on with what was ordered; ready when nothing is left, or the connection has ended.
    fn poll_idle(&mut self, cx: &mut Context<'_>) -> Poll<()>;

    /// Ends the connection. Ready when it is over.
    fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<()>;

    /// Is not waited for any more.
    fn leave(self: Box<Self>) {}
}

/// The first `len` bytes, without memory for many more: they may wait for long.
pub(super) fn first(mut data: Vec<u8>, len: u32) -> Vec<u8> {
    data.truncate(len as usize);
    // Not shrunk in place: see `ReadBuffer::truncate`.
    if data.capacity() / 2 > data.len() { data.as_slice().into() } else { data }
}
