//! An upper layer that exercises all of SMB Direct between two peers: messages, registered buffers, RDMA in both
//! directions, and answers that invalidate tokens.
//!
//! A message that does not begin with [`MAGIC`] is *ordinary*: the [`Server`] returns it unchanged, or counts it. A
//! message that begins with it is a [`Request`] of the client or an [`Answer`] of the server. All integers are
//! little-endian.
//!
//! ```text
//! offset  size
//!      0     8  MAGIC
//!      8     2  kind: a request below 0x8000, an answer from there on
//!     10     2  status: 0, or why the request failed
//!     12     4  tag: chosen by the client, returned with the answer
//!     16        body, by kind
//! ```
//!
//! The server answers every request once. It handles requests in the order of arrival. Answers that wait for a device
//! (`Offered`, the end of a withdrawal, the hash of an RDMA Read) may come after answers to later requests. A client
//! cannot make the server fail or grow: everything has a bound in its [`Limits`]. The answer to a request above a bound
//! is a [`Failure`] that names the value and the bound.

mod answer;
mod limits;
mod pattern;
mod request;
mod server;
mod wire;

pub use answer::{Answer, Failure, Report, Status};
pub use limits::Limits;
pub use pattern::{Digest, digest, fill_pattern, pattern};
pub use request::Request;
pub use server::{Overrun, Server, ServerStats};
pub use wire::{MAGIC, Malformed, Tagged};

#[cfg(test)]
mod tests;
