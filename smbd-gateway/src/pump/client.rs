//! The client's side of a connection, as a pump needs it.

use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use smbd_core::backend::{OutOfMemory, OutOfRange};
use smbd_link::handles::Piece;
use smbd_smb2::relay::BufferId;
use smbd_smb2::wire::{BufferDescriptorV1, Token};

/// Memory that a device can access. Clones name the same memory.
pub trait Memory: Clone + Send + 'static {
    /// New memory of `len` bytes.
    ///
    /// # Errors
    /// There is not enough.
    fn allocate(len: u32) -> Result<Self, OutOfMemory>;

    /// Copies `bytes` into it, from byte `offset` on.
    ///
    /// # Errors
    /// The range is not inside. Nothing is copied.
    fn fill(&self, offset: u32, bytes: &[u8]) -> Result<(), OutOfRange>;

    /// Copies bytes of it, from byte `offset` on, to `out`.
    ///
    /// # Errors
    /// The range is not inside. Nothing is copied.
    fn read(&self, offset: u32, out: &mut [u8]) -> Result<(), OutOfRange>;
}

/// Something for the client's connection to do.
#[derive(Clone, Debug)]
pub enum Order<M> {
    /// Send a message.
    Send {
        /// The message.
        message: Bytes,
        /// The token that its last fragment invalidates.
        invalidate: Option<Token>,
    },
    /// Read from the client's memory.
    Read(Operation<M>),
    /// Write to the client's memory. A message that is ordered later arrives later.
    Write(Operation<M>),
}

/// An RDMA operation between the beginning of a buffer and the client's memory.
#[derive(Clone, Debug)]
pub struct Operation<M> {
    /// The name of the buffer.
    pub buffer: BufferId,
    /// Its memory.
    pub memory: M,
    /// The client's memory.
    pub remote: Arc<[BufferDescriptorV1]>,
    /// Where in the client's memory, in bytes.
    pub offset: u64,
    /// How many bytes.
    pub len: u32,
}

/// A client over SMB Direct. All methods return at once; those that return `Pending` wake the task of `cx` later.
pub trait Client {
    /// What its device can access.
    type Memory: Memory;

    /// The next piece of a message, as it arrived; `None` when the connection has ended and there is no other.
    fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<Option<Piece>>;

    /// Ready when the connection has ended, with the reason as a text, and from then on.
    fn poll_ended(&mut self, cx: &mut Context<'_>) -> Poll<String>;

    /// Ready when another order is taken.
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<()>;

    /// Gives an order. To be called after [`poll_ready`](Self::poll_ready) was ready, once. Orders are carried out in turn. Those to
    /// a connection that has ended are lost.
    fn order(&mut self, order: Order<Self::Memory>);

    /// The buffer of an RDMA operation that has ended, and whether all bytes were moved.
    fn poll_done(&mut self, cx: &mut Context<'_>) -> Poll<(BufferId, bool)>;
}
