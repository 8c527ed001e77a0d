//! One process owns RDMA, and servers attach to it: the protocol between the two, without I/O.

pub mod broker;
pub mod client;
pub mod owner;
pub mod server;
pub mod socket;
pub mod wire;
