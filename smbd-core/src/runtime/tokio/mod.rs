//! A connection as async calls: handles for the program, and a future that drives it.
//!
//! ```text
//! Sender, Receiver, both in Connection      send, recv, RDMA, register, close: for tasks of the program
//!   | commands, at most COMMANDS            ^ messages, at most Options
//! Driver                                    a future of its own: spawn it
//! an Endpoint and a backend that is PollReady
//! ```
//!
//! Of tokio only what needs no runtime is used: channels. The backend is what is waited for ([`PollReady`]), and knows the
//! reactor and the timers of its runtime; `smbd-verbs` (feature `tokio`) has one for tokio's, and a simulation can have one in
//! virtual time.
//!
//! # Bounds
//!
//! **Receiving.** Messages wait for the program until there are [`Options::messages_max`] of them, or of [`Options::bytes_max`]
//! bytes or more. Then no more are taken out of their receive buffers ([`Endpoint::pause`]), no receive is posted again, and soon
//! the peer has no credit to send with. So what is kept is at most `bytes_max` and one message of
//! [`Params::max_fragmented_recv_size`](crate::Params::max_fragmented_recv_size), and one as long is never refused for its length.
//! When the connection ends, all that is in the receive buffers is taken in addition.
//!
//! Credits are all that SMB Direct has to stop a peer, and they come in its own messages: two sides that stop each other cannot
//! start each other again. So while messages wait to be sent, and neither side has a credit to spare, messages are taken one by one
//! beyond the limits, up to twice of them (at least 1024 messages, 1 MiB). That is enough for a program that answers what it receives,
//! and waits for `send` meanwhile. One that sends on and on and receives nothing is ended in the end by whose side waits too long
//! for a credit (5 s in Windows, 3.1.5.1), as is a peer that waits while nobody receives.
//!
//! **Sending** waits for room: see [`Sender::send`].
//!
//! # Giving up
//!
//! Each call says what has become of what was asked for if its future is dropped. Memory of RDMA operations and registrations
//! stays owned by the connection for as long as the device may touch it, whoever waits.

mod command;
mod connection;
mod driver;
mod handle;
mod program;
mod receiver;
mod sender;
mod shared;
#[cfg(all(test, feature = "kit"))]
mod tests;

use core::error::Error;
use core::task::{Context, Poll};

use ::tokio::sync::{mpsc, oneshot, watch};

pub use connection::{Connecting, Connection};
pub use driver::{Driver, Finished};
pub use receiver::Receiver;
pub use sender::Sender;

use crate::backend::Backend;
use crate::runtime::Messages;
use crate::{Config, Endpoint, Instant, Role};
use shared::Shared;

/// Commands that may wait for the driver, of all handles of a connection together.
pub const COMMANDS: usize = 16;

/// A backend that a task can wait for.
pub trait PollReady: Backend {
    /// What goes wrong with the backend itself.
    type Error: Error + Clone;

    /// Whether there may be something to do. If not, the task is woken when there may be, or when `until` has come, on the clock
    /// of the backend. Ready for nothing now and then does no harm; at once if `until` has come already.
    ///
    /// # Errors
    /// The device does not answer, or the system fails.
    fn poll_ready(
        &mut self,
        cx: &mut Context<'_>,
        until: Option<Instant>,
    ) -> Poll<Result<(), <Self as PollReady>::Error>>;
}

/// How much may wait for the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Messages received and not taken, at least 1.
    pub messages_max: usize,
    /// Their bytes. One message may be longer, and is the only one then.
    pub bytes_max: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { messages_max: 256, bytes_max: 4 << 20 }
    }
}

/// A connection over a backend: what waits for it to come up, and what drives it.
pub fn open<B: PollReady>(
    role: Role,
    backend: B,
    config: &Config,
    options: Options,
) -> (Connecting<B>, Driver<B>) {
    let endpoint = Endpoint::new(role, config, backend.now());
    open_with(endpoint, backend, options)
}

/// As [`open`], with a new endpoint that is watched, or what else works like one.
pub fn open_with<B: PollReady, C: Messages>(
    machine: C,
    backend: B,
    options: Options,
) -> (Connecting<B>, Driver<B, C>) {
    let shared = Shared::new(options);
    let (commands, to_do) = mpsc::channel(COMMANDS);
    let (established, establishing) = oneshot::channel();
    let (tell_ended, ended) = watch::channel(None);
    let connecting = Connecting::new(shared.clone(), ended, commands, establishing);
    let driver = Driver::new(machine, backend, shared, established, to_do, tell_ended);
    (connecting, driver)
}
