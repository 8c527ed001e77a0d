//! Many connections on one thread: the engine of `smbd-core` over file descriptors.

mod epoll;
mod reaper;
#[cfg(test)]
mod tests;

use smbd_core::Endpoint;
use smbd_core::runtime::engine;

pub use engine::{DeferredDestroy, Key};
pub use epoll::Epoll;

use crate::{Error, VerbsConnection};

/// Drives many connections on one thread, and sleeps on one file descriptor: [`smbd_core::runtime::engine::Engine`] over
/// [`Epoll`]. Machines are [`Endpoint`]s and backends [`VerbsConnection`]s unless said otherwise.
///
/// What has to be destroyed is destroyed on threads of its own: rxe takes more than a minute for an id now and then.
pub type Engine<U, M = Endpoint, B = VerbsConnection> = engine::Engine<U, M, B, Epoll>;

/// A connection that is over and was taken out of the engine.
pub type Finished<U, M = Endpoint, B = VerbsConnection> = engine::Finished<U, M, B>;

/// Why an engine has cut a connection off.
pub type EngineError = engine::EngineError<Error>;
