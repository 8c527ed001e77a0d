//! The task behind a connection.

use std::collections::{BTreeMap, VecDeque};
use std::os::fd::AsFd;
use std::time::Duration;

use bytes::Bytes;
use smbd_core::backend::{Backend, BufferLookup, Handler, ReceiveMemory, drive};
use smbd_core::endpoint::{EndpointEvent, Message};
use smbd_core::error::{CloseReason, ConnectError};
use smbd_core::{Close, Config, Endpoint, Instant, MsgId, Role};
use smbd_verbs::{Buffer, VerbsConnection, Waitable};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::sleep;

use super::{Failure, Readable};

/// Commands that may wait for the task, and messages for the program.
const WAITING: usize = 16;
/// How long a close waits for messages that are not sent yet.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// An established connection. Dropped without [`close`](Self::close), it ends at once.
#[derive(Debug)]
pub(super) struct Connection {
    commands: mpsc::Sender<Command>,
    messages: mpsc::Receiver<Bytes>,
    task: JoinHandle<Result<CloseReason, Failure>>,
}

#[derive(Debug)]
enum Command {
    Send(Bytes, oneshot::Sender<()>),
    Close,
}

/// What drives a connection.
struct Task {
    endpoint: Endpoint,
    end: VerbsConnection,
    readable: Readable,
    program: Program,
    commands: mpsc::Receiver<Command>,
    /// A message that found no room.
    waiting: Option<(Bytes, oneshot::Sender<()>)>,
    /// No command will come any more.
    closing: bool,
}

/// The upper layer: what is to be told to whom.
struct Program {
    established: Option<oneshot::Sender<Result<(), ConnectError>>>,
    messages: mpsc::Sender<Bytes>,
    inbox: VecDeque<Bytes>,
    sent: BTreeMap<MsgId, oneshot::Sender<()>>,
    reason: CloseReason,
}

impl Connection {
    /// Negotiates over an end.
    pub(super) async fn establish(
        role: Role,
        end: VerbsConnection,
        config: &Config,
    ) -> Result<Self, Failure> {
        let (commands, to_do) = mpsc::channel(WAITING);
        let (received, messages) = mpsc::channel(WAITING);
        let (established, establishing) = oneshot::channel();
        let task = Task {
            endpoint: Endpoint::new(role, config, end.now()),
            readable: Readable::new(end.as_fd())?,
            end,
            program: Program {
                established: Some(established),
                messages: received,
                inbox: VecDeque::new(),
                sent: BTreeMap::new(),
                reason: CloseReason::Local,
            },
            commands: to_do,
            waiting: None,
            closing: false,
        };
        let task = tokio::spawn(task.run());
        match establishing.await {
            Ok(result) => result?,
            // The task failed before it could tell.
            Err(_) => return Err(task.await?.err().unwrap_or("the connection ended".into())),
        }
        Ok(Self { commands, messages, task })
    }

    /// Returns when the message has left.
    pub(super) async fn send(&self, message: Bytes) -> Result<(), Failure> {
        let (sent, sending) = oneshot::channel();
        self.commands.send(Command::Send(message, sent)).await?;
        Ok(sending.await?)
    }

    /// The next message of the peer; `None` when the connection is over.
    pub(super) async fn recv(&mut self) -> Option<Bytes> {
        self.messages.recv().await
    }

    /// Sends what is queued, ends the connection, and tells why it ended if it had ended before.
    pub(super) async fn close(self) -> Result<CloseReason, Failure> {
        let Self { commands, messages, task } = self;
        drop(messages);
        // An error means that the task is gone already.
        let _ = commands.send(Command::Close).await;
        task.await?
    }
}

impl Task {
    async fn run(mut self) -> Result<CloseReason, Failure> {
        loop {
            let deadline = drive(&mut self.endpoint, &mut self.end, &mut self.program)?;
            if self.endpoint.is_drained() {
                let Self { end, readable, program, .. } = self;
                // It watches the end's descriptor.
                drop(readable);
                // A device may take its time to destroy it, and other tasks of the thread should not wait for that.
                tokio::task::spawn_blocking(move || drop(end)).await?;
                return Ok(program.reason);
            }
            if self.end.arm()? {
                // Other tasks of the thread want their turn.
                tokio::task::yield_now().await;
                continue;
            }
            let timer = sleep_until(deadline, self.end.now());
            // Each branch loses nothing when another one is taken.
            tokio::select! {
                ready = self.readable.wait() => ready?,
                () = timer => {}
                command = self.commands.recv(), if self.waiting.is_none() && !self.closing => self.command(command),
                () = self.program.hand_over(), if !self.program.inbox.is_empty() => {}
            }
            if let Some((message, sent)) = self.waiting.take() {
                self.send(message, sent);
            }
        }
    }

    fn command(&mut self, command: Option<Command>) {
        match command {
            Some(Command::Send(message, sent)) => self.send(message, sent),
            Some(Command::Close) => {
                self.closing = true;
                let now = self.end.now();
                self.endpoint.close(now, Close::Flush { until: now.saturating_add(CLOSE_TIMEOUT) });
            }
            None => {
                self.closing = true;
                self.endpoint.close(self.end.now(), Close::Abort);
            }
        }
    }

    fn send(&mut self, message: Bytes, sent: oneshot::Sender<()>) {
        use smbd_core::error::{CommandError, SendError};
        match self.endpoint.send(self.end.now(), message, None) {
            Ok(id) => drop(self.program.sent.insert(id, sent)),
            Err(refused) => {
                if let SendError::Command(CommandError::NoRoom { .. }) = refused.error {
                    self.waiting = Some((refused.payload, sent));
                }
                // Otherwise `sent` is dropped, which tells who waits for it.
            }
        }
    }
}

async fn sleep_until(deadline: Option<Instant>, now: Instant) {
    match deadline {
        Some(deadline) => sleep(deadline.saturating_since(now)).await,
        None => std::future::pending().await,
    }
}

impl BufferLookup<Buffer> for Program {}

impl Handler<VerbsConnection, Endpoint> for Program {
    fn event(&mut self, endpoint: &mut Endpoint, end: &mut VerbsConnection, event: EndpointEvent) {
        match event {
            EndpointEvent::Established(_) => self.tell_established(Ok(())),
            EndpointEvent::ConnectFailed(error) => self.tell_established(Err(error)),
            EndpointEvent::Message(Message::Owned(bytes)) => self.inbox.push_back(bytes),
            EndpointEvent::Message(Message::Borrowed(fragment)) => {
                // Copied: the program may keep it for long, and the receive is wanted back.
                let bytes = end.fragment(&fragment).map(Bytes::copy_from_slice);
                self.inbox.extend(bytes);
                let _ = endpoint.release(end.now(), fragment);
            }
            EndpointEvent::Sent { msg, result, .. } => {
                if let (Some(waiter), Ok(())) = (self.sent.remove(&msg), result) {
                    // Whoever gave up waiting does not care.
                    let _ = waiter.send(());
                }
            }
            EndpointEvent::Closed(reason) => self.reason = reason,
            // Nothing else was asked for.
            _ => {}
        }
    }
}

impl Program {
    /// Gives the program the next message, once it has a place for it. Dropping the future gives nothing.
    async fn hand_over(&mut self) {
        match self.messages.reserve().await {
            Ok(place) => self.inbox.pop_front().map(|message| place.send(message)).unwrap_or_default(),
            // The program wants no more messages.
            Err(_) => self.inbox.clear(),
        }
    }

    fn tell_established(&mut self, result: Result<(), ConnectError>) {
        if let Some(waiter) = self.established.take() {
            let _ = waiter.send(result);
        }
    }
}
