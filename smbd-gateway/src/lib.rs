//! A gateway: clients over SMB Direct, an SMB server that knows TCP only; or clients over TCP, a server over SMB Direct.
//!
//! The program `smbd-gateway` is what most people want; its README says how to use it. This library is what it is made of: [`Pump`] drives
//! one connection, between a side over SMB Direct and a side over a stream. The side over SMB Direct is any
//! [`Transport`](smbd_link::transport::Transport): a link over an RDMA device, or a connection that `smbd-broker` has. The other side is a
//! [`Stream`]: [`Tcp`], or any stream of tokio ([`Copied`]).
//!
//! What passes is rewritten by [`smbd_smb2::relay::Relay`], whose client is the side over SMB Direct, or by
//! [`smbd_smb2::relay::reverse::Reverse`], whose server is.
//!
//! Data of READs and WRITEs are copied once, by the kernel, between the socket and memory that the device knows ([`Tcp`]). What
//! arrived together with the header of a message is copied once more.

mod pump;
mod tcp;

pub use pump::{Copied, Ending, Part, Pump, Rewriting, Stream, close, waiting_max};
pub use tcp::Tcp;
