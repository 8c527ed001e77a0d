//! Many connections on one thread: the engine of `smbd-core`, which waits with epoll.

mod epoll;
mod reaper;
#[cfg(test)]
mod tests;

use smbd_core::Endpoint;
use smbd_link::engine;

pub use engine::{DeferredDestroy, Key};
pub use epoll::Epoll;

use crate::{Error, VerbsConnection};

/// Drives many connections on one thread, and waits for one file descriptor: [`smbd_link::engine::Engine`]
/// over [`Epoll`]. By default machines are [`Endpoint`]s and backends are [`VerbsConnection`]s.
///
/// Backends are destroyed on other threads, because rxe sometimes needs more than a minute for one.
pub type Engine<U, M = Endpoint, B = VerbsConnection> = engine::Engine<U, M, B, Epoll>;

/// A connection that is over. The engine has removed it.
pub type Finished<U, M = Endpoint, B = VerbsConnection> = engine::Finished<U, M, B>;

/// Why an engine removed a connection that was not drained.
pub type EngineError = engine::EngineError<Error>;
