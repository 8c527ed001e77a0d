//! An owner: an SMB server, or one of its processes, that lets a broker do its RDMA.
//!
//! Three machines without I/O, which share nothing: [`Calls`] for the socket of the owner, [`Connection`] for that of each connection, and
//! [`Slots`], from which transfers take their memory. They hold an owner to what the broker would end it for, and a broker to what it has
//! promised.

mod calls;
mod connection;
mod error;
mod slots;
#[cfg(test)]
mod tests;

pub use calls::{Calls, News};
#[cfg(feature = "tokio")]
pub(crate) use connection::MESSAGE_MAX;
pub use connection::{Connection, Happened};
pub use error::{BrokerError, SendError, TransferError};
pub use slots::Slots;
