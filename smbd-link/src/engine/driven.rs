//! An engine's state of one connection, and the connection that it returns at the end.

use std::fmt;

use thiserror::Error;

use super::deferred::DeferredDestroy;
use super::slots::Key;
use crate::Waitable;
use smbd_core::Instant;
use smbd_core::backend::DriveError;

/// A connection: machine, backend and upper layer.
pub(super) struct Driven<U, M, B> {
    pub(super) machine: M,
    pub(super) end: B,
    pub(super) upper: U,
    /// The time noted for it in the engine's deadlines: its own deadline or an earlier one.
    pub(super) deadline: Option<Instant>,
    pub(super) state: State,
    /// Whether it is in the engine's list of hot connections: driven, and its device not armed since.
    pub(super) is_hot: bool,
    /// Whether it was not driven since the engine last looked for such hot connections.
    pub(super) is_quiet: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Asleep,
    Due,
    Hot,
}

/// A connection that is over. The engine has removed it.
pub struct Finished<U, M, B: Waitable> {
    /// Its key in the engine.
    pub key: Key,
    /// Its machine.
    pub machine: M,
    /// Its backend. The resources of the device are freed some time after this is dropped.
    pub end: DeferredDestroy<B>,
    /// Its upper layer.
    pub upper: U,
    /// `Ok` if the connection is drained; its machine has the reason of the end. `Err` if the engine removed it because
    /// it could not be driven.
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

/// Why an engine removed a connection that was not drained. `E` is the error of its backend.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum EngineError<E> {
    /// The backend or the upper layer broke its contract.
    #[error(transparent)]
    Drive(#[from] DriveError),
    /// The backend failed.
    #[error(transparent)]
    Backend(E),
}
