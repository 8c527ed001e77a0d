//! Async calls: [`smbd_core::runtime::tokio`] over an [`VerbsConnection`], with tokio's reactor and timers.
//!
//! ```no_run
//! # async fn example(config: smbd_core::Config) -> Result<(), Box<dyn std::error::Error>> {
//! use smbd_verbs::{ListenOptions, tokio::Listener};
//!
//! let mut listener = Listener::bind("192.0.2.1:5445".parse()?, ListenOptions::default())?;
//! loop {
//!     let incoming = listener.accept().await?;
//!     let config = config.clone();
//!     tokio::spawn(async move {
//!         let mut connection = incoming.accept(&config).await?;
//!         while let Ok(message) = connection.recv().await {
//!             connection.send(message).await?;
//!         }
//!         Ok::<_, smbd_verbs::tokio::Failure>(())
//!     });
//! }
//! # }
//! ```
//!
//! [`connect`] and [`Incoming::accept`] spawn the future that drives the connection; [`open`] gives it to the caller. An end
//! whose connection is over is destroyed on a thread of tokio's for blocking calls, because a device may take more than a minute
//! for it. A runtime that is dropped waits for those, and ends the connections that are left on the thread that drops it.
//!
//! All of this has to be called inside a runtime with I/O and time enabled.

mod listener;
mod ready;
#[cfg(test)]
mod tests;

use std::net::SocketAddr;

use smbd_core::runtime::{self, tokio as core_tokio};
use smbd_core::{Config, Role};

pub use listener::{Incoming, Listener};
pub use ready::AsyncEnd;
pub use runtime::Registration;
pub use runtime::tokio::{COMMANDS, Options, PollReady};

use crate::{Clock, Error, VerbsConnection};

/// An established connection.
pub type Connection = core_tokio::Connection<AsyncEnd>;
/// The half of a connection that asks for something.
pub type Sender = core_tokio::Sender<AsyncEnd>;
/// The half of a connection that receives messages.
pub type Receiver = core_tokio::Receiver<AsyncEnd>;
/// A connection that is coming up.
pub type Connecting = core_tokio::Connecting<AsyncEnd>;
/// Carries a connection out.
pub type Driver = core_tokio::Driver<AsyncEnd>;
/// A call did not bring what was asked for.
pub type Failure = runtime::Failure<Error>;

/// Connects to `to` and negotiates. Given up, the connection is as well.
///
/// # Errors
/// Why it did not come up.
pub async fn connect(to: SocketAddr, config: &Config) -> Result<Connection, Failure> {
    let end = VerbsConnection::connect(to, None, config, Clock::start())?;
    establish(Role::Initiator, end, config, Options::default()).await
}

/// Negotiates over an end, and spawns what drives it. Given up, the connection is as well.
///
/// # Errors
/// Why it did not come up.
pub async fn establish(
    role: Role,
    end: VerbsConnection,
    config: &Config,
    options: Options,
) -> Result<Connection, Failure> {
    let (connecting, driver) = open(role, end, config, options)?;
    ::tokio::spawn(async move {
        let finished = driver.await;
        // Nobody waits for it.
        drop(::tokio::task::spawn_blocking(move || drop(finished.backend)));
    });
    connecting.await
}

/// A connection over an end: what waits for it to come up, and what drives it, to be spawned by the caller. The end that the
/// driver gives back may take its time to be dropped.
///
/// # Errors
/// The reactor takes no more file descriptors.
pub fn open(
    role: Role,
    end: VerbsConnection,
    config: &Config,
    options: Options,
) -> Result<(Connecting, Driver), Error> {
    Ok(core_tokio::open(role, AsyncEnd::new(end)?, config, options))
}
