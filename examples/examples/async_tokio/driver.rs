//! The task behind a connection.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::time::Duration;

use bytes::Bytes;
use smbd_core::backend::ReceiveMemory;
use smbd_core::endpoint::{EndpointEvent, Message, NotSent as Refusal};
use smbd_core::error::{CloseReason, CommandError, ConnectError, DisconnectReason, SendError, WorkError};
use smbd_core::{Action, Close, Config, Endpoint, Head, Input, Instant, MsgId, RecvId, Role, WrId};
use tokio::io::{AsyncRead, AsyncWrite, ReadHalf, WriteHalf};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant as TokioInstant, sleep_until, timeout};

use super::connection::{Command, Failure, NotSent, Outgoing};
use super::inbox::Inbox;
use super::stream;

/// How long the peer may take to end its direction of the stream after this side ended its own.
const LINGER: Duration = Duration::from_secs(1);

/// Drives an endpoint over a byte stream until it is drained.
#[derive(Debug)]
pub(super) struct Driver<S> {
    endpoint: Endpoint,
    /// The origin of the endpoint's clock.
    started: TokioInstant,
    link: Link<S>,
    /// What the program wants; `None` when it will never want anything again.
    commands: Option<mpsc::Receiver<Command>>,
    /// A message that found no room, until there is some: no command is taken meanwhile.
    waiting: Option<Outgoing>,
    /// Who waits for which message.
    results: BTreeMap<MsgId, oneshot::Sender<Result<(), NotSent>>>,
    inbox: Inbox,
    established: Option<oneshot::Sender<Result<(), ConnectError>>>,
    reason: CloseReason,
}

/// The transport: both directions of the stream, and what is posted to them.
#[derive(Debug)]
struct Link<S> {
    incoming: stream::Incoming<ReadHalf<S>>,
    outgoing: stream::Outgoing<WriteHalf<S>>,
    /// Receives without a message.
    posted: VecDeque<RecvId>,
    memory: Memory,
    /// `Disconnected` was not reported.
    up: bool,
}

/// The message in each receive buffer, by slot.
#[derive(Debug)]
struct Memory(Vec<Bytes>);

impl ReceiveMemory for Memory {
    fn received(&self, id: RecvId) -> &[u8] {
        self.0.get(usize::from(id.slot())).map_or(&[], |message| message)
    }
}

impl<S: AsyncRead + AsyncWrite> Driver<S> {
    pub(super) fn new(
        role: Role,
        config: &Config,
        stream: S,
        commands: mpsc::Receiver<Command>,
        messages: mpsc::Sender<Bytes>,
        established: oneshot::Sender<Result<(), ConnectError>>,
    ) -> Self {
        let (reader, writer) = tokio::io::split(stream);
        let budget = config.budget();
        Self {
            endpoint: Endpoint::new(role, config, Instant::ORIGIN),
            started: TokioInstant::now(),
            link: Link {
                incoming: stream::Incoming::new(reader, budget.recv_buffer_len as usize),
                outgoing: stream::Outgoing::new(writer),
                posted: VecDeque::new(),
                memory: Memory(vec![Bytes::new(); budget.recv_slots as usize]),
                up: true,
            },
            commands: Some(commands),
            waiting: None,
            results: BTreeMap::new(),
            inbox: Inbox::new(messages),
            established: Some(established),
            reason: CloseReason::Local,
        }
    }

    /// Runs to the end, and tells why the connection ended.
    pub(super) async fn run(mut self) -> Result<CloseReason, Failure> {
        while let Some(deadline) = self.drain().await? {
            let wake = deadline.map(|at| self.started + at.saturating_since(Instant::ORIGIN));
            // Each branch loses nothing when another one is taken.
            tokio::select! {
                filled = self.link.incoming.fill(), if self.link.up && !self.inbox.is_full() => self.received(filled)?,
                written = self.link.outgoing.write(), if !self.link.outgoing.is_empty() => self.written(written)?,
                command = next(&mut self.commands), if self.waiting.is_none() => self.command(command),
                () = self.inbox.hand_over(), if !self.inbox.is_empty() => {}
                () = sleep_until_some(wake) => self.report(Input::Timeout)?,
            }
        }
        // What has arrived is the program's, also when the connection is over.
        while !self.inbox.is_empty() {
            self.inbox.hand_over().await;
        }
        Ok(self.reason)
    }

    /// Carries out what the endpoint wants now. Returns the deadline it ends with, or `None` when all is over.
    async fn drain(&mut self) -> Result<Option<Option<Instant>>, Failure> {
        loop {
            match self.endpoint.poll_action(&self.link.memory)? {
                Action::Wait(deadline) => return Ok(Some(deadline)),
                Action::Notify(EndpointEvent::Drained) => return Ok(None),
                Action::Notify(event) => self.event(event)?,
                Action::Connect | Action::Accept => {
                    let limits = self.endpoint.connection().limits();
                    self.report(Input::Connected { limits })?;
                }
                Action::Disconnect => self.disconnect().await?,
                Action::PostRecv { id, .. } => self.link.posted.push_back(id),
                Action::PostSend { id, head, body, .. } => {
                    let body = body.map_or(Some(&[][..]), |body| self.endpoint.body(body));
                    self.link.outgoing.push(id, &head, body.ok_or("a message without its bytes")?);
                }
                // Never commanded here.
                Action::PostRdma { id, .. } => self.refuse(id.into())?,
                Action::Register { id, .. } | Action::Deregister { id } => self.refuse(id.into())?,
            }
        }
    }

    fn event(&mut self, event: EndpointEvent) -> Result<(), Failure> {
        match event {
            EndpointEvent::Established(_) => self.tell_established(Ok(())),
            EndpointEvent::ConnectFailed(error) => self.tell_established(Err(error)),
            EndpointEvent::Message(message) => {
                self.inbox.push(match message {
                    Message::Owned(bytes) => bytes,
                    // Buffers count their users here, so a borrowed one can be given back at once.
                    Message::Borrowed(fragment) => {
                        let whole = self.link.memory.0.get(usize::from(fragment.recv().slot()));
                        let bytes = whole.ok_or("a receive without a buffer")?.slice(fragment.range());
                        self.endpoint.release(self.now(), fragment)?;
                        bytes
                    }
                });
            }
            EndpointEvent::Sent { msg, result, .. } => {
                if let Some(waiter) = self.results.remove(&msg) {
                    // Whoever gave up waiting does not care.
                    let _ = waiter.send(result.map_err(|_| NotSent::Ended));
                }
            }
            EndpointEvent::Writable => {
                if let Some(outgoing) = self.waiting.take() {
                    self.send(outgoing);
                }
            }
            EndpointEvent::Closed(reason) => {
                self.reason = reason;
                // Dropping those who wait tells them.
                self.waiting = None;
            }
            EndpointEvent::Invalidated { .. }
            | EndpointEvent::RdmaDone { .. }
            | EndpointEvent::Registered { .. }
            | EndpointEvent::Deregistered { .. }
            | EndpointEvent::Probed(_)
            | EndpointEvent::Drained => {}
        }
        Ok(())
    }

    fn tell_established(&mut self, result: Result<(), ConnectError>) {
        if let Some(waiter) = self.established.take() {
            let _ = waiter.send(result);
        }
    }

    fn command(&mut self, command: Option<Command>) {
        match command {
            Some(Command::Send(outgoing)) => self.send(outgoing),
            Some(Command::Close { within }) => {
                // The last command: that nobody can give any more must not cut the closing short.
                self.commands = None;
                let now = self.now();
                self.endpoint.close(now, Close::Flush { until: now.saturating_add(within) });
            }
            None => {
                self.commands = None;
                self.endpoint.close(self.now(), Close::Abort);
            }
        }
    }

    fn send(&mut self, Outgoing { payload, result }: Outgoing) {
        match self.endpoint.send(self.now(), payload, None) {
            Ok(msg) => drop(self.results.insert(msg, result)),
            Err(Refusal { error: SendError::Command(CommandError::NoRoom { .. }), payload }) => {
                self.waiting = Some(Outgoing { payload, result });
            }
            Err(Refusal { error: SendError::Command(_), .. }) => drop(result.send(Err(NotSent::Ended))),
            Err(Refusal { error, .. }) => drop(result.send(Err(NotSent::Refused(error)))),
        }
    }

    fn received(&mut self, filled: io::Result<()>) -> Result<(), Failure> {
        if let Err(error) = filled {
            return self.lost(self.link.incoming.why(&error));
        }
        loop {
            match self.link.incoming.next() {
                Ok(Some(message)) => {
                    // Credits see to it that there is a receive; a peer that ignores them is cut off.
                    let Some(id) = self.link.posted.pop_front() else {
                        return self.lost(DisconnectReason::DeviceFailed);
                    };
                    let (head, len) = (Head::of(&message), u32::try_from(message.len())?);
                    if let Some(buffer) = self.link.memory.0.get_mut(usize::from(id.slot())) {
                        *buffer = message;
                    }
                    self.report(Input::Received { id, head, len, invalidated: None })?;
                }
                Ok(None) => return Ok(()),
                Err(_) => return self.lost(DisconnectReason::DeviceFailed),
            }
        }
    }

    fn written(&mut self, written: io::Result<()>) -> Result<(), Failure> {
        if let Err(error) = written {
            return self.lost(self.link.incoming.why(&error));
        }
        while let Some(id) = self.link.outgoing.next_sent() {
            self.report(Input::Sent { id })?;
        }
        Ok(())
    }

    /// The transport connection is gone; told once.
    fn lost(&mut self, reason: DisconnectReason) -> Result<(), Failure> {
        if std::mem::replace(&mut self.link.up, false) {
            self.report(Input::Disconnected { reason })
        } else {
            Ok(())
        }
    }

    /// Ends this side's direction, gives everything posted back, and waits for the peer's end.
    async fn disconnect(&mut self) -> Result<(), Failure> {
        let sends = self.link.outgoing.end().await.into_iter().map(|(id, _)| WrId::Send(id));
        let recvs = std::mem::take(&mut self.link.posted).into_iter().map(WrId::Recv);
        for id in sends.chain(recvs) {
            self.report(Input::Failed { id, error: WorkError::Flushed })?;
        }
        if self.link.up {
            // A peer that takes longer is left alone.
            let _ = timeout(LINGER, self.link.incoming.discard()).await;
        }
        self.lost(DisconnectReason::Local)
    }

    fn refuse(&mut self, id: WrId) -> Result<(), Failure> {
        self.report(Input::Failed { id, error: WorkError::PostFailed { errno: 0 } })
    }

    fn report(&mut self, input: Input<'_>) -> Result<(), Failure> {
        Ok(self.endpoint.handle(self.now(), input)?)
    }

    fn now(&self) -> Instant {
        Instant::ORIGIN.saturating_add(self.started.elapsed())
    }
}

/// The next command, for ever waiting if there will be none.
async fn next(commands: &mut Option<mpsc::Receiver<Command>>) -> Option<Command> {
    match commands {
        Some(commands) => commands.recv().await,
        None => std::future::pending().await,
    }
}

async fn sleep_until_some(wake: Option<TokioInstant>) {
    match wake {
        Some(wake) => sleep_until(wake).await,
        None => std::future::pending().await,
    }
}
