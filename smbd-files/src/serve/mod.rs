//! Clients of a folder of this host: what drives [`smbd_smb2::server`] over TCP and SMB Direct.
//!
//! [`Host`] is what is served, to all clients. [`serve`] is one client, from its first message to its end: a future over a [`Link`], which
//! is [`Tcp`](crate::transport::Tcp) or, with the feature `verbs`, `RdmaLink`.
//!
//! Operations on files are carried out in threads of tokio, so a slow disk holds up nobody else. Opening, listing and changing are done
//! one after the other, of all clients; reading, writing and flushing beside each other and beside all else.

mod carry;
mod client;
mod host;
mod link;
#[cfg(feature = "verbs")]
mod rdma;
mod tcp;
#[cfg(test)]
mod tests;

pub use client::{Counts, End, Seen, serve};
pub use host::Host;
pub use link::{Event, Link, Order};
#[cfg(feature = "verbs")]
pub use rdma::RdmaLink;
