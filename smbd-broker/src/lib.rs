//! One process owns RDMA, and servers attach to it: the protocol between the two, without I/O.

pub mod broker;
pub mod client;
pub mod owner;
pub mod server;
pub mod socket;
#[cfg(feature = "verbs")]
pub mod verbs;
pub mod wire;
