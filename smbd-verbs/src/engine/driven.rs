//! What an engine keeps of a connection, and what it gives back.

use smbd_core::backend::DriveError;
use smbd_core::{Endpoint, Instant};
use thiserror::Error as ThisError;

use super::{DeferredDestroy, Key};
use crate::{Error, VerbsConnection};

/// A connection, with everything it is made of.
pub(super) struct Driven<U, M, B> {
    pub(super) machine: M,
    pub(super) end: B,
    pub(super) upper: U,
    /// As noted among the deadlines of all, its own or an earlier one.
    pub(super) deadline: Option<Instant>,
    pub(super) state: State,
    /// Is among those that were driven since all devices were asked to wake somebody.
    pub(super) is_hot: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Asleep,
    Due,
    Hot,
}

/// A connection that is over and was taken out of the engine.
#[derive(Debug)]
pub struct Finished<U, M = Endpoint, B = VerbsConnection> {
    /// What it was called.
    pub key: Key,
    /// The connection.
    pub machine: M,
    /// Its end. What it has of the device is freed some time after it was dropped.
    pub end: DeferredDestroy<B>,
    /// Its upper layer.
    pub upper: U,
    /// An error says that the connection was cut off without an end of its own.
    pub result: Result<(), EngineError>,
}

/// Why an engine has cut a connection off.
#[derive(Clone, Debug, ThisError)]
#[non_exhaustive]
pub enum EngineError {
    /// This side broke a contract.
    #[error(transparent)]
    Drive(#[from] DriveError),
    /// Its backend does not answer.
    #[error(transparent)]
    Backend(#[from] Error),
}
