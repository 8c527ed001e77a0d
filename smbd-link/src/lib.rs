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
