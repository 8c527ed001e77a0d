//! What an engine keeps of a connection, and what it gives back.

use core::fmt;

use thiserror::Error;

use super::deferred::DeferredDestroy;
use super::slots::Key;
use crate::Instant;
use crate::backend::DriveError;
use crate::runtime::Waitable;

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
pub struct Finished<U, M, B: Waitable> {
    /// What it was called.
    pub key: Key,
    /// The connection.
    pub machine: M,
    /// Its backend. What that has of the device is freed some time after it was dropped.
    pub end: DeferredDestroy<B>,
    /// Its upper layer.
    pub upper: U,
    /// An error says that the connection was cut off without an end of its own.
    pub result: Result<(), EngineError<B::Error>>,
}

impl<U: fmt::Debug, M: fmt::Debug, B: Waitable + fmt::Debug> fmt::Debug for Finished<U, M, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { key, machine, end, upper, result } = self;
        f.debug_struct("Finished")
            .field("key", key)
            .field("machine", machine)
            .field("end", end)
            .field("upper", upper)
            .field("result", result)
            .finish()
    }
}

/// Why an engine has cut a connection off. `E` is the error of its backend.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum EngineError<E> {
    /// This side broke a contract.
    #[error(transparent)]
    Drive(#[from] DriveError),
    /// Its backend does not answer.
    #[error(transparent)]
    Backend(E),
}
