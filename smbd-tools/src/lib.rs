//! The library of the programs `smbd-ping`, `smbd-echo` and `smbd-perf` (feature `verbs`).
//!
//! [`exercise`] is the protocol between them, [`load`] the client of `smbd-perf`, [`smb2`] the messages that
//! `smbd-ping` exchanges with an SMB2 server, and [`tool`] the common part of their command lines. The library needs no
//! RDMA device: it runs over any backend, and its tests use the simulator.

pub mod exercise;
pub mod load;
pub mod smb2;
pub mod tool;
