//! The models of the relay's own tests, of the other way round. Their memory is that of the simulated device.

#[path = "../../../../../smbd-smb2/tests/relay/reverse/client.rs"]
#[allow(dead_code, reason = "the relay's own tests use more of it")]
mod client;
mod device;
#[path = "../../../../../smbd-smb2/tests/relay/reverse/server.rs"]
mod server;

pub use client::{Client, Limits};
pub use device::Device;
pub use server::{Lie, Server};
