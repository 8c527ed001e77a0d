//! The future that drives a connection.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use ::tokio::sync::{mpsc, watch};
use smbd_core::Endpoint;

use super::callers::Callers;
use super::command::Command;
use super::shared::{End, Shared};
use crate::link::{Ending, Link};
use crate::{Failure, Messages, PollReady};

/// Commands that are taken before the connection is driven again.
const COMMANDS_MAX: u32 = 64;
/// Rounds of one poll. After them the task yields to other tasks.
const ROUNDS_MAX: u32 = 4;

/// The future that drives a connection. Spawn it, or poll it. A connection that is not driven makes no progress, and
/// does not answer keepalives.
///
/// It is ready when the connection is drained, or cannot be driven any more. Its output has the backend. Dropping the
/// backend may block for a long time (`smbd-verbs` names the devices), so drop it on a thread that may block. Dropping
/// the driver before it is ready ends the connection at once.
#[must_use = "a connection that nobody drives does nothing"]
pub struct Driver<B: PollReady, C: Messages = Endpoint> {
    /// `None` when the connection is over.
    pub(super) running: Option<Running<B, C>>,
}

/// A connection that is over.
#[derive(Debug)]
pub struct Finished<B, E> {
    /// The backend of the connection.
    pub backend: B,
    /// The reason of its end, or the error because of which it was not established or could not be driven.
    pub result: Ending<E>,
}

/// A connection that is driven. Callers whose channel is dropped with it read in `ended` why.
pub(super) struct Running<B: PollReady, C: Messages> {
    pub(super) link: Link<B, u64, C>,
    pub(super) shared: Arc<Shared>,
    pub(super) commands: mpsc::Receiver<Command<B>>,
    pub(super) callers: Callers<B::Error>,
    /// The last name of an operation or a registration.
    pub(super) named: u64,
    /// Messages given to the link since the beginning.
    pub(super) queued: u64,
    pub(super) ended: watch::Sender<Ending<B::Error>>,
}

impl<B: PollReady, C: Messages> Running<B, C> {
    /// Takes commands while there is room. Returns whether there is no other: one that comes later wakes the task.
    fn take_commands(&mut self, cx: &mut Context<'_>) -> bool {
        let mut now = None;
        for _ in 0..COMMANDS_MAX {
            if self.link.waiting() > 0 {
                return false;
            }
            let Poll::Ready(Some(command)) = self.commands.poll_recv(cx) else { return true };
            self.carry_out(command);
            let now = *now.get_or_insert_with(|| self.link.backend().now());
            self.link.give(now);
        }
        false
    }

    fn carry_out(&mut self, command: Command<B>) {
        let Self { link, callers, .. } = self;
        if !link.is_open() {
            return;
        }
        match command {
            Command::Send { payload, invalidate } => {
                self.queued = self.queued.wrapping_add(1);
                link.send(payload, invalidate);
            }
            Command::Flush(answer) => callers.flush(self.queued, answer),
            Command::Rdma { verb, buffer, remote, offset, len, answer } => {
                self.named = self.named.wrapping_add(1);
                callers.operations.push((self.named, answer));
                link.rdma(self.named, verb, buffer, remote, offset, len);
            }
            Command::Register { buffer, access, answer } => {
                self.named = self.named.wrapping_add(1);
                callers.registering.push((self.named, answer));
                link.register(self.named, buffer, access);
            }
            Command::Deregister { name, answer } => {
                callers.leaving.push((name, answer));
                link.deregister(name);
            }
            Command::Probe(answer) => match link.probe() {
                Ok(()) => callers.probe = Some(answer),
                Err(error) => drop(answer.send(Err(error.into()))),
            },
        }
    }

    /// Drives the connection, and tells callers what they wait for.
    fn drive(&mut self, cx: &mut Context<'_>) {
        // They are few: no command is taken meanwhile.
        while let Poll::Ready(event) = self.link.poll_event(cx) {
            self.callers.event(event, &self.shared);
        }
        self.callers.sent(self.link.messages().1);
        if let Some(ending) = self.link.closed() {
            drop(self.ended.send_replace(ending.clone()));
            self.commands.close();
            self.callers.end();
        }
    }

    /// Gives messages to the handles, and carries out their wishes, which are no commands. Tokens are there before the messages that
    /// invalidated them, and messages before the end.
    fn exchange(&mut self, cx: &mut Context<'_>) {
        let (unclaimed, end) = self.shared.exchange(cx, &mut self.link);
        for name in unclaimed {
            self.link.deregister(name);
        }
        let Some(end) = end.filter(|_| self.link.is_open()) else { return };
        self.commands.close();
        match end {
            End::Within(time) => {
                // Commands that came before are taken, room or not: they are few.
                while let Poll::Ready(Some(command)) = self.commands.poll_recv(cx) {
                    self.carry_out(command);
                }
                self.link.close(time);
            }
            End::AtOnce => self.link.abort(),
        }
    }

    fn finish(self, ending: Ending<B::Error>) -> Finished<B, B::Error> {
        drop(self.ended.send_replace(ending.clone()));
        self.shared.end();
        Finished { backend: self.link.into_backend(), result: ending }
    }
}

// Nothing in it is pinned.
impl<B: PollReady, C: Messages> Unpin for Driver<B, C> {}

impl<B: PollReady, C: Messages> Future for Driver<B, C> {
    type Output = Finished<B, B::Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let place = &mut self.get_mut().running;
        for _ in 0..ROUNDS_MAX {
            // Polled again after it was ready, it never is.
            let Some(running) = place else { return Poll::Pending };
            let is_all = running.take_commands(cx);
            running.drive(cx);
            running.exchange(cx);
            if let Some(ending) = running.link.over().cloned() {
                return place.take().map_or(Poll::Pending, |running| Poll::Ready(running.finish(ending)));
            }
            // Without room the link wakes the task.
            if !running.link.is_asked() && (is_all || running.link.waiting() > 0) {
                return Poll::Pending;
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

impl<B: PollReady, C: Messages> Drop for Driver<B, C> {
    fn drop(&mut self) {
        if let Some(running) = self.running.take() {
            drop(running.finish(Err(Failure::NoDriver)));
        }
    }
}

impl<B: PollReady, C: Messages> fmt::Debug for Driver<B, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let link = self.running.as_ref().map(|running| &running.link);
        f.debug_struct("Driver").field("link", &link).finish_non_exhaustive()
    }
}
