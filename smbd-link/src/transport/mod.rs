//! What carries messages between a client and a server, and data where it has RDMA.

mod memory;
mod owned;

use std::error::Error;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use smbd_core::{Access, BufferDescriptorV1, RdmaVerb, Token};

use crate::link::{Ending, Event, Piece};
pub use memory::{File, Heap, Memory, NoRdma};

/// An established connection that carries messages: over an RDMA device ([`link::Owned`](crate::link::Owned)), over another process that
/// has the device (`smbd_broker::client::Carried`), or over TCP ([`Tcp`](crate::tcp::Tcp)), which has no RDMA.
///
/// All methods return at once; those that return `Pending` wake the task of `cx` later. A connection makes progress only when it is polled.
/// Orders (`send`, `rdma`, `register`, `deregister`) are always taken; [`poll_ready`](Self::poll_ready) says when more should be given.
/// Messages and RDMA operations are carried out in their order: a message behind an RDMA Write arrives behind its data.
///
/// The owner names RDMA operations and registrations with values of type `N`, as the `wr_id` of verbs: events repeat them.
pub trait Transport<N> {
    /// Memory that the peer's data are moved to and from.
    type Memory: Memory + Clone;

    /// The error of what is below the connection: a device, a socket.
    type Error: Error;

    /// What the connection carries.
    fn limits(&self) -> Limits;

    /// The next event. Messages are not among them. [`Event::Ended`] is the last one.
    fn poll_event(&mut self, cx: &mut Context<'_>) -> Poll<Event<N, Self::Error>>;

    /// The next message that has arrived, or piece of one. After [`poll_event`](Self::poll_event) was `Pending`, all events that came before
    /// the message were returned. Taking messages makes room for others, which come when the connection is polled again. While messages of
    /// [the past](Self::try_past) wait, none is returned.
    fn try_recv(&mut self) -> Option<Piece>;

    /// The next message of the time before the connection was taken over from another process. They come before all others.
    fn try_past(&mut self) -> Option<Past> {
        None
    }

    /// Ready when little waits to be sent, so that more may be ordered. Also ready when the connection has ended.
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<()>;

    /// Sends a message. Its last fragment invalidates the peer's token `invalidate`, if the transport can do that (MS-SMBD 3.1.4.2).
    fn send(&mut self, message: Bytes, invalidate: Option<Token>);

    /// Sends a message of which nobody asks when it was sent: the peer's answer says so.
    fn send_unsignalled(&mut self, message: Bytes, invalidate: Option<Token>) {
        self.send(message, invalidate);
    }

    /// Transfers `len` bytes between the beginning of `memory` and byte `offset` of the peer's buffer that `remote` describes (MS-SMBD
    /// 3.1.4.5, 3.1.4.6). Ends with [`Event::RdmaDone`]. A transport without RDMA does nothing: its peer describes no buffers.
    fn rdma(
        &mut self,
        name: N,
        verb: RdmaVerb,
        memory: Self::Memory,
        remote: Arc<[BufferDescriptorV1]>,
        offset: u64,
        len: u32,
    );

    /// Writes like [`rdma`](Self::rdma), ahead of a [message](Self::send) that says to the peer that the data are there.
    /// [`Event::RdmaDone`] may come as late as that message leaves.
    fn write_ahead(
        &mut self,
        name: N,
        memory: Self::Memory,
        remote: Arc<[BufferDescriptorV1]>,
        offset: u64,
        len: u32,
    ) {
        self.rdma(name, RdmaVerb::Write, memory, remote, offset, len);
    }

    /// Gives the peer access to all of `memory` (MS-SMBD 3.1.4.3). Ends with [`Event::Registered`].
    fn register(&mut self, name: N, memory: Self::Memory, access: Access);

    /// Ends the peer's access to a registered buffer (MS-SMBD 3.1.4.4). Ends with [`Event::Deregistered`].
    fn deregister(&mut self, name: N);

    /// Messages and RDMA operations that wait for room in the transport.
    fn waiting(&self) -> usize {
        0
    }

    /// Bytes of the messages among them.
    fn waiting_bytes(&self) -> usize {
        0
    }

    /// Messages that were [sent](Self::send) and have not left yet, besides those that [wait](Self::waiting). It becomes 0 without anything
    /// else being ordered: 0 is what a transport returns that does not learn soon which messages have left.
    fn unsent(&self) -> u64 {
        0
    }

    /// The number of messages, and of their bytes, that the owner has taken and keeps: they count against the limits of what is received.
    fn keep(&mut self, messages: usize, bytes: usize) {
        let _ = (messages, bytes);
    }

    /// Whether messages wait for [`try_recv`](Self::try_recv).
    fn has_messages(&self) -> bool;

    /// Takes no message any more, and drops those that wait.
    fn ignore_messages(&mut self);

    /// How the connection has ended; `None` if it has not. Messages that arrived before may still be there, and operations may be under way
    /// until [`Event::Ended`].
    fn closed(&self) -> Option<&Ending<Self::Error>>;

    /// Ends the connection when all earlier orders are finished, or after this time. Later orders are refused. Where there is no clock, the
    /// time begins when nothing [waits](Self::waiting) any more.
    fn close(&mut self, within: Duration);

    /// Drops what waits for room: messages are lost, operations have failed ([`CommandError::Closing`](smbd_core::error::CommandError)).
    fn drop_orders(&mut self) {}

    /// Gives up what is below a connection that has ended. Nothing can be ordered any more, and no event follows.
    fn leave(&mut self) {}
}

/// What a connection carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The longest message that the peer receives, in bytes: over SMB Direct MaxFragmentedSendSize.
    pub max_send: u32,
    /// The longest message that this side receives, in bytes: over SMB Direct MaxFragmentedRecvSize.
    pub max_receive: u32,
    /// What goes by RDMA; `None` if nothing does.
    pub rdma: Option<RdmaLimits>,
}

/// What goes by RDMA.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RdmaLimits {
    /// The longest RDMA operation of the connection, in bytes: MaxReadWriteSize.
    pub max_read_write: u32,
    /// Whether the peer can invalidate registrations of this side (MS-SMBD 3.1.5.8). If not, it must not be asked to.
    pub remote_invalidation: bool,
}

/// A message that was exchanged before this process had the connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Past {
    /// A request of the peer that was answered.
    Request(Bytes),
    /// The answer to such a request.
    Response(Bytes),
}
