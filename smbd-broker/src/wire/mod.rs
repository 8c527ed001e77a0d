//! The messages between a broker and its owners ([docs/broker-protocol.md]).
//!
//! [docs/broker-protocol.md]: https://github.com/smbd-rs/smbd/blob/main/docs/broker-protocol.md
//!
//! Packets of a Unix socket that keeps their boundaries (`SOCK_SEQPACKET`). A packet has one message or several. All numbers are little
//! endian. An owner has a socket of its own, and one for each of its connections:
//!
//! | socket | from the owner | from the broker |
//! |---|---|---|
//! | owner | [`Request`]: a [`Call`] with a tag | [`Answer`] to each request, [`Notice`] |
//! | connection | [`Command`] | [`Event`] |
//!
//! A message is one type in both directions: what [`parse`](Request::parse) returns is what [`Packet`] takes.

mod answer;
mod call;
mod command;
mod error;
mod event;
mod negotiation;
mod notice;
mod packet;
mod parameters;
mod reader;
mod refusal;
#[cfg(test)]
mod tests;
mod transfer;

pub use answer::{Answer, Memory, Reply, Welcome};
pub use call::{Call, Request};
pub use command::{Command, Invalidate};
pub use error::WireError;
pub use event::{Age, Event};
pub use negotiation::Negotiation;
pub use notice::{Newcomer, Notice, Rule};
pub use packet::{Kind, Message, Messages, Packet};
pub use parameters::{KEEPALIVE_MAX, Limits, Parameters};
pub use reader::{Reader, Writer};
pub use refusal::Refusal;
pub use transfer::{Area, Direction, Transfer};

/// The version of the protocol that this crate speaks.
pub const VERSION: u32 = 1;

/// The longest packet in bytes. The longest message is a transfer with [`DESCRIPTORS_MAX`] descriptors.
pub const PACKET_MAX: usize = 96 << 10;

/// Bytes of the header of a message.
pub const HEADER_LEN: usize = 16;

/// The most buffer descriptors of a transfer (MS-SMBD 2.2.3.1).
pub const DESCRIPTORS_MAX: usize = 4095;

/// The most slots over which a transfer is scattered.
pub const AREAS_MAX: usize = 64;

/// The most bytes of a message of SMB2 in one packet. A longer one comes in pieces.
pub const PIECE_MAX: usize = 64 << 10;

/// What a message counts at least, in bytes, among those that an owner has not taken: a client that says little each time is held up as well.
pub const MESSAGE_MIN: u32 = 256;

/// The longest text in bytes: a reason, or an address.
pub const TEXT_MAX: usize = 512;
