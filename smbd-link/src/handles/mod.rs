//! Async calls for a connection: handles for the program, and a future that drives the connection.
//!
//! ```text
//! Sender, Receiver, both in Connection      send, recv, RDMA, register, close: for tasks of the program
//!   | commands, at most COMMANDS            ^ messages, at most Options
//! Driver                                    the future that drives the connection: spawn it
//! a Link                                    an Endpoint and a backend that is PollReady
//! ```
//!
//! This module uses only tokio's channels, which need no runtime. The backend ([`PollReady`]) uses the reactor and the
//! timers of its runtime. `smbd-verbs` (feature `tokio`) has a backend for tokio's runtime. A simulation can have one
//! in virtual time.
//!
//! # Limits
//!
//! **Receiving** has the limits of a [link](crate::link): messages that wait for the program count, or, of a connection
//! [in pieces](Options::in_pieces), fragments. A program that waits in `send` for room, and receives nothing meanwhile,
//! still gets up to twice the limits.
//!
//! **Sending** waits for room: see [`Sender::send`].
//!
//! # Cancel safety
//!
//! Each method documents the effect of dropping its future. The connection owns the memory of RDMA operations and
//! registrations for as long as the device may access it, also if the future is dropped.

mod callers;
mod command;
mod common;
mod connection;
mod driver;
mod operation;
mod receiver;
mod sender;
mod shared;
#[cfg(test)]
mod tests;

use ::tokio::sync::{mpsc, oneshot, watch};

pub use connection::{Connecting, Connection};
pub use driver::{Driver, Finished};
pub use operation::Operation;
pub use receiver::Receiver;
pub use sender::Sender;

pub use crate::PollReady;
pub use crate::link::{Options, Piece};

use std::sync::Arc;

use crate::Messages;
use crate::link::Link;
use callers::Callers;
use common::Common;
use driver::Running;
use shared::Shared;
use smbd_core::error::CloseReason;
use smbd_core::{Config, Endpoint, Role};

/// Most commands that wait for the driver, of all handles of a connection together.
pub const COMMANDS: usize = 16;

/// Opens a connection over a new backend. Returns at once, with the future that waits until the connection is
/// established and the future that drives it.
pub fn open<B: PollReady>(
    role: Role,
    backend: B,
    config: &Config,
    options: Options,
) -> (Connecting<B>, Driver<B>) {
    let endpoint = Endpoint::new(role, config, backend.now());
    let endpoint = if options.in_pieces { endpoint.in_pieces() } else { endpoint };
    open_with(endpoint, backend, options)
}

/// Opens a connection like [`open`], with a new machine: an [`Endpoint`], or a wrapper of one.
pub fn open_with<B: PollReady, C: Messages>(
    machine: C,
    backend: B,
    options: Options,
) -> (Connecting<B>, Driver<B, C>) {
    let shared = Arc::new(Shared::new(options));
    let (commands, to_do) = mpsc::channel(COMMANDS);
    let (tell_established, established) = oneshot::channel();
    // Before the connection has ended, commands are refused because this side closes.
    let (tell_ended, ended) = watch::channel(Ok(CloseReason::Local));
    let running = Running {
        link: Link::new(machine, backend, options),
        shared: Arc::clone(&shared),
        commands: to_do,
        callers: Callers::new(tell_established),
        named: 0,
        queued: 0,
        ended: tell_ended,
    };
    let common = Arc::new(Common { shared, commands, ended });
    (Connecting { waiting: Some((established, common)) }, Driver { running: Some(running) })
}
