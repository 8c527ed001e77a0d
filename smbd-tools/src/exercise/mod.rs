//! An upper layer that exercises all of SMB Direct between two peers: messages, registered buffers, RDMA both ways, and
//! invalidation with an answer.
//!
//! A message that does not begin with [`MAGIC`] is *ordinary*: the [`Server`] returns it as it came, or counts it. One that
//! does is a [`Request`] of the client or an [`Answer`] of the server. All integers are little-endian.
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
//! The server answers every request once. It carries out what it can at once in the order of arrival; answers that have to
//! wait for a device (`Offered`, the end of a withdrawal, the hash of what was read) may come later than answers to later
//! requests. Nothing a client sends makes it fail or grow: everything has a bound in its [`Limits`], and what exceeds one is
//! answered with a [`Failure`] that names value and bound.

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
