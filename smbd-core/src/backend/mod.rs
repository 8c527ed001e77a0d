//! The contract between a [`Connection`] and its transport: a queue pair of a real device, a simulated one, or anything
//! else that sends messages into posted buffers and accesses remote memory.
//!
//! A [`Backend`] is one side of one transport connection. It takes [`BackendOp`]s and reports [`Input`]s. [`drive()`]
//! is the loop between the two. The `kit` (feature `kit`) checks a backend against each line of this contract.
//!
//! # What a backend does
//!
//! **Order.** Operations are carried out in the order given. Consecutive posts to the same queue may be chained and
//! handed to the device together; a chain is handed over before an operation of any other kind, and at the latest when
//! [`ring_doorbell`](Backend::ring_doorbell) is called, which happens before every wait. A receive is thus always
//! posted before the send that grants it. One exception: an initiator gets its first `PostRecv` before `Connect`, and
//! may have no queue yet; it keeps that receive and posts it before the transport connection can carry a message.
//!
//! **No waiting.** `execute` never waits for the peer or the network, `Connect` and `Disconnect` included: one thread may
//! serve many connections, and the timers of all of them. A call of a provider that blocks belongs on another thread.
//!
//! **One end for each id.** Every id in an operation ends in exactly one input: `Received`, `Sent`, `RdmaDone`,
//! `Registered` (followed by `BindComplete` with `bind_complete: false`), `Deregistered` or `Failed`. Sends, RDMA requests, window
//! binds and invalidations share the send queue, whose completions come in posting order. A send or RDMA Write
//! posted without `signal` gets no completion of its own from a device: the backend derives its input from the next
//! completion behind it. [`WorkQueues`] does this. A Read is `RdmaDone` when its data are there, which is more than
//! some devices say by a completion behind it.
//!
//! **A refused post** is `Failed` with [`WorkError::PostFailed`]. What was chained behind it, and every id given later, is
//! not posted and reported `Failed` with [`WorkError::Flushed`]; what was posted before it completes as usual. The
//! connection answers with [`BackendOp::Disconnect`]. A failed *registration* that put nothing on the send queue is no
//! refused post: it is `Failed`, nothing of it is enabled, and all goes on.
//!
//! **Connecting.** `Connect` and `Accept` are answered once, by `Connected` with truthful [`Limits`] or by
//! `ConnectFailed`. Receives are posted before either; a message may be reported before `Connected`, and is if
//! completions are polled first. Truthful limits are those of the queue pair: a read depth above that of the peer stops
//! some devices for good, with no error. The transport's own timeouts are longer than the negotiation timers, so that
//! these decide.
//!
//! A receive that was refused before `Connect` or `Accept` leaves the peer's first message without one, which ends the
//! connection on every device. So the answer is `ConnectFailed` then, and the peer never gets `Connected`: an initiator
//! sends no connection request, an acceptor rejects the request, with `Disconnect` at the latest.
//!
//! **The end.** Exactly one of `Disconnected` and `ConnectFailed` ends a transport connection, and nothing about it
//! follows: a late answer to `Connect`, or news after the end, is dropped. `Disconnect` is given at most once, also when
//! the transport connection is gone already or never came up. After it everything still posted is completed or flushed,
//! without the peer's help, and `Disconnected` is reported if neither it nor `ConnectFailed` was. Some devices flush
//! nothing before the own disconnect, even if the peer has gone; some never return unsignalled work that went well, not
//! even then, and their queue pair has to be destroyed before it may be reported.
//!
//! `Disconnected` says what the backend knows of why ([`DisconnectReason`]): `Local` for the own disconnect, `PeerClosed` only
//! if the peer closed in order, `Unknown` where the transport does not tell one end from another. What was known first is
//! what is said: a peer that closed before the own disconnect has closed. A backend that reports flushes looks for the reason at
//! once; one that comes only after the upper layer was told of the end comes too late.
//!
//! **Causes first.** Every completion that the device holds at that moment is reported before `Disconnected`. Otherwise
//! a refusal, or the failure that broke the connection, is lost. A receive that completed before a deregistration is
//! reported before its `Deregistered`: the message may have invalidated the token. Flushes may come in any order with
//! the failure that caused them; the connection can distinguish them. `ConnectFailed` may come before completions:
//! those of a connection that never came up are flushes. [`TransportReports`] keeps these rules about the end and the
//! answers.
//!
//! # Whose memory it is
//!
//! Receive buffers are the backend's: [`Budget::recv_slots`](crate::Budget) of
//! [`Budget::recv_buffer_len`](crate::Budget) bytes, buffer [`RecvId::slot`] for the receive `RecvId`. From `Received`
//! until the same slot is posted again its bytes can be read with [`ReceiveMemory::received`], also after
//! `Disconnected`. A message longer than the receive posted for it ends the connection; no byte beyond the posted
//! length is written.
//!
//! Memory of the upper layer comes with the operation: bytes to copy before `execute` returns, or a handle
//! ([`Backend::Buffer`]) of which the backend keeps a clone as long as the device may touch the memory: for a send or
//! an RDMA request until its completion, for a registration until `Deregistered` or the end of the connection.
//!
//! Remote access follows a registration exactly: its rights, its ranges, its connection, from `Registered` to
//! `Deregistered` or to the peer's invalidation or to the end of the connection. Any other access ends the offending
//! connection and changes no byte.
//!
//! When a connection ends early, results of commands come before their work is back: their memory may still be in use
//! by the device until [`Event::Drained`](crate::Event::Drained). No operation follows that event; only then may the
//! backend be dropped. Dropping it earlier must still be memory-safe.
//!
//! # What it does not do
//!
//! No protocol: it does not look into messages, count credits, or cut operations into requests. No allocation for each
//! message: everything is sized from [`Budget`](crate::Budget).

mod drive;
#[cfg(feature = "kit")]
pub mod kit;
mod op;
mod transport;
mod work_queues;

use core::fmt;

use thiserror::Error;

pub use drive::{DriveError, Handler, Protocol, drive, drive_at};
pub use op::{BackendOp, BufferLookup, BufferSlice, Payload, UnknownBuffer};
pub use transport::TransportReports;
pub use work_queues::{Push, Queue, Request, WorkQueue, WorkQueues};

#[cfg(doc)]
use crate::{Connection, Limits, error::DisconnectReason, error::WorkError};
use crate::{Fragment, Input, Instant, RecvId};

/// Gives access to received messages.
pub trait ReceiveMemory {
    /// The message in the buffer of `id`: as many bytes as its `Received` reported, valid from then on until the same
    /// slot is posted again. Empty for a receive that holds no message.
    fn received(&self, id: RecvId) -> &[u8];

    /// The bytes of a fragment.
    ///
    /// # Errors
    /// [`received`](Self::received) returns fewer bytes than the fragment needs.
    fn fragment(&self, fragment: &Fragment) -> Result<&[u8], ShortReceive> {
        let (message, range) = (self.received(fragment.recv()), fragment.range());
        let short =
            ShortReceive { recv: fragment.recv(), start: range.start, end: range.end, got: message.len() };
        message.get(range).ok_or(short)
    }
}

/// One side of one transport connection. [The module](self) has its contract.
pub trait Backend: ReceiveMemory {
    /// A handle to memory of the upper layer that the device can access. Clones name the same memory; it is freed with
    /// the last of them.
    type Buffer: Clone + fmt::Debug;

    /// The time of this backend's clock. Never goes back.
    fn now(&self) -> Instant;

    /// Carries out one operation, or chains it. Returns at once. Each result is an input, also a refusal.
    fn execute(&mut self, step: BackendOp<'_, Self::Buffer>);

    /// Hands the chain over to the device. Called before every wait. Does nothing without a chain.
    fn ring_doorbell(&mut self);

    /// The next input; `None` if there is none at the moment. Never blocks.
    ///
    /// A backend never reports [`Input::Timeout`]: [`drive()`] compares its clock with the deadline.
    fn next_input(&mut self) -> Option<Input<'_>>;
}

/// A backend whose buffers the host can allocate, write and read. The kit and generic examples need it; a backend for
/// other memory does not have it.
pub trait HostMemory: Backend {
    /// Allocates a buffer of `len` bytes, all zero. Possible at any time: a backend that has no device yet registers
    /// the memory later.
    ///
    /// # Errors
    /// There is not enough memory.
    fn allocate(&mut self, len: u32) -> Result<Self::Buffer, OutOfMemory>;

    /// Copies `bytes` into `buffer` from byte `offset` on. No device may access that range meanwhile.
    ///
    /// # Errors
    /// The range is not inside the buffer. Nothing is copied.
    fn fill(&mut self, buffer: &Self::Buffer, offset: u32, bytes: &[u8]) -> Result<(), OutOfRange>;

    /// Copies bytes of `buffer` from byte `offset` on to `out`. No device may write that range meanwhile.
    ///
    /// # Errors
    /// The range is not inside the buffer. Nothing is copied.
    fn read(&self, buffer: &Self::Buffer, offset: u32, out: &mut [u8]) -> Result<(), OutOfRange>;
}

/// The backend does not have the bytes of a received message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{recv:?} was reported with bytes {start} to {end}, its buffer has {got}")]
pub struct ShortReceive {
    /// The receive.
    pub recv: RecvId,
    /// First byte needed.
    pub start: usize,
    /// End of the bytes needed.
    pub end: usize,
    /// Number of bytes that [`ReceiveMemory::received`] returned.
    pub got: usize,
}

/// There is not enough memory for a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("no memory for a buffer of {len} bytes")]
pub struct OutOfMemory {
    /// Its length in bytes.
    pub len: u32,
}

/// A range is not inside a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{len} bytes from {offset} on are not inside a buffer of {size} bytes")]
pub struct OutOfRange {
    /// Where the range begins, in bytes.
    pub offset: u32,
    /// Its length in bytes.
    pub len: u64,
    /// Size of the buffer in bytes.
    pub size: u32,
}

impl<B: ReceiveMemory + ?Sized> ReceiveMemory for &mut B {
    fn received(&self, id: RecvId) -> &[u8] {
        (**self).received(id)
    }
}

impl<B: Backend + ?Sized> Backend for &mut B {
    type Buffer = B::Buffer;

    fn now(&self) -> Instant {
        (**self).now()
    }

    fn execute(&mut self, step: BackendOp<'_, Self::Buffer>) {
        (**self).execute(step);
    }

    fn ring_doorbell(&mut self) {
        (**self).ring_doorbell();
    }

    fn next_input(&mut self) -> Option<Input<'_>> {
        (**self).next_input()
    }
}

impl<B: HostMemory + ?Sized> HostMemory for &mut B {
    fn allocate(&mut self, len: u32) -> Result<Self::Buffer, OutOfMemory> {
        (**self).allocate(len)
    }

    fn fill(&mut self, buffer: &Self::Buffer, offset: u32, bytes: &[u8]) -> Result<(), OutOfRange> {
        (**self).fill(buffer, offset, bytes)
    }

    fn read(&self, buffer: &Self::Buffer, offset: u32, out: &mut [u8]) -> Result<(), OutOfRange> {
        (**self).read(buffer, offset, out)
    }
}
