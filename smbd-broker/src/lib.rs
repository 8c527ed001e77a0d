//! One process owns RDMA, and SMB servers attach to it.
//!
//! A *broker* has all SMB Direct connections of a host. An *owner* is a process of an SMB server: it gets the messages of its connections,
//! sends answers, and lets the device move data between the client's memory and slots, which are memory that both share. It is the design
//! that Richard Sharpe made in 2013 for a driver in the kernel, over a Unix socket. Servers that fork, Samba among them, need no RDMA in
//! their processes.
//!
//! | module | what it is |
//! |---|---|
//! | [`wire`] | the messages between both ([docs/broker-protocol.md]) |
//! | [`broker`] | the broker without I/O: which connection belongs to whom, and which slot to which side |
//! | [`owner`] | an owner without I/O |
//! | [`socket`] | Unix sockets that keep packets and carry file descriptors |
//! | [`client`] | connections and slots of an owner; an owner on tokio (feature `tokio`, on by default) |
//! | [`blocking`] | an owner that waits in calls |
//! | `server` (feature `tokio`) | what drives a broker: over any backend of `smbd-core`, on any `System` |
//! | `verbs` (feature `verbs`) | the system that has RDMA devices; the program `smbd-broker` |
//!
//! # An owner
//!
//! ```no_run
//! # #[cfg(feature = "tokio")]
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use std::future::poll_fn;
//! use std::path::Path;
//!
//! use smbd_broker::client::{Event, connect};
//!
//! let (broker, mut incoming) = connect(Path::new("/run/smbd-broker/socket"), "example").await?;
//! // What no rule matches comes here.
//! broker.listen(true).await?;
//! while let Some(mut connection) = incoming.next().await {
//!     tokio::spawn(async move {
//!         while let Ok(event) = poll_fn(|cx| connection.poll_event(cx, true)).await {
//!             if let Event::Message { bytes, .. } = event {
//!                 println!("{}: {} bytes", connection.newcomer().peer, bytes.len());
//!             }
//!         }
//!     });
//! }
//! # Ok(())
//! # }
//! ```
//!
//! [docs/broker-protocol.md]: https://github.com/smbd-rs/smbd/blob/main/docs/broker-protocol.md

pub mod blocking;
pub mod broker;
pub mod client;
pub mod owner;
#[cfg(feature = "tokio")]
pub mod server;
pub mod socket;
#[cfg(feature = "verbs")]
pub mod verbs;
pub mod wire;
