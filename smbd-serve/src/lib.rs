//! A server of SMB 3 over SMB Direct and TCP, in user space, for file systems of your own.
//!
//! - A [`Host`] is what is served: a [`Server`](smbd_smb2::server::Server), which has shares and accounts, and a file system for each share. All
//!   clients share it.
//! - [`serve()`] serves one connection, from its first message to its end. A [`Transport`](smbd_link::transport::Transport) carries the messages:
//!   [`Tcp`] over any stream, a connection over an RDMA device (`rdma`, feature `verbs`), or one that a broker has
//!   ([`Carried`](smbd_broker::client::Carried)).
//! - A file system is a [`folder::Folder`] of this host, a [`ReadOnly`] over a [`Source`] that makes its files, or any [`Served`].
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use std::sync::Arc;
//! use std::time::Duration;
//!
//! use smbd_serve::folder::{Folder, Options};
//! use smbd_serve::{Host, Tcp, serve};
//! use smbd_smb2::security::NtHash;
//! use smbd_smb2::server::{Params, Server, Share};
//! use smbd_smb2::wire::Guid;
//!
//! let mut params = Params::new(Guid(*b"guid of a server"), "SERVER");
//! params.shares = vec![Share::new("share")];
//! let accounts = |user: &str, _domain: &str| (user == "tester").then(|| NtHash::of_password("correct horse"));
//! let folder = Folder::open("/srv/data".as_ref(), "share", Options::default())?;
//! let host = Arc::new(Host::new(Arc::new(Server::new(params, accounts)?), vec![folder]));
//!
//! // Becomes true when the server is to end.
//! let (_stop, stops) = tokio::sync::watch::channel(false);
//! let listener = tokio::net::TcpListener::bind("10.9.0.1:445").await?;
//! loop {
//!     let (stream, _) = listener.accept().await?;
//!     stream.set_nodelay(true)?;
//!     let served = serve(Arc::clone(&host), Tcp::over(stream), stops.clone(), Duration::from_secs(5), |_| {});
//!     tokio::spawn(served);
//! }
//! # }
//! ```
//!
//! The example `virtual_files` serves files that are on no disk, over TCP and SMB Direct, in 98 lines.
//!
//! Connections of one client (its ClientGuid) find each other and share its sessions, if
//! [`Params::channels_max`](smbd_smb2::server::Params::channels_max) lets them. Where several processes serve clients whose connections a broker
//! has, each tells the broker whose are here ([`Host::announced_to`]). Whoever drives [`smbd_smb2::server`] in a loop of his own uses [`link`].
//!
//! # Limits
//!
//! A host does not limit the number of its connections: the caller of [`serve()`] does. A connection holds the memory that
//! [`Params`](smbd_smb2::server::Params) says. Operations on files run in threads of tokio, so a slow disk holds up nobody else; of one client
//! two look up paths at the same time. [`Host::interim_after`] has clients told of operations that take long.
//!
//! # Surroundings
//!
//! [`serve_in`] takes time, tasks and threads from the caller ([`Surroundings`]), for programs without tokio's runtime and for simulations.

mod announce;
mod brief;
mod client;
pub mod folder;
pub mod link;
#[cfg(feature = "verbs")]
pub mod rdma;
mod read_only;
mod served;

pub use client::{Counts, End, Host, Moved, News, Seen, Surroundings, serve, serve_in};
pub use read_only::{About, ReadOnly, Source};
pub use served::Served;
pub use smbd_link::tcp::Tcp;
