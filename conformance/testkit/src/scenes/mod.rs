//! Scenes of benchmarks: a client of `smbd-client` and a server of `smbd-smb2` over two devices that carry messages and data to each other.
//! A benchmark measures the tasks of one side. What functions of [`hardware`] do is taken off: see `smbd_repository::instructions`.

pub mod client;
pub mod device;
pub mod hardware;
pub mod host;
mod parts;
pub mod server;
pub mod world;
