//! Deterministic simulator for `smbd-core`.
//!
//! A [`world::World`] has two hosts and the wire between them, in virtual time. One seed decides everything. Each host
//! has a connection, an upper layer, memory with rights and lifetimes ([`memory`]) and an RDMA device ([`nic`]). The
//! device is as strict as the strictest real one: it records every violation of a rule of verbs as a [`Breach`], also
//! one that real hardware ignores.
//!
//! # Features
//!
//! `cli` (default): the program `smbd-sim`, and with it clap and indicatif. `json`: `decode::json`, the content of a
//! capture as JSON lines. `loops`: the loops of `smbd_link` over simulated devices.

pub mod backend;
mod breach;
pub mod capture;
pub mod decode;
pub mod device;
mod error;
pub mod examples;
mod fabric;
pub mod fault;
pub mod host;
#[cfg(feature = "loops")]
pub mod loops;
mod machine;
pub mod memory;
mod named;
pub mod nic;
pub mod oracle;
pub mod peers;
pub mod probe;
pub mod rawpeer;
mod rng;
pub mod search;
mod side;
pub mod swarm;
pub mod trace;
pub mod upper;
pub mod watch;
pub mod world;

pub use breach::{AccessFault, Breach, Breaches, DriveFault, EndpointFault};
pub use error::CommandRefused;
pub use rng::Rng;
pub use side::Side;
