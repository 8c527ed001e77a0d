//! `smbd-gateway status`: what the running gateway tells over a Unix socket, and the command that shows it.

mod show;
mod snapshot;
mod socket;
mod table;

pub(crate) use show::show;
pub(crate) use snapshot::{Row, Snapshot};
pub(crate) use socket::Socket;
