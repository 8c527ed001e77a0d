//! SMB Direct, over RDMA devices.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::future::Future;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use smbd_core::{Access, Config, ConfigError, Params, Role};
use smbd_smb2::client::{self, RegistrationId};
use smbd_verbs::tokio::{Failure, Options, Receiver, Registration, Sender, establish};
use smbd_verbs::{Buffer, Clock, VerbsConnection};

use super::{Lost, Memory, MemoryError, Part, Received, Registered, Transport, part_of};

type Boxed<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Ports of SMB Direct: on iWARP, and elsewhere. They are tried in this order, as clients of Linux do.
pub const DEFAULT_PORTS: [u16; 2] = [5445, 445];
/// Transfers of more bytes go by RDMA.
const THRESHOLD: u32 = 4096;
/// The longest message that a server may send here, in bytes: a piece of a READ without a channel and what is around it.
const RECEIVE_MAX: u32 = (1 << 20) + 4096;
/// Bytes that may wait to be sent before no more should be given.
const WAITING_MAX: usize = 1 << 20;
/// How long messages may still take to leave when a connection is closed.
const CLOSE_WITHIN: Duration = Duration::from_secs(1);

/// What connects to servers.
#[derive(Clone, Debug)]
pub struct Connector {
    config: Config,
}

impl Connector {
    /// With so many buffers that may be registered at once, and so long a wait for a server.
    ///
    /// # Errors
    /// A number is not one that a connection can have.
    pub fn new(registrations: u16, connect: Duration) -> Result<Self, ConfigError> {
        let params = Params {
            max_fragmented_recv_size: RECEIVE_MAX,
            active_negotiation_timeout: connect,
            registrations,
            segments_max: registrations,
            registration_slots: registrations,
            rdma_ops: 0,
            rdma_slots: 0,
            ..Params::linux_client()
        };
        Ok(Self { config: Config::try_from(params)? })
    }

    /// Connects to a server. Call it inside a runtime with I/O and time enabled.
    ///
    /// # Errors
    /// There is no device, or no server that answers.
    pub async fn connect(&self, server: SocketAddr) -> Result<Rdma, Failure> {
        let end = VerbsConnection::connect(server, None, &self.config, Clock::start())?;
        let invalidation = end.remote_invalidation_later();
        let connection = establish(Role::Initiator, end, &self.config, Options::default()).await?;
        let negotiated = connection.negotiated();
        let limits = client::Transport {
            max_send: negotiated.max_fragmented_send_size,
            max_receive: self.config.max_fragmented_recv_size,
            rdma: Some(client::Rdma {
                threshold: THRESHOLD,
                max_read_write: negotiated.max_read_write_size,
                invalidates: invalidation.is_possible(),
            }),
        };
        let (sender, receiver) = connection.split();
        Ok(Rdma {
            limits,
            sender,
            receiver,
            outbox: VecDeque::new(),
            waiting: 0,
            sending: None,
            running: Vec::new(),
            registrations: BTreeMap::new(),
            closing: Closing::NotYet,
        })
    }
}

/// A server over an RDMA device.
pub struct Rdma {
    limits: client::Transport,
    sender: Sender,
    receiver: Receiver,
    outbox: VecDeque<Bytes>,
    waiting: usize,
    /// The message that waits for the connection to take it, with its length.
    sending: Option<(usize, Boxed<Result<(), Failure>>)>,
    running: Vec<(RegistrationId, Running)>,
    registrations: BTreeMap<RegistrationId, Registration>,
    closing: Closing,
}

enum Closing {
    NotYet,
    Running(Boxed<()>),
    Over,
}

enum Running {
    /// With the part of the memory that is described.
    Register(Boxed<Result<Registration, Failure>>, u32, u32),
    Deregister(Boxed<Result<(), Failure>>),
    /// The server has no access, because there was no registration.
    Nothing,
    /// It cannot be said any more: the connection has ended, and with it the access.
    Over,
}

impl Rdma {
    /// What one has come to.
    fn outcome(&mut self, at: usize, cx: &mut Context<'_>) -> Option<Registered> {
        let (id, running) = self.running.get_mut(at)?;
        let id = *id;
        let told = match running {
            Running::Over => return None,
            Running::Nothing => Some(Registered::Ended(id)),
            Running::Register(future, offset, len) => match future.as_mut().poll(cx) {
                Poll::Pending => return None,
                Poll::Ready(Err(_)) => Some(Registered::Impossible(id)),
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

impl Transport for Rdma {
    type Memory = Buffer;

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

    fn register(&mut self, registration: RegistrationId, part: Part<Buffer>) {
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

impl Memory for Buffer {
    fn allocate(len: u32) -> Result<Self, MemoryError> {
        Self::new(len).map_err(|_| MemoryError { offset: 0, len })
    }

    fn fill(&self, bytes: &[u8]) -> Result<(), MemoryError> {
        Self::fill(self, 0, bytes).map_err(|_| out_of_range(bytes.len()))
    }

    fn read(&self, out: &mut [u8]) -> Result<(), MemoryError> {
        let len = out.len();
        Self::read(self, 0, out).map_err(|_| out_of_range(len))
    }
}

fn out_of_range(len: usize) -> MemoryError {
    MemoryError { offset: 0, len: u32::try_from(len).unwrap_or(u32::MAX) }
}

impl fmt::Debug for Rdma {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rdma").field("limits", &self.limits).finish_non_exhaustive()
    }
}
