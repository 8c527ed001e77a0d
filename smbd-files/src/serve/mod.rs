//! Clients of a folder of this host: what drives [`smbd_smb2::server`] over TCP and SMB Direct.
//!
//! [`Host`] is what is served, to all clients. [`serve`] is one connection, from its first message to its end: a future over a [`Link`],
//! which is [`Tcp`](crate::transport::Tcp) or, with the feature `verbs`, `RdmaLink`. Connections of one client (its ClientGuid) find each
//! other, and share its sessions, if the server lets them; data that are asked for on one go through it. Where several processes serve
//! clients whose connections a broker has, each tells it whose are here ([`Host::announced_to`]).
//!
//! Operations on files are carried out in threads of tokio, so a slow disk holds up nobody else. Opening, listing and changing are done
//! one after the other, of all clients; reading, writing and flushing beside each other and beside all else.

mod broker;
mod carry;
mod client;
mod clock;
mod group;
mod host;
mod known;
mod link;
mod member;
mod queue;
#[cfg(feature = "verbs")]
mod rdma;
mod registry;
mod stuck;
mod tcp;
#[cfg(test)]
mod tests;

pub use broker::BrokerLink;
pub use client::serve;
pub use host::Host;
pub use link::{Event, Link, Order};
pub use member::{Counts, End, Seen};
#[cfg(feature = "verbs")]
pub use rdma::RdmaLink;
