//! SMB Direct ([MS-SMBD] 12.0: SMB2 over RDMA) as a sans-IO protocol core.
//!
//! ```text
//! upper layer          SMB2 or anything else
//!   | whole messages
//! Endpoint             optional: owns payload, puts messages together (feature `endpoint`)
//!   | commands, events
//! Connection           the protocol: headers, credits, timers, slicing, registrations; sees no payload byte
//!   | Action out, Input in
//! a backend            a real RNIC, a simulated one, or your own: see [`backend`]
//! ```
//!
//! A [`Connection`] is told what happened ([`Connection::handle`]) and asked what to do
//! ([`Connection::poll_action`]) until it says [`Action::Wait`]. It has no clock, no randomness, no I/O, no threads and
//! no callbacks, and allocates only when it is created. Both roles are one state machine.
//!
//! # Laws
//!
//! What holds after every call, whatever the peer sends and whatever order a backend reports things in. The simulator
//! (`smbd-sim`) checks each of them after every step of every run.
//!
//! 1. **Ledger.** Every id handed out in an [`Action`] ends in exactly one completion or failure. A second or a made-up
//!    one is [`Misuse::UnknownWork`] and changes nothing: ids carry a generation.
//! 2. **Drain.** [`Event::Drained`] comes once, last, and only when [`Connection::outstanding`] is all zero and the
//!    transport connection is gone. Only then may buffers and registered memory be freed.
//! 3. **Grants are covered.** Credits granted and not used never exceed posted receives.
//! 4. **Credits are kept.** Nothing is sent without a credit, and the last one is spent only on a message that grants.
//! 5. **Order.** A receive is handed out before the send that grants it; a backend carries actions out in poll order.
//! 6. **Bounded work.** Between two inputs a bounded number of actions comes out, then [`Action::Wait`] for ever. Any
//!    number of inputs may be given between two drains.
//! 7. **Bounded memory.** A connection allocates nothing after its creation. RDMA descriptors stay the caller's
//!    (`Arc<[BufferDescriptorV1]>`); a command that does not fit returns `NoRoom` and changes nothing.
//! 8. **Quiet.** Two idle established peers exchange nothing until the keepalive, however many receive slots their
//!    upper layers hold.
//! 9. **Tokens.** No token is invalidated twice, none is valid twice.
//! 10. **Results.** Every command ends in exactly one result, also when the connection dies; results come before
//!     [`Event::Closed`], and a connection never seen established says [`Event::ConnectFailed`] instead, once.
//!
//! # Whose fault it is
//!
//! What the peer does wrong ends the connection with a [`Violation`](error::Violation) that carries the values and the
//! section. What the transport does wrong ends it with a [`WorkError`](error::WorkError). What the caller does wrong
//! comes back as `Err` and has no effect. Nothing panics.
//!
//! # Time
//!
//! Calls that can start a clock take `now`, an [`Instant`] of the caller's own monotonic clock. The deadline in
//! [`Action::Wait`] is the only timer to set; at it, give [`Input::Timeout`].
//!
//! # Features
//!
//! `endpoint` (default): `endpoint::Endpoint` and the dependency on `bytes`. `kit`: the backend test kit.
//! `search`: what a search over all states needs besides [`Connection::fingerprint`].
//! The crate is `no_std` with `alloc` in all combinations, and contains no unsafe code.
//!
//! [MS-SMBD]: https://learn.microsoft.com/openspecs/windows_protocols/ms-smbd/
#![no_std]
#![deny(
    clippy::arithmetic_side_effects,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::string_slice,
    clippy::todo,
    clippy::unimplemented,
    clippy::unreachable,
    clippy::unwrap_used,
    clippy::wildcard_enum_match_arm
)]
#![cfg_attr(
    test,
    allow(
        clippy::arithmetic_side_effects,
        clippy::expect_used,
        clippy::indexing_slicing,
        clippy::panic,
        clippy::unwrap_used,
        clippy::wildcard_enum_match_arm,
        reason = "a test that panics has failed"
    )
)]
extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod backend;
mod config;
mod connection;
#[cfg(feature = "endpoint")]
pub mod endpoint;
pub mod error;
mod id;
mod interface;
mod slice;
mod stats;
mod table;
mod time;
pub mod wire;

pub use config::{Budget, Config, ConfigError, Keepalive, Params, Role};
pub use connection::{Close, Connection, Credits, Outstanding, PhaseName, Segment};
#[cfg(feature = "endpoint")]
pub use endpoint::Endpoint;
pub use error::Misuse;
pub use id::{MsgId, OpId, RdmaId, RecvId, RegId, SendId, WrId};
pub use interface::{Access, Action, Body, Event, Fragment, Head, Input, Limits, Negotiated, RdmaVerb};
pub use stats::{Stats, Tolerances, Traffic};
pub use time::Instant;
pub use wire::{BufferDescriptorV1, Token};
