//! An owner over the sockets of this host, for tokio.
//!
//! [`connect`] makes one: a [`Broker`] to ask, and the [`Incoming`] connections. Each [`Connection`] has polls, as an SMB server needs them
//! that waits for many things at once. Slots are common to all connections of an owner ([`Slots`]): they are taken for a transfer and come
//! back with its result.

mod connection;
mod error;
mod owner;
mod slots;

pub use connection::{Connection, Event};
pub use error::{CallError, Lost};
pub use owner::{Broker, Incoming, connect};
pub use slots::Slots;
