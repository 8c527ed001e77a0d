//! The other way round: models of a client that knows TCP only, and of a server over SMB Direct.

mod client;
mod server;

use smbd_core::{Access, BufferDescriptorV1};

pub use client::{Client, Limits};
pub use server::{Lie, Server};

/// Memory of the gateway, as the server uses it.
pub trait Device {
    /// Whether the server has access.
    fn is_open(&self, token: u32) -> bool;

    /// What was in memory when the access ended.
    fn closed(&self, token: u32) -> &[u8];

    /// Memory that the server reads or writes, from the descriptor's beginning; `None` if the server has no access any more.
    fn access(&mut self, descriptor: &BufferDescriptorV1, access: Access) -> Option<&mut Vec<u8>>;
}
