//! What all handles of a connection share: the way to its driver.

use std::fmt;
use std::sync::{Arc, OnceLock};

use tokio::sync::{mpsc, oneshot};

use super::command::{Command, Reply, What};
use crate::Error;

/// Why a connection is over, once it is.
pub(super) type Ended = Arc<OnceLock<Arc<str>>>;

/// Asks the driver. Clones are the same.
#[derive(Clone)]
pub(super) struct Handle {
    commands: mpsc::Sender<Command>,
    ended: Ended,
}

impl Handle {
    pub(super) const fn new(commands: mpsc::Sender<Command>, ended: Ended) -> Self {
        Self { commands, ended }
    }

    /// Hands a command to the driver. Waits for room.
    pub(super) async fn start<T>(
        &self,
        what: What,
        of: fn(Reply) -> Option<T>,
        name: &'static str,
    ) -> Result<Pending<T>, Error> {
        let (answer, told) = oneshot::channel();
        self.commands.send(Command { what, answer }).await.map_err(|_| self.over())?;
        Ok(Pending { told, of, name, handle: self.clone() })
    }

    pub(super) async fn ask<T>(
        &self,
        what: What,
        of: fn(Reply) -> Option<T>,
        name: &'static str,
    ) -> Result<T, Error> {
        self.start(what, of, name).await?.wait().await
    }

    /// Hands over a command whose result nobody waits for, if there is room.
    pub(super) fn tell(&self, what: What) {
        let (answer, _) = oneshot::channel();
        // Without room, or without a driver, it is not done: what it would free ends with the share.
        let _ = self.commands.try_send(Command { what, answer });
    }

    fn over(&self) -> Error {
        Error::Ended(self.ended.get().cloned().unwrap_or_else(|| "its driver was dropped".into()))
    }
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handle").field("ended", &self.ended.get()).finish_non_exhaustive()
    }
}

/// An operation that has begun. Dropping it does not stop it; its result is lost.
#[derive(Debug)]
pub struct Pending<T> {
    told: oneshot::Receiver<Result<Reply, Error>>,
    of: fn(Reply) -> Option<T>,
    name: &'static str,
    handle: Handle,
}

impl<T> Pending<T> {
    /// Waits for its result.
    ///
    /// # Cancel safety
    /// If the future is dropped, the operation goes on and its result is lost.
    ///
    /// # Errors
    /// It fails, or the connection ends.
    pub async fn wait(self) -> Result<T, Error> {
        let reply = self.told.await.map_err(|_| self.handle.over())??;
        (self.of)(reply).ok_or(Error::Answer(self.name))
    }
}

pub(super) fn nothing(reply: Reply) -> Option<()> {
    match reply {
        Reply::Nothing => Some(()),
        Reply::Session(_) | Reply::Tree(_) | Reply::Opened(_) | Reply::Data(_) | Reply::Written(_) => None,
    }
}
