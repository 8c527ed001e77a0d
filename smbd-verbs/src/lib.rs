//! SMB Direct on RDMA devices: a backend of [`smbd_core`] over libibverbs and librdmacm, for InfiniBand, RoCE, iWARP and the
//! software devices of Linux.
//!
//! # An echo
//!
//! The server returns each message; calls wait. On the client `Connection::connect(address, &config)` takes the place of
//! the listener.
//!
//! ```no_run
//! use std::{error::Error, net::SocketAddr, time::Duration};
//!
//! use smbd_core::{Config, Params};
//! use smbd_verbs::blocking::{Connection, Failure};
//! use smbd_verbs::{ListenOptions, Listener};
//!
//! fn main() -> Result<(), Box<dyn Error>> {
//!     let address: SocketAddr = "192.0.2.1:5445".parse()?;
//!     let config = Config::try_from(Params::windows())?;
//!     let mut listener = Listener::bind(address, ListenOptions::default())?;
//!     loop {
//!         let Some(incoming) = listener.wait(Duration::from_secs(60))? else { continue };
//!         let mut connection = Connection::accept(incoming, &config)?;
//!         let reason = loop {
//!             match connection.recv(Duration::from_secs(60)) {
//!                 Ok(message) => drop(connection.send(message)?),
//!                 Err(Failure::TimedOut) => {}
//!                 Err(Failure::Closed(reason)) => break reason,
//!                 Err(failure) => return Err(failure.into()),
//!             }
//!         };
//!         println!("{reason}");
//!     }
//! }
//! ```
//!
//! # Which layer do I need?
//!
//! | I have | I use |
//! |---|---|
//! | a tool or a test, one connection | [`blocking`]: calls that wait |
//! | a tokio runtime | `tokio` (feature `tokio`): `Listener`, `Connection`, async calls bounded in both directions |
//! | a server with many connections on one thread | [`Engine`]: one file descriptor for any event loop |
//! | an event loop of my own | [`VerbsConnection`], driven with [`smbd_core::backend::drive()`] |
//!
//! ```text
//! tokio, blocking, Engine   loops of smbd_link over the one file descriptor of a connection
//! Listener                  connection requests, limits, refusals
//! VerbsConnection           one side of one connection: a smbd_core::backend::Backend
//! quirks, fit               deviations of providers, and configurations fitted to devices
//! ffi                       the only unsafe code
//! ```
//!
//! A [`VerbsConnection`] has one file descriptor for everything it waits for: call [`arm`](Waitable::arm), sleep on it until
//! the deadline, drive again. [`Engine`] does this for many connections, [`blocking::Connection`] for one.
//!
//! [The example `tokio_verbs`](https://github.com/smbd-rs/smbd/tree/main/examples/examples/tokio_verbs) is a server and its
//! clients in tokio; `smbd-echo` of [smbd-tools](https://crates.io/crates/smbd-tools) a server on an [`Engine`].
//!
//! # Building
//!
//! The crate needs a 64-bit machine with libibverbs and librdmacm to link with (Debian: `libibverbs-dev librdmacm-dev`).
//!
//! The feature `rdma-sys` takes the declarations of both libraries from the crate of that name, which makes them of the
//! installed headers. It needs headers, pkg-config, and libclang 15 or older (Debian 12: `libclang-14-dev`). With several
//! libclangs, set `LIBCLANG_PATH`. With a newer libclang, or without one, the build script of `rdma-sys` fails with
//!
//! ```text
//! "ib_uverbs_flow_action_esp_encap_union_(anonymous_at_/usr/include/infiniband/ib_user_ioctl_verbs_h_191_2)" is not a valid Ident
//! ```
//!
//! or `Unable to find libclang`. Nothing else differs.
//!
//! # Features
//!
//! `rdma-sys`: the declarations of libibverbs and librdmacm are generated from the installed headers.
//! `tokio`: async calls. `tracing`: spans and events of connections. `faults`: methods that make a [`VerbsConnection`] fail, or
//! treat its device as another, for tests of its users.
//!
//! # What a connection takes from the system
//!
//! Five file descriptors, one protection domain, one completion queue and one queue pair, one registration for all its
//! receive buffers and one for its send buffers, and one for each buffer of the upper layer that the device uses.
//! Connections share nothing, so a dropped [`VerbsConnection`] frees everything. [`footprint()`] returns its memory in
//! bytes.
//!
//! Dropping a [`VerbsConnection`] makes system calls, which may block: on rxe sometimes for more than a minute.
//! [`Engine`] has threads for it. Another event loop should not drop one on its thread.

mod addresses;
pub mod blocking;
mod clock;
mod connection;
mod depth;
mod engine;
mod error;
mod ffi;
mod fit;
mod footprint;
mod listener;
mod memory;
mod permit;
pub mod quirks;
mod request;
#[cfg(test)]
mod scripted;
mod status;
#[cfg(feature = "tokio")]
pub mod tokio;
mod trace;
mod wait;

pub use addresses::{DeviceAddress, device_addresses, devices, prefix_len_of};
pub use clock::Clock;
#[cfg(feature = "faults")]
pub use connection::ReadSink;
pub use connection::{LinkOptions, VerbsConnection};
pub use engine::{DeferredDestroy, Engine, EngineError, Epoll, Finished, Key};
pub use error::Error;
pub use ffi::{Buffer, CallError, DeviceAttributes, LinkType, QueueCounters};
pub use footprint::footprint;
pub use listener::{
    Incoming, ListenOptions, Listener, ListenerCounters, PORT_IWARP, PORT_ROCE, Ports, port_of,
};
pub use request::RejectReason;
pub use smbd_link::Waitable;
