//! Servers over RDMA devices.

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use smbd_core::Access;
use smbd_core::error::RegistrationError;
use smbd_core::runtime::tokio::Piece;
use smbd_smb2::relay::BufferId;
use smbd_smb2::relay::reverse::Event;
use smbd_verbs::Buffer;
use smbd_verbs::tokio::{Connection, Failure, Registration, Sender};

use crate::pump::{Client, Order, Peer};
use crate::rdma::Rdma;

type Boxed<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// A server over an RDMA device.
pub struct RdmaServer {
    messages: Rdma,
    sender: Sender,
    registrations: BTreeMap<BufferId, Registration>,
    running: Vec<(BufferId, Running)>,
}

enum Running {
    Register(Boxed<Result<Registration, Failure>>),
    Deregister(Boxed<Result<(), Failure>>),
    /// Nothing is registered.
    Impossible,
    /// The connection has ended.
    Over,
}

impl RdmaServer {
    /// Wraps an established connection.
    #[must_use]
    pub fn new(connection: Connection) -> Self {
        let messages = Rdma::new(connection);
        let sender = messages.sender();
        Self { messages, sender, registrations: BTreeMap::new(), running: Vec::new() }
    }

    /// A handle of the connection.
    #[must_use]
    pub fn sender(&self) -> Sender {
        self.sender.clone()
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
const fn is_own(failure: &Failure) -> bool {
    matches!(failure, Failure::Register(_) | Failure::Registration(RegistrationError::Work(_)))
}

impl Peer for RdmaServer {
    type Memory = Buffer;

    fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<Option<Piece>> {
        self.messages.poll_piece(cx)
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

    fn register(&mut self, buffer: BufferId, memory: Buffer, access: Access) {
        let sender = self.sender.clone();
        let register = Box::pin(async move { sender.register(&memory, access).await });
        self.running.push((buffer, Running::Register(register)));
    }

    fn deregister(&mut self, buffer: BufferId) {
        let sender = self.sender.clone();
        let running = match self.registrations.remove(&buffer) {
            Some(registration) => {
                Running::Deregister(Box::pin(async move { sender.deregister(&registration).await }))
            }
            None => Running::Impossible,
        };
        self.running.push((buffer, running));
    }

    fn poll_done(&mut self, cx: &mut Context<'_>) -> Poll<Event> {
        for at in 0..self.running.len() {
            if let Some(event) = self.outcome(at, cx) {
                self.running.swap_remove(at);
                return Poll::Ready(event);
            }
        }
        Poll::Pending
    }
}

impl fmt::Debug for RdmaServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RdmaServer").field("messages", &self.messages).finish_non_exhaustive()
    }
}
