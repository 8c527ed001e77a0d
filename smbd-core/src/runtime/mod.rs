//! Loops around connections, over any backend that can be waited for.
//!
//! ```text
//! blocking      calls that wait: one connection, for tools and tests
//! engine        many connections on one thread
//! tokio         async calls, and a future that drives (feature `tokio`)
//! ```
//!
//! Nothing here does I/O, reads a clock or starts a thread. Who waits is a trait of its own for each loop:
//! [`blocking::Blocking`], [`engine::Poller`] with [`Waitable`], `tokio::PollReady`. A crate with a backend implements them and passes the
//! loops on as its own (`smbd-verbs` does); a simulation implements them in virtual time.

pub mod blocking;
pub mod engine;
mod failure;
mod messages;
mod open;
mod registration;
mod spin;
#[cfg(feature = "tokio")]
pub mod tokio;
mod waitable;

pub use failure::Failure;
pub use messages::Messages;
pub use open::{Accept, Connect};
pub use registration::Registration;
pub use spin::BusyPoll;
pub use waitable::Waitable;
