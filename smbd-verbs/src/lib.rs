//! SMB Direct on real RNICs: a backend of [`smbd_core`] over libibverbs and librdmacm.
//!
//! ```text
//! tokio         async calls, in tokio's reactor (feature `tokio`) }
//! blocking      calls that wait: for tools and tests            } loops of smbd_core::runtime, over
//! Engine        many connections on one thread                  } the one file descriptor of an end
//! Listener      connection requests, limits, refusals
//! VerbsConnection  one side of one connection: a smbd_core::backend::Backend
//! quirks, fit   what devices do otherwise, and configurations fitted to them
//! ffi           the only unsafe code
//! ```
//!
//! A [`VerbsConnection`] is driven like any backend, with [`smbd_core::backend::drive`]. It has one file descriptor for all it
//! waits for: call [`arm`](Waitable::arm), sleep on it until the deadline, drive again. [`Engine`] does this for many connections,
//! [`blocking::Connection`] for one.
//!
//! # Building
//!
//! Needs libibverbs and librdmacm with headers, pkg-config, and libclang 15 or older for the bindings (Debian 12:
//! `libibverbs-dev librdmacm-dev pkg-config libclang-14-dev`). With several libclangs, set `LIBCLANG_PATH`.
//!
//! Where libclang is newer or not there, the build ends in the build script of `rdma-sys` with
//!
//! ```text
//! "ib_uverbs_flow_action_esp_encap_union_(anonymous_at_/usr/include/infiniband/ib_user_ioctl_verbs_h_191_2)" is not a valid Ident
//! ```
//!
//! or `Unable to find libclang`. `--no-default-features` mends it (in a manifest `default-features = false`): without the
//! feature `rdma-sys` the crate uses declarations of its own, and needs libibverbs, librdmacm and a 64-bit machine, but no
//! libclang, headers or pkg-config. Nothing else differs. A dependency that asks for default features switches it on again.
//!
//! # Features
//!
//! `rdma-sys` (default): the declarations of libibverbs and librdmacm are made from the installed headers. `tokio`: async calls
//! ([`tokio`]). `tracing`: spans and events of connections. `faults`: a [`VerbsConnection`] can be told to fail, for tests of what is built on it.
//!
//! # What a connection takes from the system
//!
//! Five file descriptors, one protection domain, one completion queue and one queue pair, one registration for all its
//! receive buffers and one for its send buffers, and one for each buffer of the upper layer that the device was told of.
//! Nothing is shared between connections, so nothing is left of one when its [`VerbsConnection`] is dropped. [`footprint()`] says what it
//! takes in memory.
//!
//! Dropping an end makes system calls, and some devices take their time for those: rxe more than a minute now and then.
//! [`Engine`] has threads for it; an event loop of your own should not drop ends on its thread.

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
mod permit;
pub mod quirks;
mod request;
mod status;
#[cfg(feature = "tokio")]
pub mod tokio;
mod trace;
mod wait;

pub use clock::Clock;
pub use connection::{LinkOptions, VerbsConnection};
pub use engine::{DeferredDestroy, Engine, EngineError, Epoll, Finished, Key};
pub use error::Error;
pub use ffi::{Buffer, CallError, DeviceAttributes, LinkType, QueueCounters};
pub use footprint::footprint;
pub use listener::{
    Incoming, ListenOptions, Listener, ListenerCounters, PORT_IWARP, PORT_ROCE, Ports, port_of,
};
pub use request::RejectReason;
pub use smbd_core::runtime::Waitable;
