//! What a broker tells of a connection.

use smbd_core::Token;

use super::error::WireError;
use super::packet::{Kind, Message, Packet};
use super::reader::Reader;

const RECEIVED: Kind = Kind(0x0400);
const SENT: Kind = Kind(0x0401);
const RDMA_DONE: Kind = Kind(0x0402);
const INVALIDATED: Kind = Kind(0x0403);
const LOST: Kind = Kind(0x0404);

/// Whether an owner has to do something about a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u16)]
pub enum Age {
    /// It has come from the client now.
    New = 0,
    /// It came from the client, and somebody else has taken it.
    PastRequest = 1,
    /// Somebody else has sent it to the client.
    PastResponse = 2,
}

impl Age {
    fn of(number: u16) -> Option<Self> {
        [Self::New, Self::PastRequest, Self::PastResponse].into_iter().find(|age| *age as u16 == number)
    }
}

/// GET_EVENT: what has happened on a connection. A packet has as many as there are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// A piece of a message. The pieces of a message follow each other.
    Received {
        /// Whose it is. Past messages come first.
        age: Age,
        /// Bytes of the message that are behind this piece.
        remaining: u32,
        /// The bytes.
        bytes: &'a [u8],
    },
    /// Messages were handed to the transport, in their order.
    Sent {
        /// How many since the last time.
        count: u32,
    },
    /// A transfer has ended, and its slots are the owner's again.
    RdmaDone {
        /// That of the command.
        tag: u64,
        /// Whether all bytes were moved.
        is_success: bool,
    },
    /// The client has invalidated a token of this side (MS-SMBD 3.1.5.8).
    Invalidated {
        /// The token.
        token: Token,
    },
    /// The last event: the connection has ended, and all transfers before it.
    Lost {
        /// For people.
        why: String,
    },
}

impl<'a> Event<'a> {
    /// That of a message.
    ///
    /// # Errors
    /// It is none, or a field is wrong.
    pub fn parse(message: &Message<'a>) -> Result<Self, WireError> {
        Ok(match message.kind {
            RECEIVED => {
                let mut reader = Reader::new("RECEIVED", message.body);
                let remaining = reader.u32("Remaining")?;
                let number = reader.u16("Age")?;
                let age = Age::of(number);
                reader.check("Age", number.into(), age.is_some(), "it is 0, 1 or 2")?;
                reader.reserved()?;
                let bytes = reader.clone().rest();
                let is_valid = (1..=super::PIECE_MAX).contains(&bytes.len());
                reader.check("Bytes", bytes.len() as u64, is_valid, "a piece has 1 to 65536 bytes")?;
                Self::Received { age: age.unwrap_or(Age::New), remaining, bytes }
            }
            SENT => {
                let mut reader = Reader::new("SENT", message.body);
                let count = reader.u32("Count")?;
                reader.end()?;
                Self::Sent { count }
            }
            RDMA_DONE => {
                let mut reader = Reader::new("RDMA_DONE", message.body);
                let is_success = reader.flag("IsSuccess")?;
                reader.end()?;
                Self::RdmaDone { tag: message.tag, is_success }
            }
            INVALIDATED => {
                let mut reader = Reader::new("INVALIDATED", message.body);
                let token = Token(reader.u32("Token")?);
                reader.end()?;
                Self::Invalidated { token }
            }
            LOST => {
                let mut reader = Reader::new("LOST", message.body);
                let why = reader.text("Why")?.to_owned();
                reader.end()?;
                Self::Lost { why }
            }
            Kind(kind) => {
                let valid = "the kind of an event is 0x400 to 0x404";
                return Err(WireError::Value { message: "event", field: "Kind", value: kind.into(), valid });
            }
        })
    }

    /// Bytes of its body, at most.
    #[must_use]
    pub const fn body_len(&self) -> usize {
        match self {
            Self::Received { bytes, .. } => bytes.len().saturating_add(8),
            Self::Sent { .. } | Self::RdmaDone { .. } | Self::Invalidated { .. } => 4,
            Self::Lost { why } => why.len().saturating_add(2),
        }
    }

    /// Adds it to a packet.
    pub fn write(&self, packet: &mut Packet) {
        match self {
            Self::Received { age, remaining, bytes } => packet.push(RECEIVED, 0, |to| {
                to.u32(*remaining);
                to.u16(*age as u16);
                to.u16(0);
                to.bytes(bytes);
            }),
            Self::Sent { count } => packet.push(SENT, 0, |to| to.u32(*count)),
            Self::RdmaDone { tag, is_success } => {
                packet.push(RDMA_DONE, *tag, |to| to.u16((*is_success).into()));
            }
            Self::Invalidated { token } => packet.push(INVALIDATED, 0, |to| to.u32(token.0)),
            Self::Lost { why } => packet.push(LOST, 0, |to| to.text(why)),
        }
    }
}
