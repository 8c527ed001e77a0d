//! The future that drives a connection: a client, its transport, and what handles ask for.

use std::collections::BTreeMap;
use std::future::{Future as _, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use smbd_core::Instant;
use smbd_smb2::client::{Arrived, Client, OperationId, Output, Refused, SessionHandle};
use smbd_smb2::security::Credentials;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{self, Sleep};

use super::answer::Done;
use super::command::{Command, Reply};
use super::handle::Ended;
use super::pool::Pool;
use super::running::Running;
use super::settings::Settings;
use crate::Error;
use crate::transport::{Lost, Part, Received, Registered, Transport};

/// Drives a connection.
pub(super) struct Driver<T: Transport> {
    pub(super) client: Client,
    pub(super) transport: T,
    pub(super) commands: mpsc::Receiver<Command>,
    /// A command that waits for room.
    pub(super) next: Option<Command>,
    pub(super) running: BTreeMap<OperationId, Running>,
    pub(super) pool: Pool<T::Memory>,
    /// Who is logged in, for when a session expires.
    pub(super) users: BTreeMap<SessionHandle, Credentials>,
    pub(super) server: String,
    began: time::Instant,
    timer: Option<(Instant, Pin<Box<Sleep>>)>,
    state: State,
    ended: Ended,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Open,
    Closing,
    Over,
}

/// What an output of the client leaves to be done when nothing is borrowed of it any more.
enum Then {
    GoOn,
    Idle(Option<Instant>),
    Done(OperationId, Result<Done, Error>),
    Authenticate(SessionHandle),
    Close(String),
}

impl<T: Transport> Driver<T> {
    pub(super) fn new(
        client: Client,
        transport: T,
        commands: mpsc::Receiver<Command>,
        settings: &Settings,
        ended: Ended,
    ) -> Self {
        Self {
            client,
            transport,
            commands,
            next: None,
            running: BTreeMap::new(),
            pool: Pool::new(settings.buffers),
            users: BTreeMap::new(),
            server: settings.server.clone(),
            began: time::Instant::now(),
            timer: None,
            state: State::Open,
            ended,
        }
    }

    /// Ready when the connection is over and all commands are answered.
    pub(super) async fn run(mut self) {
        poll_fn(|cx| self.poll(cx)).await;
    }

    pub(super) fn now(&self) -> Instant {
        Instant::ORIGIN.saturating_add(self.began.elapsed())
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            match self.state {
                State::Open => match self.turn(cx) {
                    Ok(true) => {}
                    Ok(false) => return Poll::Pending,
                    Err(lost) => self.close(lost.0),
                },
                State::Closing => {
                    ready!(self.transport.poll_close(cx));
                    self.client.closed();
                    self.say(Arrived::nothing());
                    self.commands.close();
                    self.state = State::Over;
                }
                State::Over => {
                    let waiting =
                        std::mem::take(&mut self.running).into_values().map(|running| running.answer);
                    let next = self.next.take().map(|command| command.answer);
                    for answer in waiting.chain(next) {
                        refuse(answer, self.why_ended());
                    }
                    match ready!(self.commands.poll_recv(cx)) {
                        Some(command) => refuse(command.answer, self.why_ended()),
                        None => return Poll::Ready(()),
                    }
                }
            }
        }
    }

    /// Does what can be done. Returns whether there may be more; if not, the task is woken later.
    fn turn(&mut self, cx: &mut Context<'_>) -> Result<bool, Lost> {
        let mut has_moved = false;
        let deadline = self.say(Arrived::nothing());
        if self.state != State::Open {
            return Ok(true);
        }
        // Behind what the client says: a registration goes on only while it is asked for.
        while let Poll::Ready(registered) = self.transport.poll_registered(cx) {
            self.on_registered(registered);
            has_moved = true;
        }
        // Messages are taken always: a server that waits for this side to take its answers takes nothing itself.
        match self.transport.poll_receive(cx) {
            Poll::Ready(received) => {
                self.take(received?);
                has_moved = true;
            }
            Poll::Pending => {}
        }
        if let Poll::Ready(ready) = self.transport.poll_ready(cx) {
            ready?;
            has_moved |= self.begin(cx);
        }
        Ok(has_moved || self.state != State::Open || self.is_due(deadline, cx))
    }

    /// Whether this time has come. If not, the task is woken then.
    fn is_due(&mut self, deadline: Option<Instant>, cx: &mut Context<'_>) -> bool {
        let Some(deadline) = deadline else {
            self.timer = None;
            return false;
        };
        let now = self.now();
        let after = deadline.saturating_since(now);
        let wait = || (deadline, Box::pin(time::sleep(after)));
        let timer = self.timer.get_or_insert_with(wait);
        if timer.0 != deadline {
            *timer = wait();
        }
        let is_due = timer.1.as_mut().poll(cx).is_ready();
        if is_due {
            self.timer = None;
        }
        is_due
    }

    pub(super) fn close(&mut self, why: Arc<str>) {
        if self.state == State::Open {
            // It is said once.
            let _ = self.ended.set(why);
            self.state = State::Closing;
        }
    }

    pub(super) fn why_ended(&self) -> Arc<str> {
        self.ended.get().cloned().unwrap_or_else(|| "it was closed".into())
    }

    fn on_registered(&mut self, registered: Registered) {
        let now = self.now();
        // Refused are only those that the client does not know any more.
        let _ = match registered {
            Registered::Valid(id, descriptors) => match self.client.registered(id, &descriptors) {
                Err(Refused::Wire(_) | Refused::Descriptors { .. }) => self.client.not_registered(now, id),
                other => other,
            },
            Registered::Impossible(id) => self.client.not_registered(now, id),
            Registered::Ended(id) => self.client.deregistered(now, id),
        };
    }

    /// Takes a message.
    fn take(&mut self, Received { invalidated, mut message }: Received) {
        for token in invalidated {
            // One that names nothing any more needs nothing.
            let _ = self.client.invalidated(token);
        }
        self.say(Arrived::new(&mut message));
    }

    /// Does what the client says, until it has nothing to say. Returns when it wants to be asked again.
    fn say(&mut self, mut arrived: Arrived<'_>) -> Option<Instant> {
        loop {
            let now = self.now();
            match self.next_output(now, &mut arrived) {
                Then::GoOn => {}
                Then::Idle(deadline) => return deadline,
                Then::Done(operation, result) => self.done(operation, result),
                Then::Authenticate(session) => self.authenticate(session, now),
                Then::Close(why) => self.close(why.into()),
            }
        }
    }

    fn next_output(&mut self, now: Instant, arrived: &mut Arrived<'_>) -> Then {
        let Self { client, transport, running, pool, users, .. } = self;
        match client.poll(now, arrived) {
            Output::Send { message, .. } => {
                transport.send(message);
                Then::GoOn
            }
            Output::Register { registration, buffer, offset, len, access } => {
                match pool.memory(buffer).cloned().zip(u32::try_from(offset).ok()) {
                    Some((memory, offset)) => {
                        transport.register(registration, Part { memory, offset, len, access });
                        Then::GoOn
                    }
                    None => Then::Close("a buffer is used that there is none of".into()),
                }
            }
            Output::Deregister { registration, .. } => {
                transport.deregister(registration);
                Then::GoOn
            }
            Output::Data { operation, offset, data } => {
                if let Some(running) = running.get_mut(&operation) {
                    running.take(offset, data);
                }
                Then::GoOn
            }
            Output::Done { operation, result, .. } => {
                Then::Done(operation, result.map_err(Error::from).and_then(Done::of))
            }
            Output::SessionExpired(session) => Then::Authenticate(session),
            Output::SessionEnded(session) => {
                users.remove(&session);
                Then::GoOn
            }
            Output::Close(reason) => Then::Close(reason.to_string()),
            Output::Idle(deadline) => Then::Idle(deadline),
            // No transform is offered: memory of transports cannot be changed in place.
            Output::Sign(_) | Output::Encrypt(_) | Output::Check(_) => {
                Then::Close("data are to be transformed, which was not offered".into())
            }
            // Oplocks and leases are never asked for, and what is left alone changes nothing.
            Output::Negotiated(_) | Output::OplockBreak(_) | Output::LeaseBreak(_) | Output::Discarded(_) => {
                Then::GoOn
            }
        }
    }
}

/// Tells somebody that the connection is over.
fn refuse(answer: oneshot::Sender<Result<Reply, Error>>, why: Arc<str>) {
    // Whoever asked may have gone.
    let _ = answer.send(Err(Error::Ended(why)));
}
