//! The scripted side, driven by hand: what it says, and its work on a device. It knows no rule of the protocol; what it
//! does by itself is in [`Peer`](super::Peer).

mod line;
mod words;

pub use line::{Line, RDMA_MAX, REGISTRATIONS_MAX, SENDS_MAX};
pub use words::{Data, Grant, Request, Response, Terms, Usual, pattern};
