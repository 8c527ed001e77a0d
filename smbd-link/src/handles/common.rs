//! What the handles of a connection have in common.

use std::sync::Arc;

use ::tokio::sync::{mpsc, oneshot, watch};

use super::PollReady;
use super::command::{Answer, Command};
use super::shared::{End, Shared};
use crate::Failure;
use crate::link::Ending;
use smbd_core::error::CloseReason;

/// Each handle has a reference to it. The connection ends when the last handle is dropped.
pub(super) struct Common<B: PollReady> {
    pub(super) shared: Arc<Shared>,
    pub(super) commands: mpsc::Sender<Command<B>>,
    /// How the connection has ended, as far as the driver knows. The driver drops its side when the connection is drained.
    pub(super) ended: watch::Receiver<Ending<B::Error>>,
}

impl<B: PollReady> Common<B> {
    /// Queues a command. Waits for room.
    pub(super) async fn command(&self, command: Command<B>) -> Result<(), Failure<B::Error>> {
        self.commands.send(command).await.map_err(|_| self.over())
    }

    /// Queues a command, and waits for its result.
    pub(super) async fn ask<T>(
        &self,
        command: impl FnOnce(Answer<T, B::Error>) -> Command<B>,
    ) -> Result<T, Failure<B::Error>> {
        let (answer, told) = oneshot::channel();
        self.command(command(answer)).await?;
        told.await.unwrap_or_else(|_| Err(self.over()))
    }

    /// The reason why commands are refused.
    pub(super) fn over(&self) -> Failure<B::Error> {
        match &*self.ended.borrow() {
            Ok(reason) => Failure::Closed(*reason),
            Err(failure) => failure.clone(),
        }
    }

    /// Waits until the connection is drained.
    pub(super) async fn ended(&self) -> Result<CloseReason, Failure<B::Error>> {
        let mut ended = self.ended.clone();
        while ended.changed().await.is_ok() {}
        ended.borrow().clone()
    }
}

impl<B: PollReady> Drop for Common<B> {
    fn drop(&mut self) {
        self.shared.wish(|state| _ = state.end.get_or_insert(End::AtOnce));
    }
}
