//! SMB Direct (MS-SMBD) as a sans-IO protocol core.
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
    clippy::unwrap_used
)]
#![cfg_attr(
    test,
    allow(
        clippy::arithmetic_side_effects,
        clippy::expect_used,
        clippy::indexing_slicing,
        clippy::panic,
        clippy::unwrap_used,
        reason = "a test that panics has failed"
    )
)]
extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod backend;
mod border;
mod config;
mod connection;
pub mod error;
mod id;
mod slice;
mod stats;
mod table;
mod time;
pub mod wire;

pub use border::{Access, Action, Body, Event, Fragment, Head, Input, Limits, Negotiated, RdmaVerb};
pub use config::{Budget, Config, ConfigError, Keepalive, Params, Role};
pub use connection::{Close, Connection, Credits, Outstanding, PhaseName, Segment};
pub use error::Misuse;
pub use id::{MsgId, OpId, RdmaId, RecvId, RegId, SendId, WrId};
pub use stats::{Stats, Tolerances, Traffic};
pub use time::Instant;
pub use wire::{BufferDescriptorV1, Token};
