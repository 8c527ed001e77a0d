//! Serves file systems to clients of SMB2, over SMB Direct and TCP.
//!
//! [`Host`] is what is served, to all clients. [`serve`] is one connection, from its first message to its end: a future over a
//! [`Transport`](smbd_link::transport::Transport), which is [`Tcp`] over any stream, a connection over an RDMA device
//! (`rdma`, feature `verbs`), or one that a broker has ([`Carried`](smbd_broker::client::Carried)). Connections
//! of one client (its ClientGuid) find each other, and share its sessions, if the server lets them; data that are asked for on one go
//! through it. Where several processes serve clients whose connections a broker has, each tells it whose are here
//! ([`Host::announced_to`]).
//!
//! Operations on files are carried out in threads of tokio, so a slow disk holds up nobody else. Opening, listing and changing are done
//! one after the other, of all clients; reading, writing and flushing beside each other and beside all else.

mod announce;
mod brief;
mod client;
pub mod folder;
mod host;
pub mod link;
#[cfg(feature = "verbs")]
pub mod rdma;
mod read_only;
mod served;

pub use client::{Counts, End, News, Seen, serve};
pub use host::Host;
pub use read_only::{About, ReadOnly, Source};
pub use served::Served;
pub use smbd_link::tcp::Tcp;
