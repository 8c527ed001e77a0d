//! SMB Direct, over anything that async tasks can wait for.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use smbd_core::Access;
use smbd_core::error::{CommandError, RegisterError, RegistrationError};
use smbd_core::runtime::tokio::{Connection, PollReady, Receiver, Sender};
use smbd_core::runtime::{Failure, Registration};
use smbd_smb2::client::{self, RegistrationId};

use super::{Lost, Memory, Part, Received, Registered, Transport, part_of};

type Boxed<T> = Pin<Box<dyn Future<Output = T> + Send>>;
type FailureOf<B> = Failure<<B as PollReady>::Error>;
/// What comes of a command.
type Told<T, B> = Boxed<Result<T, FailureOf<B>>>;

/// Bytes that may wait to be sent before no more should be given.
const WAITING_MAX: usize = 1 << 20;
/// How long messages may still take to leave when a connection is closed.
const CLOSE_WITHIN: Duration = Duration::from_secs(1);

/// A server over an RDMA device, or over another backend.
pub struct Rdma<B: PollReady> {
    limits: client::Transport,
    sender: Sender<B>,
    receiver: Receiver<B>,
    outbox: VecDeque<Bytes>,
    waiting: usize,
    /// The message that waits for the connection to take it, with its length.
    sending: Option<(usize, Told<(), B>)>,
    running: Vec<(RegistrationId, Running<B>)>,
    registrations: BTreeMap<RegistrationId, Registration>,
    closing: Closing,
}

enum Closing {
    NotYet,
    Running(Boxed<()>),
    Over,
}

enum Running<B: PollReady> {
    /// With the part of the memory that is described.
    Register(Told<Registration, B>, u32, u32),
    Deregister(Told<(), B>),
    /// The server has no access, because there was no registration.
    Nothing,
    /// It cannot be said any more: the connection has ended, and with it the access.
    Over,
}

impl<B> Rdma<B>
where
    B: PollReady + 'static,
    B::Buffer: Memory + Sync,
    <B as PollReady>::Error: fmt::Display + Send + Sync,
{
    /// Over a connection that is established and carries this.
    #[must_use]
    pub fn new(connection: Connection<B>, limits: client::Transport) -> Self {
        let (sender, receiver) = connection.split();
        Self {
            limits,
            sender,
            receiver,
            outbox: VecDeque::new(),
            waiting: 0,
            sending: None,
            running: Vec::new(),
            registrations: BTreeMap::new(),
            closing: Closing::NotYet,
        }
    }

    /// What one has come to.
    fn outcome(&mut self, at: usize, cx: &mut Context<'_>) -> Option<Registered> {
        let (id, running) = self.running.get_mut(at)?;
        let id = *id;
        let told = match running {
            Running::Over => return None,
            Running::Nothing => Some(Registered::Ended(id)),
            Running::Register(future, offset, len) => match future.as_mut().poll(cx) {
                Poll::Pending => return None,
                Poll::Ready(Err(failure)) if is_refusal(&failure) => Some(Registered::Impossible(id)),
                // With the connection, access ends when that is over, as it does for memory that is registered.
                Poll::Ready(Err(_)) => None,
                Poll::Ready(Ok(registration)) => {
                    let part = part_of(&registration.descriptors, *offset, *len);
                    self.registrations.insert(id, registration);
                    Some(part.map_or(Registered::Impossible(id), |part| Registered::Valid(id, part)))
                }
            },
            Running::Deregister(future) => match future.as_mut().poll(cx) {
                Poll::Pending => return None,
                Poll::Ready(Ok(())) => Some(Registered::Ended(id)),
                // The access has not ended for certain; the connection does.
                Poll::Ready(Err(_)) => None,
            },
        };
        if told.is_none()
            && let Some((_, running)) = self.running.get_mut(at)
        {
            *running = Running::Over;
            self.close();
        }
        told
    }

    fn close(&mut self) {
        if matches!(self.closing, Closing::NotYet) {
            let sender = self.sender.clone();
            self.closing = Closing::Running(Box::pin(async move {
                // How it ended makes no difference any more.
                let _ = sender.close(CLOSE_WITHIN).await;
            }));
        }
    }

    fn poll_closing(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if let Closing::Running(closing) = &mut self.closing {
            ready!(closing.as_mut().poll(cx));
            self.closing = Closing::Over;
        }
        Poll::Ready(())
    }

    /// Gives the connection what waits; ready when it has taken everything.
    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Lost>> {
        loop {
            if let Some((len, sending)) = &mut self.sending {
                let result = ready!(sending.as_mut().poll(cx));
                self.waiting = self.waiting.saturating_sub(*len);
                self.sending = None;
                result.map_err(Lost::because)?;
            }
            let Some(message) = self.outbox.pop_front() else { return Poll::Ready(Ok(())) };
            let (len, sender) = (message.len(), self.sender.clone());
            self.sending = Some((len, Box::pin(async move { sender.send(message).await })));
        }
    }
}

/// Whether memory was not registered on a connection that goes on. If it has ended, that is the reason, and the transfer is no worse than
/// any other that was under way: it can go on at another connection.
const fn is_refusal<E>(failure: &Failure<E>) -> bool {
    match failure {
        Failure::Register(refused) => !matches!(refused, RegisterError::Command(CommandError::Closing)),
        Failure::Registration(failed) => matches!(failed, RegistrationError::Work(_)),
        _ => false,
    }
}

impl<B> Transport for Rdma<B>
where
    B: PollReady + 'static,
    B::Buffer: Memory + Sync,
    <B as PollReady>::Error: fmt::Display + Send + Sync,
{
    type Memory = B::Buffer;

    fn limits(&self) -> client::Transport {
        self.limits
    }

    fn poll_receive(&mut self, cx: &mut Context<'_>) -> Poll<Result<Received, Lost>> {
        // The task stays registered when this future is dropped, and nothing is lost with it.
        let message = ready!(pin!(self.receiver.recv()).poll(cx)).map_err(Lost::because)?;
        let invalidated = std::iter::from_fn(|| self.sender.invalidated()).collect();
        Poll::Ready(Ok(Received { invalidated, message: BytesMut::from(message) }))
    }

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Lost>> {
        match self.poll_flush(cx) {
            Poll::Pending if self.waiting < WAITING_MAX => Poll::Ready(Ok(())),
            other => other,
        }
    }

    fn send(&mut self, message: [&[u8]; 2]) {
        let message = Bytes::from(message.concat());
        self.waiting = self.waiting.saturating_add(message.len());
        self.outbox.push_back(message);
    }

    fn register(&mut self, registration: RegistrationId, part: Part<B::Buffer>) {
        let sender = self.sender.clone();
        let Part { memory, offset, len, access } = part;
        let access = match access {
            client::Access::RemoteRead => Access::Read,
            client::Access::RemoteWrite => Access::Write,
        };
        let register = Box::pin(async move { sender.register(&memory, access).await });
        self.running.push((registration, Running::Register(register, offset, len)));
    }

    fn deregister(&mut self, registration: RegistrationId) {
        let sender = self.sender.clone();
        let running = match self.registrations.remove(&registration) {
            Some(registered) => {
                Running::Deregister(Box::pin(async move { sender.deregister(&registered).await }))
            }
            None => Running::Nothing,
        };
        self.running.push((registration, running));
    }

    fn poll_registered(&mut self, cx: &mut Context<'_>) -> Poll<Registered> {
        for at in 0..self.running.len() {
            if let Some(told) = self.outcome(at, cx) {
                self.running.swap_remove(at);
                return Poll::Ready(told);
            }
        }
        // One that closes goes on here; its end is seen where messages are received.
        let _ = self.poll_closing(cx);
        Poll::Pending
    }

    fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if matches!(self.closing, Closing::NotYet) {
            // What waits goes first, unless the connection has ended.
            let _ = ready!(self.poll_flush(cx));
            self.close();
        }
        self.poll_closing(cx)
    }
}

impl<B: PollReady> fmt::Debug for Rdma<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rdma").field("limits", &self.limits).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use smbd_core::error::{Aborted, CloseReason, DisconnectReason, WorkError};

    use super::*;

    #[test]
    fn memory_is_refused_on_a_connection_that_goes_on_and_not_by_its_end() {
        let reason = DisconnectReason::Unknown;
        let ends: [Failure<String>; 5] = [
            Failure::Closed(CloseReason::Lost { reason }),
            Failure::Closed(CloseReason::Local),
            Failure::NoDriver,
            Failure::Registration(Aborted.into()),
            Failure::Register(CommandError::Closing.into()),
        ];
        for failure in ends {
            assert!(!is_refusal(&failure), "{failure}");
        }
        let refusals: [Failure<String>; 3] = [
            Failure::Registration(WorkError::PostFailed { errno: 12 }.into()),
            Failure::Register(CommandError::NoRoom { what: "registrations" }.into()),
            Failure::Register(RegisterError::Segments { segments: 300, max: 256 }),
        ];
        for failure in refusals {
            assert!(is_refusal(&failure), "{failure}");
        }
    }
}
