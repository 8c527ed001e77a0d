//! The future that drives a connection.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use ::tokio::sync::{mpsc, watch};
use smbd_core::{Endpoint, Negotiated};

use super::command::{Answer, Command};
use super::program::{Program, tell};
use super::sender::CommandOf;
use super::shared::Shared;
use crate::link::{Ending, Link, Options};
use crate::{Failure, Messages, PollReady};

/// Commands that are taken before the connection is driven again.
const COMMANDS_MAX: u32 = 64;
/// Events that are handled in one poll. After them the task yields to other tasks.
const EVENTS_MAX: u32 = 64;

/// The future that drives a connection. Spawn it, or poll it. A connection that is not driven makes no progress, and
/// does not answer keepalives.
///
/// It is ready when the connection is drained, or cannot be driven any more. Its output has the backend. Dropping the
/// backend may block for a long time (`smbd-verbs` names the devices), so drop it on a thread that may block. Dropping
/// the driver before it is ready ends the connection at once.
#[must_use = "a connection that nobody drives does nothing"]
pub struct Driver<B: PollReady, C: Messages = Endpoint> {
    /// `None` when it is over.
    link: Option<Link<B, u64, C>>,
    program: Program<B::Error>,
    commands: mpsc::Receiver<CommandOf<B>>,
    /// No other command is taken.
    is_closing: bool,
    ended: watch::Sender<Option<Ending<B::Error>>>,
}

/// A connection that is over.
#[derive(Debug)]
pub struct Finished<B, E> {
    /// The backend of the connection.
    pub backend: B,
    /// The reason of its end, or the error because of which it was not established or could not be driven.
    pub result: Ending<E>,
}

impl<B: PollReady, C: Messages> Driver<B, C> {
    pub(super) fn new(
        machine: C,
        backend: B,
        options: Options,
        shared: Arc<Shared<B::Error>>,
        established: Answer<Negotiated, B::Error>,
        commands: mpsc::Receiver<CommandOf<B>>,
        ended: watch::Sender<Option<Ending<B::Error>>>,
    ) -> Self {
        let link = Link::new(machine, backend, options);
        let program = Program::new(shared, established);
        Self { link: Some(link), program, commands, is_closing: false, ended }
    }

    /// Carries out the handles' wishes, which are no commands.
    fn obey(&mut self, cx: &mut Context<'_>) {
        let wishes = self.program.shared.wishes(cx);
        let Some(link) = &mut self.link else { return };
        for name in wishes.unclaimed {
            // One that went with the connection needs no end of its own.
            link.deregister(name);
        }
        link.keep(wishes.kept.0, wishes.kept.1);
        if wishes.deaf {
            link.ignore_messages();
        }
        if self.is_closing {
            return;
        }
        if let Some(within) = wishes.close {
            self.is_closing = true;
            self.commands.close();
            // Those that came before are taken, room or not: there are few.
            while let Poll::Ready(Some(command)) = self.commands.poll_recv(cx) {
                carry_out(link, &mut self.program, command);
            }
            link.close(within);
        } else if wishes.abandoned {
            self.is_closing = true;
            self.commands.close();
            link.abort();
        }
    }

    /// Takes commands while there is room. Those that come later wake the task. Returns whether there may be others.
    fn take_commands(&mut self, cx: &mut Context<'_>) -> bool {
        let Some(link) = &mut self.link else { return false };
        let mut now = None;
        for _ in 0..COMMANDS_MAX {
            if link.waiting() > 0 {
                return false;
            }
            let Poll::Ready(Some(command)) = self.commands.poll_recv(cx) else { return false };
            carry_out(link, &mut self.program, command);
            let now = *now.get_or_insert_with(|| link.backend().now());
            link.give(now);
        }
        true
    }

    /// Passes on what has come of the connection. Returns whether that was all.
    fn tell_events(&mut self, cx: &mut Context<'_>) -> bool {
        let Some(link) = &mut self.link else { return true };
        let mut is_all = false;
        for _ in 0..EVENTS_MAX {
            let Poll::Ready(event) = link.poll_event(cx) else {
                is_all = true;
                break;
            };
            self.program.event(event);
        }
        // Tokens are there before the messages that invalidated them, and messages before the end.
        while let Some(piece) = link.try_recv() {
            let (messages, bytes) = self.program.shared.push(piece);
            link.keep(messages, bytes);
        }
        self.program.sent(link.messages().1);
        if let Some(ending) = link.closed() {
            // Those who wait for an answer are told by its loss.
            self.program.end(ending);
            self.commands.close();
            while self.commands.try_recv().is_ok() {}
        }
        is_all
    }

    fn finish(&mut self, ending: Ending<B::Error>) -> Ending<B::Error> {
        self.commands.close();
        // Only for those who were told nothing.
        self.program.end(&ending);
        self.ended.send_replace(Some(ending.clone()));
        ending
    }
}

/// Passes a command to the link.
fn carry_out<B: PollReady, C: Messages>(
    link: &mut Link<B, u64, C>,
    program: &mut Program<B::Error>,
    command: CommandOf<B>,
) {
    match command {
        Command::Send { payload, invalidate } => {
            program.queued = program.queued.saturating_add(1);
            link.send(payload, invalidate);
        }
        Command::Flush(answer) => program.flush(answer),
        Command::Rdma { transfer, answer } => {
            let name = program.operations.add(answer);
            link.rdma(name, transfer.verb, transfer.buffer, transfer.remote, transfer.offset, transfer.len);
        }
        Command::Register { buffer, access, answer } => {
            link.register(program.registering.add(answer), buffer, access);
        }
        Command::Deregister { name, answer } => {
            program.leaving.push(name, answer);
            link.deregister(name);
        }
        Command::Probe(answer) => match link.probe() {
            Ok(()) => program.probe = Some(answer),
            Err(error) => tell(answer, Err(error.into())),
        },
    }
}

// Nothing in it is pinned.
impl<B: PollReady, C: Messages> Unpin for Driver<B, C> {}

impl<B: PollReady, C: Messages> Future for Driver<B, C> {
    type Output = Finished<B, B::Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        this.obey(cx);
        loop {
            let has_more = this.take_commands(cx);
            let waited = this.link.as_ref().map_or(0, Link::waiting);
            let is_all = this.tell_events(cx);
            if let Some(link) = this.link.take_if(|link| link.is_over()) {
                let ending = link.closed().cloned().unwrap_or(Err(Failure::NoDriver));
                return Poll::Ready(Finished { backend: link.into_backend(), result: this.finish(ending) });
            }
            if !is_all || has_more {
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            // With room there may be commands to take, and nothing else wakes the task for them.
            if waited == 0 || this.link.as_ref().is_some_and(|link| link.waiting() > 0) {
                return Poll::Pending;
            }
        }
    }
}

impl<B: PollReady, C: Messages> Drop for Driver<B, C> {
    fn drop(&mut self) {
        if self.link.is_some() {
            let _ = self.finish(Err(Failure::NoDriver));
        }
    }
}

impl<B: PollReady, C: Messages> fmt::Debug for Driver<B, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Driver").field("link", &self.link).finish_non_exhaustive()
    }
}
