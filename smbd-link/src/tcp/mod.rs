//! Direct TCP (MS-SMB2 2.1): each message behind its length. A [`Transport`] without RDMA, over any stream of bytes.

mod incoming;
mod outbox;
#[cfg(test)]
mod tests;

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use std::{fmt, io};

use bytes::{Bytes, BytesMut};
use smbd_core::error::CloseReason;
use smbd_core::{Access, BufferDescriptorV1, RdmaVerb, Token};
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::Failure;
use crate::link::{Ending, Event, Piece};
use crate::transport::{Limits, NoRdma, Transport};
use incoming::Incoming;
use outbox::Outbox;

/// Length of the header in bytes: a zero, and the length of the message in three bytes.
const HEADER: usize = 4;
/// The longest message that the header can announce, in bytes.
pub const LENGTH_MAX: u32 = 0xFF_FFFF;
/// The longest message that is received by default, in bytes: a READ of 1 MiB and what is around it.
const RECEIVE_MAX: u32 = 2 << 20;
/// Bytes of memory that may wait to be sent before no more should be ordered.
const WAITING_MAX: usize = 1 << 20;

/// Why a stream is over, other than by its end.
#[derive(Clone, Debug, Error)]
#[non_exhaustive]
pub enum TcpError {
    /// The first byte of a message's header is not zero.
    #[error("StreamProtocolLength begins with 0x{got:02x}, expected 0x00 (MS-SMB2 2.1)")]
    Type {
        /// The first byte.
        got: u8,
    },
    /// A message is longer than what this side receives.
    #[error("StreamProtocolLength is {got}, and messages have {max} bytes at most here (MS-SMB2 2.1)")]
    TooLong {
        /// Length of the message in bytes.
        got: u32,
        /// The longest message that is received, in bytes.
        max: u32,
    },
    /// The stream ends within a message.
    #[error("the stream ends within a message, of which {missing} bytes are missing (MS-SMB2 2.1)")]
    Cut {
        /// Number of missing bytes, as far as is known.
        missing: usize,
    },
    /// The stream takes no more bytes.
    #[error("the connection takes no more bytes")]
    Full,
    /// A call of the system failed.
    #[error(transparent)]
    Io(Arc<io::Error>),
}

/// Whether a write has failed because the peer has closed its end. Then a stream brings what the peer has sent before, and its end behind
/// that. After other errors nothing says that it ends.
fn has_left(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset)
}

impl From<io::Error> for TcpError {
    fn from(error: io::Error) -> Self {
        Self::Io(Arc::new(error))
    }
}

/// A connection over a stream of bytes. Whoever polls it drives it: it reads a message only when the one before was taken.
pub struct Tcp<S> {
    stream: S,
    incoming: Incoming,
    outbox: Outbox,
    /// A message that has come.
    message: Option<BytesMut>,
    /// Messages are not wanted any more: each is dropped when it has come.
    is_deaf: bool,
    is_closing: bool,
    /// The peer has closed its end, as a write has shown: the error of that. Messages that came before are read nevertheless.
    broken: Option<TcpError>,
    ended: Option<Ending<TcpError>>,
    /// The end was told as an event.
    is_told: bool,
}

impl<S> Tcp<S> {
    /// Takes a stream. One over TCP should have TCP_NODELAY: each message is written at once.
    pub fn over(stream: S) -> Self {
        Self {
            stream,
            incoming: Incoming::new(RECEIVE_MAX),
            outbox: Outbox::new(),
            message: None,
            is_deaf: false,
            is_closing: false,
            broken: None,
            ended: None,
            is_told: false,
        }
    }

    /// Receives messages of up to `receive_max` bytes, at most [`LENGTH_MAX`].
    #[must_use]
    pub fn receiving(mut self, receive_max: u32) -> Self {
        self.incoming = Incoming::new(receive_max.min(LENGTH_MAX));
        self
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Tcp<S> {
    /// Receives the next message if there is room for it, and sends what waits.
    fn drive(&mut self, cx: &mut Context<'_>) {
        if self.ended.is_some() {
            return;
        }
        if self.is_closing {
            if let Poll::Ready(ending) = self.poll_shutdown(cx) {
                self.ended = Some(ending);
            }
            return;
        }
        if self.message.is_none() {
            match self.incoming.poll_message(&mut self.stream, cx) {
                // The one behind it is read by the next poll: a peer who sends much holds up nobody.
                Poll::Ready(Ok(Some(_))) if self.is_deaf => cx.waker().wake_by_ref(),
                Poll::Ready(Ok(Some(message))) => self.message = Some(message),
                Poll::Ready(Ok(None)) => {
                    let broken = self.broken.take().map(Failure::Backend);
                    self.ended = Some(broken.map_or(Ok(CloseReason::PeerClosed), Err));
                }
                Poll::Ready(Err(error)) => {
                    self.ended = Some(Err(Failure::Backend(self.broken.take().unwrap_or(error))));
                }
                Poll::Pending => {}
            }
        }
        self.write(cx);
    }

    /// Sends what waits. A peer that has left takes nothing, and may have said something before.
    fn write(&mut self, cx: &mut Context<'_>) {
        if self.broken.is_some() {
            return;
        }
        let Poll::Ready(Err(error)) = self.outbox.poll_flush(&mut self.stream, cx) else { return };
        self.outbox.clear();
        if matches!(&error, TcpError::Io(error) if has_left(error)) {
            self.broken = Some(error);
            // What has come is looked at once more.
            cx.waker().wake_by_ref();
        } else {
            self.ended.get_or_insert(Err(Failure::Backend(error)));
        }
    }

    /// Sends what waits, and ends the stream.
    fn poll_shutdown(&mut self, cx: &mut Context<'_>) -> Poll<Ending<TcpError>> {
        ready!(self.outbox.poll_flush(&mut self.stream, cx)).map_err(Failure::Backend)?;
        // The result of the shutdown changes nothing.
        let _ = ready!(Pin::new(&mut self.stream).poll_shutdown(cx));
        Poll::Ready(Ok(CloseReason::Local))
    }
}

/// Nothing goes by RDMA, so a peer describes no buffers and nothing is registered.
impl<S: AsyncRead + AsyncWrite + Unpin, N> Transport<N> for Tcp<S> {
    type Memory = NoRdma;
    type Error = TcpError;

    fn limits(&self) -> Limits {
        Limits { max_send: LENGTH_MAX, max_receive: self.incoming.max(), rdma: None }
    }

    fn poll_event(&mut self, cx: &mut Context<'_>) -> Poll<Event<N, TcpError>> {
        self.drive(cx);
        match &self.ended {
            Some(ending) if !self.is_told => {
                self.is_told = true;
                Poll::Ready(Event::Ended(ending.clone()))
            }
            _ => Poll::Pending,
        }
    }

    fn try_recv(&mut self) -> Option<Piece> {
        let bytes = self.message.take()?;
        Some(Piece { bytes, remaining: 0 })
    }

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.ended.is_some() || self.outbox.held() < WAITING_MAX {
            return Poll::Ready(());
        }
        self.write(cx);
        if self.outbox.held() < WAITING_MAX { Poll::Ready(()) } else { Poll::Pending }
    }

    fn send(&mut self, message: Bytes, _: Option<Token>) {
        if self.ended.is_none() && !self.is_closing && self.broken.is_none() {
            self.outbox.push(message);
        }
    }

    fn rdma(&mut self, _: N, _: RdmaVerb, memory: NoRdma, _: Arc<[BufferDescriptorV1]>, _: u64, _: u32) {
        memory.never()
    }

    fn register(&mut self, _: N, memory: NoRdma, _: Access) {
        memory.never()
    }

    fn deregister(&mut self, _: N) {}

    fn waiting(&self) -> usize {
        self.outbox.len()
    }

    fn waiting_bytes(&self) -> usize {
        self.outbox.held()
    }

    fn has_messages(&self) -> bool {
        self.message.is_some()
    }

    fn ignore_messages(&mut self) {
        self.is_deaf = true;
        self.message = None;
    }

    fn closed(&self) -> Option<&Ending<TcpError>> {
        self.ended.as_ref()
    }

    /// Ends the stream when all that was ordered is sent. There is no time limit: a stream has no clock.
    fn close(&mut self, _: Duration) {
        self.is_closing = true;
    }

    fn drop_orders(&mut self) {
        self.outbox.clear();
    }
}

impl<S> fmt::Debug for Tcp<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tcp")
            .field("waiting", &self.outbox.len())
            .field("ended", &self.ended)
            .finish_non_exhaustive()
    }
}
