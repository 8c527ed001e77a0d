//! Servers over RDMA devices.

use std::collections::VecDeque;
use std::fmt;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use smbd_core::error::{CommandError, RegisterError, RegistrationError};
use smbd_core::{Access, Endpoint};
use smbd_link::link::{self, Owned, Piece};
use smbd_link::{Failure, Messages, PollReady};
use smbd_smb2::relay::BufferId;
use smbd_smb2::relay::reverse::Event;
use smbd_verbs::tokio::AsyncEnd;

use crate::pump::{Client, Memory, Order, Peer};
use crate::rdma::Rdma;

/// A server over an RDMA device, or over another backend that async tasks can wait for.
///
/// Access ends when the message with the answer is here in full. For that it may keep the rest of one message, which is
/// MaxFragmentedSize long at most (MS-SMBD 2.2.1).
pub struct RdmaServer<B: PollReady = AsyncEnd, C: Messages = Endpoint> {
    messages: Rdma<B, C>,
    /// Pieces of a message that were taken ahead of who wants them, up to its last one.
    ahead: VecDeque<Piece>,
    /// Bytes of the message that the connection has begun to deliver which are not here.
    missing: u32,
    /// Ended when the message is here in full.
    leaving: Vec<BufferId>,
}

impl<B: PollReady, C: Messages> RdmaServer<B, C>
where
    B::Buffer: Memory,
{
    /// Takes an established connection.
    #[must_use]
    pub const fn new(link: Owned<B, BufferId, C>) -> Self {
        Self { messages: Rdma::new(link), ahead: VecDeque::new(), missing: 0, leaving: Vec::new() }
    }

    /// Ends the connection as [`Rdma::close`] does.
    pub async fn close(self, within: Duration) -> String {
        self.messages.close(within).await
    }

    /// The next piece that the connection delivers.
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Piece>> {
        let polled = self.messages.poll_piece(cx);
        if let Poll::Ready(piece) = &polled {
            self.missing = piece.as_ref().map_or(0, |piece| piece.remaining);
        }
        polled
    }

    /// Ends access that is to end, once the message is here in full: its last fragment may invalidate a token, and one that is not
    /// valid any more would break the connection.
    fn end_access(&mut self, cx: &mut Context<'_>) {
        while self.missing > 0 && !self.leaving.is_empty() {
            let Poll::Ready(piece) = self.poll_next(cx) else { return };
            self.ahead.extend(piece);
        }
        if let Some(link) = self.messages.link.get_mut() {
            self.leaving.drain(..).for_each(|buffer| link.deregister(buffer));
        }
    }
}

/// Whether a failure is more than the end of the connection, which is told otherwise.
const fn is_own<E>(failure: &Failure<E>) -> bool {
    match failure {
        Failure::Register(error) => !matches!(error, RegisterError::Command(CommandError::Closing)),
        Failure::Registration(error) => matches!(error, RegistrationError::Work(_)),
        _ => false,
    }
}

impl<B: PollReady, C: Messages> Peer for RdmaServer<B, C>
where
    B::Buffer: Memory,
{
    type Memory = B::Buffer;

    fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<Option<Piece>> {
        match self.ahead.pop_front() {
            Some(piece) => Poll::Ready(Some(piece)),
            None => self.poll_next(cx),
        }
    }

    fn poll_ended(&mut self, cx: &mut Context<'_>) -> Poll<String> {
        self.messages.poll_ended(cx)
    }

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.messages.poll_ready(cx)
    }

    fn send(&mut self, message: Bytes) {
        self.messages.order(Order::Send { message, invalidate: None });
    }

    fn register(&mut self, buffer: BufferId, memory: B::Buffer, access: Access) {
        if let Some(link) = self.messages.link.get_mut() {
            link.register(buffer, memory, access);
        }
    }

    fn deregister(&mut self, buffer: BufferId) {
        self.leaving.push(buffer);
    }

    fn poll_done(&mut self, cx: &mut Context<'_>) -> Poll<Event> {
        self.end_access(cx);
        loop {
            let (buffer, event) = match self.messages.poll_told(cx) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(link::Event::Registered { name: buffer, result }) => {
                    let registered = result.map(|descriptors| match descriptors[..] {
                        [descriptor] => Event::Registered { buffer, descriptor },
                        // The device describes it in pieces.
                        _ => Event::Failed { buffer },
                    });
                    (buffer, registered)
                }
                Poll::Ready(link::Event::Deregistered { name: buffer, result }) => {
                    (buffer, result.map(|()| Event::Deregistered { buffer }))
                }
                Poll::Ready(_) => continue,
            };
            match event {
                Ok(event) => return Poll::Ready(event),
                Err(failure) if is_own(&failure) => return Poll::Ready(Event::Failed { buffer }),
                Err(_) => {}
            }
        }
    }
}

impl<B: PollReady, C: Messages> fmt::Debug for RdmaServer<B, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RdmaServer").field("messages", &self.messages).finish_non_exhaustive()
    }
}
