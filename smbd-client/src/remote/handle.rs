//! What all handles of a connection share: the way to its driver, or to those of all connections of a session.

use std::sync::Arc;

use super::channels::{Channels, Lane};
use super::command::{Reply, What};
use super::slot::Told;
use crate::Error;

/// Asks the drivers of a session's connections. Clones are the same.
#[derive(Clone, Debug)]
pub(super) struct Handle {
    channels: Arc<Channels>,
}

impl Handle {
    pub(super) fn new(lane: Lane) -> Self {
        Self { channels: Channels::new(lane) }
    }

    /// For a session of its own, which begins on the same connection.
    pub(super) fn of_session(&self) -> Option<Self> {
        self.channels.first().map(Self::new)
    }

    pub(super) fn channels(&self) -> &Channels {
        &self.channels
    }

    /// Hands a command to the driver. Waits for room.
    pub(super) async fn start<T>(
        &self,
        what: What,
        of: fn(Reply) -> Option<T>,
        name: &'static str,
    ) -> Result<Pending<T>, Error> {
        let (answer, told) = self.channels.slots.open();
        self.channels.ask(what, answer).await?;
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
        self.channels.tell(what);
    }
}

/// An operation that has begun. Dropping it does not stop it; its result is lost.
#[derive(Debug)]
pub struct Pending<T> {
    told: Told,
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
    pub async fn wait(mut self) -> Result<T, Error> {
        let reply = (&mut self.told).await;
        self.handle.channels.slots.give_back(self.told);
        let reply = reply.unwrap_or_else(|| Err(self.handle.channels.why()))?;
        (self.of)(reply).ok_or(Error::Answer(self.name))
    }
}

pub(super) fn nothing(reply: Reply) -> Option<()> {
    match reply {
        Reply::Nothing => Some(()),
        Reply::Session(_)
        | Reply::Bindable(_)
        | Reply::Tree(_)
        | Reply::Opened(_)
        | Reply::Data(_)
        | Reply::Written(_)
        | Reply::Allocated(_)
        | Reply::Filled(_) => None,
    }
}
