//! Servers over RDMA devices.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use smbd_core::Access;
use smbd_core::error::RegistrationError;
use smbd_link::handles::{Connection, Piece, PollReady, Sender};
use smbd_link::{Failure, Registration};
use smbd_smb2::relay::BufferId;
use smbd_smb2::relay::reverse::Event;
use smbd_verbs::tokio::AsyncEnd;

use crate::pump::{Client, Memory, Order, Peer};
use crate::rdma::Rdma;

type Boxed<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// A server over an RDMA device, or over another backend that async tasks can wait for.
///
/// Access ends when the message with the answer is here in full. For that it may keep the rest of one message, which is
/// MaxFragmentedSize long at most (MS-SMBD 2.2.1).
pub struct RdmaServer<B: PollReady = AsyncEnd> {
    messages: Rdma<B>,
    sender: Sender<B>,
    /// Pieces of a message that were taken ahead of who wants them, up to its last one.
    ahead: VecDeque<Piece>,
    /// Bytes of the message that the connection has begun to deliver which are not here.
    missing: u32,
    registrations: BTreeMap<BufferId, Registration>,
    /// Ended when the message is here in full.
    leaving: Vec<BufferId>,
    running: Vec<(BufferId, Running<<B as PollReady>::Error>)>,
}

enum Running<E> {
    Register(Boxed<Result<Registration, Failure<E>>>),
    Deregister(Boxed<Result<(), Failure<E>>>),
    /// Nothing is registered.
    Impossible,
    /// The connection has ended.
    Over,
}

impl<B> RdmaServer<B>
where
    B: PollReady + 'static,
    B::Buffer: Memory + Sync,
    <B as PollReady>::Error: Send + Sync,
{
    /// Wraps an established connection.
    #[must_use]
    pub fn new(connection: Connection<B>) -> Self {
        let messages = Rdma::new(connection);
        let sender = messages.sender();
        Self {
            messages,
            sender,
            ahead: VecDeque::new(),
            missing: 0,
            registrations: BTreeMap::new(),
            leaving: Vec::new(),
            running: Vec::new(),
        }
    }

    /// A handle of the connection.
    #[must_use]
    pub fn sender(&self) -> Sender<B> {
        self.sender.clone()
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
        for buffer in self.leaving.drain(..) {
            let sender = self.sender.clone();
            let running = match self.registrations.remove(&buffer) {
                Some(registration) => {
                    Running::Deregister(Box::pin(async move { sender.deregister(&registration).await }))
                }
                None => Running::Impossible,
            };
            self.running.push((buffer, running));
        }
    }

    /// What one has come to; `None` if nothing, or if the connection has ended, which is told otherwise.
    fn outcome(&mut self, at: usize, cx: &mut Context<'_>) -> Option<Event> {
        let (buffer, running) = self.running.get_mut(at)?;
        let buffer = *buffer;
        let done = match running {
            Running::Over => return None,
            Running::Impossible => Ok(Event::Failed { buffer }),
            Running::Register(future) => match future.as_mut().poll(cx) {
                Poll::Pending => return None,
                Poll::Ready(Ok(registration)) => match registration.descriptors[..] {
                    [descriptor] => {
                        self.registrations.insert(buffer, registration);
                        Ok(Event::Registered { buffer, descriptor })
                    }
                    // The device describes it in pieces.
                    _ => Ok(Event::Failed { buffer }),
                },
                Poll::Ready(Err(failure)) => Err(failure),
            },
            Running::Deregister(future) => match future.as_mut().poll(cx) {
                Poll::Pending => return None,
                Poll::Ready(result) => result.map(|()| Event::Deregistered { buffer }),
            },
        };
        // What only says that the connection has ended is not told here.
        let event = done.map_or_else(|failure| is_own(&failure).then_some(Event::Failed { buffer }), Some);
        if event.is_none()
            && let Some((_, running)) = self.running.get_mut(at)
        {
            *running = Running::Over;
        }
        event
    }
}

/// Whether a failure is more than the end of the connection.
const fn is_own<E>(failure: &Failure<E>) -> bool {
    matches!(failure, Failure::Register(_) | Failure::Registration(RegistrationError::Work(_)))
}

impl<B> Peer for RdmaServer<B>
where
    B: PollReady + 'static,
    B::Buffer: Memory + Sync,
    <B as PollReady>::Error: Send + Sync,
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
        let sender = self.sender.clone();
        let register = Box::pin(async move { sender.register(&memory, access).await });
        self.running.push((buffer, Running::Register(register)));
    }

    fn deregister(&mut self, buffer: BufferId) {
        self.leaving.push(buffer);
    }

    fn poll_done(&mut self, cx: &mut Context<'_>) -> Poll<Event> {
        self.end_access(cx);
        for at in 0..self.running.len() {
            if let Some(event) = self.outcome(at, cx) {
                self.running.swap_remove(at);
                return Poll::Ready(event);
            }
        }
        Poll::Pending
    }
}

impl<B: PollReady> fmt::Debug for RdmaServer<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RdmaServer").field("messages", &self.messages).finish_non_exhaustive()
    }
}
