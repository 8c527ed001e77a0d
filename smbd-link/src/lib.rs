//! SMB Direct connections that are driven, over any backend that can be waited for.
//!
//! ```text
//! link          a connection that the task that uses it drives, by polling
//! transport     what a client or a server needs of a connection: a link, one of another process, or TCP
//! blocking      blocking calls for one connection, for tools and tests
//! engine        many connections on one thread
//! handles       async calls, and a future that drives the connection
//! ```
//!
//! This crate does no I/O, reads no clock and starts no thread. Each loop has a trait for waiting: [`blocking::Blocking`],
//! [`engine::Poller`] with [`Waitable`], [`handles::PollReady`]. A crate with a backend implements these traits and exports
//! the loops under its own names, as `smbd-verbs` does. A simulation implements them in virtual time.
//!
//! A server that sends each message back, over any device and in any runtime:
//!
//! ```
//! use std::future::poll_fn;
//!
//! use smbd_core::backend::Backend;
//! use smbd_core::{Config, Endpoint, Role};
//! use smbd_link::PollReady;
//! use smbd_link::link::{Ending, Event, Link, Options};
//!
//! /// Serves the connection behind `backend` until it ends.
//! async fn echo<B: Backend + PollReady>(backend: B, config: &Config) -> Ending<B::Error> {
//!     let machine = Endpoint::new(Role::Acceptor, config, backend.now());
//!     // The names of RDMA operations are of a type of the caller; this server has no such operation.
//!     let mut link = Link::<B, u32>::new(machine, backend, Options::default());
//!     let mut message = Vec::new();
//!     // The connection is driven by these calls, and by nothing else.
//!     while let Some(piece) = poll_fn(|cx| link.poll_recv(cx)).await {
//!         message.extend_from_slice(&piece.bytes);
//!         if piece.remaining == 0 {
//!             poll_fn(|cx| link.poll_ready(cx)).await;
//!             link.send(std::mem::take(&mut message).into(), None);
//!         }
//!     }
//!     loop {
//!         if let Event::Ended(ending) = poll_fn(|cx| link.poll_event(cx)).await {
//!             return ending;
//!         }
//!     }
//! }
//! ```
#![deny(
    clippy::arithmetic_side_effects,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::string_slice,
    clippy::todo,
    clippy::unimplemented,
    clippy::unreachable,
    clippy::unwrap_used,
    clippy::wildcard_enum_match_arm
)]
#![cfg_attr(
    test,
    allow(
        clippy::arithmetic_side_effects,
        clippy::expect_used,
        clippy::indexing_slicing,
        clippy::panic,
        clippy::unwrap_used,
        clippy::wildcard_enum_match_arm,
        reason = "a test that panics has failed"
    )
)]

pub mod blocking;
pub mod engine;
mod failure;
pub mod handles;
pub mod link;
mod messages;
mod open;
mod ready;
mod registration;
mod spin;
pub mod tcp;
#[cfg(test)]
mod tests;
pub mod time;
pub mod transport;
mod waitable;

pub use failure::Failure;
pub use messages::Messages;
pub use open::{Accept, Connect};
pub use ready::PollReady;
pub use registration::Registration;
pub use spin::BusyPoll;
pub use waitable::Waitable;
