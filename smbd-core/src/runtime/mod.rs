//! Event loops that drive connections, over any backend that can be waited for.
//!
//! ```text
//! blocking      blocking calls for one connection, for tools and tests
//! engine        many connections on one thread
//! tokio         async calls, and a future that drives the connection (feature `tokio`)
//! ```
//!
//! Nothing here does I/O, reads a clock or starts a thread. Each loop has a trait for waiting: [`blocking::Blocking`],
//! [`engine::Poller`] with [`Waitable`], `tokio::PollReady`. A crate with a backend implements these traits and exports
//! the loops under its own names, as `smbd-verbs` does. A simulation implements them in virtual time.

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
