//! A gateway: clients over SMB Direct, an SMB server that knows TCP only.
//!
//! The program `smbd-gateway` is what most people want; its README says how to use it. This library is what it is made of:
//! [`Pump`] drives one connection through [`smbd_smb2::relay::Relay`], between anything that is a [`Client`] and anything that is
//! a [`Server`]. [`Rdma`] is a client over an RDMA device, [`Brokered`] one whose connection `smbd-broker` has, [`Tcp`] a server
//! over TCP.
//!
//! [`ReversePump`] drives one the other way round, through [`smbd_smb2::relay::reverse::Reverse`]: a client over TCP, and a [`Peer`],
//! which [`RdmaServer`] is over an RDMA device.
//!
//! Data of READs and WRITEs are copied once, by the kernel, between the socket and memory that the device knows ([`Tcp`]). What
//! arrived together with the header of an answer is copied once more.

mod brokered;
mod pump;
mod rdma;
mod rdma_server;
mod tcp;

pub use brokered::Brokered;
pub use pump::{
    Client, Clock, Copied, Ending, Memory, Operation, Order, Part, Peer, Pump, ReversePump, Server,
    TokioTime, waiting_max,
};
pub use rdma::Rdma;
pub use rdma_server::RdmaServer;
pub use tcp::Tcp;
