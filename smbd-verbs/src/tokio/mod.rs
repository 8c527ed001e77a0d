//! Async calls: [`smbd_link::handles`] over a [`VerbsConnection`], with tokio's reactor and timers.
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
//! [`connect`] and [`Incoming::accept`] spawn the future that drives the connection; [`open`] returns it to the caller.
//! The end of a spawned connection is destroyed with `tokio::task::spawn_blocking`, because a device may need more than
//! a minute for it. Dropping the runtime waits for these threads, and ends all other connections on the calling thread.
//!
//! Call all functions inside a runtime with I/O and time enabled.

mod listener;
mod ready;
#[cfg(test)]
mod tests;
mod told;

use std::net::SocketAddr;

use smbd_core::backend::Backend as _;
use smbd_core::{Config, Endpoint, Negotiated, Role};
use smbd_link::handles;
use smbd_link::link::{Link, Owned, Rest};

pub use listener::{Incoming, Listener};
pub use ready::AsyncEnd;
pub use smbd_link::Registration;
pub use smbd_link::handles::{COMMANDS, Options, PollReady};
pub use told::Told;

use crate::{Clock, Error, VerbsConnection};

/// An established connection.
pub type Connection = handles::Connection<AsyncEnd>;
/// The half of a connection that sends messages and other commands.
pub type Sender = handles::Sender<AsyncEnd>;
/// The half of a connection that receives messages.
pub type Receiver = handles::Receiver<AsyncEnd>;
/// The future that is ready when a connection is established or has failed.
pub type Connecting = handles::Connecting<AsyncEnd>;
/// The future that drives a connection.
pub type Driver = handles::Driver<AsyncEnd>;
/// The error of a call on a connection.
pub type Failure = smbd_link::Failure<Error>;

/// Connects to `to` and negotiates, with the default [`Options`]. Waits until the connection is established or has
/// failed.
///
/// # Cancel safety
/// If the future is dropped, the connection ends.
///
/// # Errors
/// [`Failure::Backend`](smbd_link::Failure::Backend): the host has no RDMA connection manager or no resources left, or
/// the device fails. [`Failure::Connect`](smbd_link::Failure::Connect): the connection was not established.
pub async fn connect(to: SocketAddr, config: &Config) -> Result<Connection, Failure> {
    let end = VerbsConnection::connect(to, None, config, Clock::start())?;
    establish(Role::Initiator, end, config, Options::default()).await
}

/// Spawns a task that connects, negotiates and drives the connection over `end`. Waits until the connection is
/// established or has failed.
///
/// # Cancel safety
/// If the future is dropped, the connection ends.
///
/// # Errors
/// [`Failure::Backend`](smbd_link::Failure::Backend): the reactor cannot register the file descriptor, or the device
/// fails. [`Failure::Connect`](smbd_link::Failure::Connect): the connection was not established.
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

/// Opens a connection over `end`. Returns at once, with the future that waits until the connection is established and
/// the future that drives it, which the caller spawns. Dropping the end that the driver returns may block for more than
/// a minute.
///
/// # Errors
/// The reactor cannot register the file descriptor.
pub fn open(
    role: Role,
    end: VerbsConnection,
    config: &Config,
    options: Options,
) -> Result<(Connecting, Driver), Error> {
    Ok(handles::open(role, AsyncEnd::new(end)?, config, options))
}

/// Connects, or accepts, and negotiates over `end`. Returns a connection that whoever polls it drives, and what was negotiated. When it is
/// dropped, a task of the runtime ends it.
///
/// # Cancel safety
/// If the future is dropped, the connection ends.
///
/// # Errors
/// The errors of [`establish`].
pub async fn link<N: Copy + PartialEq + Send + 'static>(
    role: Role,
    end: VerbsConnection,
    config: &Config,
    options: Options,
) -> Result<(Owned<AsyncEnd, N>, Negotiated), Failure> {
    let machine = Endpoint::new(role, config, end.now());
    let machine = if options.in_pieces { machine.in_pieces() } else { machine };
    let (link, negotiated) = Link::new(machine, AsyncEnd::new(end)?, options).established(leave).await?;
    let is_possible = link.get().is_some_and(|link| link.backend().get_ref().remote_invalidation());
    Ok((link.with_remote_invalidation(is_possible), negotiated))
}

/// Ends a connection that has no user any more, as a task of the runtime, and drops its backend on a thread that may block. Nobody waits
/// for that. Outside of a runtime the connection ends here.
fn leave<N: Copy + PartialEq + Send + 'static>(rest: Rest<AsyncEnd, N>) {
    let Ok(runtime) = ::tokio::runtime::Handle::try_current() else { return };
    drop(runtime.spawn(async move {
        let end = rest.await;
        drop(::tokio::task::spawn_blocking(move || drop(end)));
    }));
}
