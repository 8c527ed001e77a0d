//! A transport for SMB Direct without an RDMA device: the operations of a queue pair as frames over a stream socket.
//!
//! `docs/socket-target.md` specifies the protocol. [`SocketEnd`] is one end of a connection, a
//! [`Backend`](smbd_core::backend::Backend) with registered memory. An implementation in Rust needs nothing else to be
//! tested by `smbd-conformance run --target socket`; `conformance/examples/socket_echo.rs` is one.

mod address;
mod backend;
mod clock;
mod end;
mod frame;
mod frames;
mod memory;
mod receiving;
mod sending;
#[cfg(test)]
mod tests;
mod wire;
mod work;

pub use address::{Address, BadAddress, Listener, Stream};
pub use clock::Clock;
pub use end::SocketEnd;
pub use frame::{DATA_MAX, Frame, HEADER, Hello, MAGIC, Reason, VERSION, Violation};
pub use memory::Buffer;
