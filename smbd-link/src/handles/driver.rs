//! The future that drives a connection.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use ::tokio::sync::{mpsc, watch};

use super::PollReady;
use super::command::{Answer, Command, Transfer};
use super::program::{Program, Registered, tell};
use super::sender::CommandOf;
use super::shared::Shared;
use crate::{Failure, Messages};
use smbd_core::backend::drive_at;
use smbd_core::error::{CloseReason, CommandError, RdmaError, SendError};
use smbd_core::{Close, Endpoint, Instant, Negotiated};

/// Segments that a registration may have: one buffer is one region or one window.
const SEGMENTS: u16 = 1;
/// Turns of one poll. After them the task yields to other tasks.
const TURNS_MAX: u32 = 4;
/// Commands that are taken before the connection is driven again.
const COMMANDS_MAX: u32 = 64;

/// How a connection ended.
pub(super) type Ending<E> = Result<CloseReason, Failure<E>>;

/// The future that drives a connection. Spawn it, or poll it. A connection that is not driven makes no progress, and
/// does not answer keepalives.
///
/// It is ready when the connection is drained, or cannot be driven any more. Its output has the backend. Dropping the
/// backend may block for a long time (`smbd-verbs` names the devices), so drop it on a thread that may block. Dropping
/// the driver before it is ready ends the connection at once.
#[must_use = "a connection that nobody drives does nothing"]
pub struct Driver<B: PollReady, C: Messages = Endpoint> {
    machine: C,
    /// `None` when it is over.
    backend: Option<B>,
    program: Program<B::Buffer, B::Error>,
    commands: mpsc::Receiver<CommandOf<B>>,
    /// A command that found no room. No other command is taken before it.
    waiting: Option<CommandOf<B>>,
    closing: Closing,
    ended: watch::Sender<Option<Ending<B::Error>>>,
}

/// A connection that is over.
#[derive(Debug)]
pub struct Finished<B, E> {
    /// The backend of the connection.
    pub backend: B,
    /// The reason of its end, or the error because of which it was not established or could not be driven.
    pub result: Result<CloseReason, Failure<E>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Closing {
    No,
    /// Requested. It begins when the endpoint has all earlier commands, or at this time.
    Asked(Instant),
    /// The endpoint is closing.
    Told,
}

/// Which commands were passed to the endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Taken {
    /// All that there were. The task is woken for the next one.
    All,
    /// As many as are taken at a time.
    Some,
    /// All before one that finds no room.
    WaitsForRoom,
}

enum Turn {
    Again,
    Asleep,
    Over,
}

impl<B: PollReady, C: Messages> Driver<B, C> {
    pub(super) fn new(
        machine: C,
        backend: B,
        shared: Arc<Shared<B::Error>>,
        established: Answer<Negotiated, B::Error>,
        commands: mpsc::Receiver<CommandOf<B>>,
        ended: watch::Sender<Option<Ending<B::Error>>>,
    ) -> Self {
        let program = Program::new(shared, established);
        Self {
            machine,
            backend: Some(backend),
            program,
            commands,
            waiting: None,
            closing: Closing::No,
            ended,
        }
    }

    /// The driven machine.
    pub const fn machine(&self) -> &C {
        &self.machine
    }

    fn turn(&mut self, cx: &mut Context<'_>) -> Result<Turn, Failure<B::Error>> {
        let Some(backend) = &mut self.backend else { return Ok(Turn::Over) };
        let now = backend.now();
        self.obey(now, cx);
        let taken = self.take_commands(now, cx);
        if self.may_resume() {
            self.machine.resume();
        }
        let Some(backend) = &mut self.backend else { return Ok(Turn::Over) };
        let deadline = drive_at(now, &mut self.machine, backend, &mut self.program)?;
        if self.machine.is_drained() {
            return Ok(Turn::Over);
        }
        if self.program.closed.is_some() {
            // Those who wait for an answer are told by its loss.
            self.commands.close();
            self.waiting = None;
            while self.commands.try_recv().is_ok() {}
        }
        // Commands that have come since then wake the task.
        let goes_on = match taken {
            Taken::All => false,
            Taken::Some => true,
            Taken::WaitsForRoom => self.try_again(now),
        };
        if goes_on || self.may_resume() {
            return Ok(Turn::Again);
        }
        let close_at = match self.closing {
            Closing::Asked(until) => Some(until),
            Closing::No | Closing::Told => None,
        };
        let Some(backend) = &mut self.backend else { return Ok(Turn::Over) };
        match backend.poll_ready(cx, deadline.into_iter().chain(close_at).min()) {
            Poll::Ready(Ok(())) => Ok(Turn::Again),
            Poll::Ready(Err(error)) => Err(Failure::Backend(error)),
            Poll::Pending => Ok(Turn::Asleep),
        }
    }

    /// Whether a paused endpoint may deliver a message: there is room, or both sides are without credits. A side that
    /// waits to send keeps its last credit for a message that grants, and has no receive to grant. A peer without
    /// credits cannot grant any either. One more message frees a receive.
    fn may_resume(&self) -> bool {
        let endpoint = self.machine.endpoint();
        if !endpoint.is_paused() {
            return false;
        }
        let credits = endpoint.connection().credits();
        let stands_still = self.program.is_sending() && credits.send() <= 1 && credits.outstanding() == 0;
        !self.program.shared.is_full() || stands_still && !self.program.shared.is_overfull()
    }

    /// Carries out the handles' wishes, which are no commands.
    fn obey(&mut self, now: Instant, cx: &Context<'_>) {
        let wishes = self.program.shared.wishes(cx);
        for id in wishes.unclaimed {
            // One that went with the connection needs no end of its own.
            let _ = self.machine.deregister(now, id);
        }
        if self.closing != Closing::No {
            return;
        }
        if let Some(within) = wishes.close {
            self.closing = Closing::Asked(now.saturating_add(within));
            self.commands.close();
        } else if wishes.abandoned {
            self.closing = Closing::Told;
            self.commands.close();
            self.waiting = None;
            self.machine.close(now, Close::Abort);
        }
    }

    /// Passes commands to the endpoint while there is room, and begins to close if that is due.
    fn take_commands(&mut self, now: Instant, cx: &mut Context<'_>) -> Taken {
        for _ in 0..COMMANDS_MAX {
            let next = match self.waiting.take() {
                Some(command) => Poll::Ready(Some(command)),
                None => self.commands.poll_recv(cx),
            };
            let Poll::Ready(Some(command)) = next else {
                self.close_if_due(now);
                return Taken::All;
            };
            self.waiting = self.carry_out(command, now);
            if self.waiting.is_some() {
                self.close_if_due(now);
                return Taken::WaitsForRoom;
            }
        }
        Taken::Some
    }

    /// Passes the command that found no room. Returns whether it found some now.
    fn try_again(&mut self, now: Instant) -> bool {
        let Some(command) = self.waiting.take() else { return false };
        self.waiting = self.carry_out(command, now);
        self.waiting.is_none()
    }

    /// Begins to close if that was requested, and no command is before it or its time limit has come.
    fn close_if_due(&mut self, now: Instant) {
        let Closing::Asked(until) = self.closing else { return };
        let is_first = self.waiting.is_none() && self.commands.is_closed() && self.commands.is_empty();
        if is_first || until <= now {
            self.closing = Closing::Told;
            self.machine.close(now, Close::Flush { until });
        }
    }

    /// Passes a command to the endpoint. Returns the command if there is no room.
    fn carry_out(&mut self, command: CommandOf<B>, now: Instant) -> Option<CommandOf<B>> {
        match command {
            Command::Send { payload, invalidate } => match self.machine.send(now, payload, invalidate) {
                Ok(_) => self.program.queued = self.program.queued.saturating_add(1),
                Err(refused) => {
                    if let SendError::Command(CommandError::NoRoom { .. }) = refused.error {
                        return Some(Command::Send { payload: refused.payload, invalidate });
                    }
                    // The connection is ending: what is queued may be lost then.
                }
            },
            Command::Flush(answer) => self.program.flush(answer),
            Command::Rdma { transfer, answer } => return self.start_rdma(transfer, answer, now),
            Command::Register { buffer, access, answer } => {
                match self.machine.register(now, access, SEGMENTS) {
                    Ok(id) => {
                        let known = Registered { buffer, asked: Some(answer), leaving: None };
                        self.program.registrations.insert(id, known);
                    }
                    Err(error) => tell(answer, Err(error.into())),
                }
            }
            Command::Deregister { id, answer } => match self.machine.deregister(now, id) {
                Ok(()) => {
                    if let Some(known) = self.program.registrations.get_mut(&id) {
                        known.leaving = Some(answer);
                    }
                }
                Err(error) => tell(answer, Err(error.into())),
            },
            Command::Probe(answer) => match self.machine.probe(now) {
                Ok(()) => self.program.probe = Some(answer),
                Err(error) => tell(answer, Err(error.into())),
            },
        }
        None
    }

    fn start_rdma(
        &mut self,
        transfer: Transfer<B::Buffer>,
        answer: Answer<(), B::Error>,
        now: Instant,
    ) -> Option<CommandOf<B>> {
        let Transfer { verb, ref remote, offset, len, .. } = transfer;
        match self.machine.rdma(now, verb, len, Arc::clone(remote), offset) {
            Ok(op) => drop(self.program.operations.insert(op, (transfer.buffer, answer))),
            Err(RdmaError::Command(CommandError::NoRoom { .. })) => {
                return Some(Command::Rdma { transfer, answer });
            }
            Err(error) => tell(answer, Err(error.into())),
        }
        None
    }

    fn finish(&mut self, cut_off: Option<Failure<B::Error>>) -> Ending<B::Error> {
        self.commands.close();
        let closed = self.program.closed.take().unwrap_or(Ok(CloseReason::Local));
        let ending = cut_off.map_or(closed, Err);
        // Only for those who were told nothing.
        self.program.end(match &ending {
            Ok(reason) => Failure::Closed(*reason),
            Err(failure) => failure.clone(),
        });
        self.program.operations.clear();
        self.program.registrations.clear();
        self.ended.send_replace(Some(ending.clone()));
        ending
    }
}

// Nothing in it is pinned.
impl<B: PollReady, C: Messages> Unpin for Driver<B, C> {}

impl<B: PollReady, C: Messages> Future for Driver<B, C> {
    type Output = Finished<B, B::Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        for _ in 0..TURNS_MAX {
            let cut_off = match this.turn(cx) {
                Ok(Turn::Again) => continue,
                Ok(Turn::Asleep) => return Poll::Pending,
                Ok(Turn::Over) => None,
                Err(failure) => Some(failure),
            };
            // Polled again after it was ready, it never is.
            let Some(backend) = this.backend.take() else { return Poll::Pending };
            return Poll::Ready(Finished { backend, result: this.finish(cut_off) });
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

impl<B: PollReady, C: Messages> Drop for Driver<B, C> {
    fn drop(&mut self) {
        if self.backend.is_some() {
            let _ = self.finish(Some(Failure::NoDriver));
        }
    }
}

impl<B: PollReady, C: Messages> fmt::Debug for Driver<B, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Driver")
            .field("phase", &self.machine.endpoint().connection().phase())
            .field("closing", &self.closing)
            .finish_non_exhaustive()
    }
}
