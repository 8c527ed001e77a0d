//! An owner over the sockets of this host, for tokio.
//!
//! `connect` (feature `tokio`) makes one: a `Broker` to ask, and the `Incoming` connections. Each [connection](OwnedConnection) has polls, as
//! an SMB server needs them that waits for many things at once. Slots are common to all connections of an owner ([`Slots`]): they are taken
//! for a transfer and come back with its result.
//!
//! A connection is a `smbd_link::transport::Transport` as well (`Carried`, feature `tokio`), so what is written for links serves it too.
//!
//! Servers that fork hand the socket of a connection to another process (`hand_over`, `take_over`), which attaches it.
//!
//! Owners that wait in calls have the same connections and slots: [`blocking`](crate::blocking).

#[cfg(feature = "tokio")]
mod acceptor;
#[cfg(feature = "tokio")]
mod carried;
mod connection;
mod error;
#[cfg(feature = "tokio")]
mod handing;
#[cfg(feature = "tokio")]
mod owner;
pub(crate) mod replies;
mod slot_file;
mod slots;

#[cfg(feature = "tokio")]
pub use acceptor::{Accepted, Acceptor};
#[cfg(feature = "tokio")]
pub use carried::{Carried, CarriedError};
pub use connection::{Event, OwnedConnection};
pub use error::{CallError, Lost};
#[cfg(feature = "tokio")]
pub use handing::{hand_over, take_over};
#[cfg(feature = "tokio")]
pub use owner::{Broker, Connection, Incoming, connect};
pub use slot_file::{SlotFile, SlotMemory};
pub use slots::{Slots, TooFewSlots};
