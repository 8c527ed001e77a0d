//! What the programs `smbd-ping`, `smbd-echo` and `smbd-perf` (feature `verbs`) are made of.
//!
//! [`exercise`] is what they say to each other, [`load`] the client of `smbd-perf`, [`smb2`] what `smbd-ping` says to an SMB2
//! server, [`tool`] what their command lines have in common. The library needs no RDMA: it runs over any backend and is tested
//! over the simulator.

pub mod exercise;
pub mod load;
pub mod smb2;
pub mod tool;
