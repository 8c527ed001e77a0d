//! What an owner orders on a connection.

use smbd_core::Token;

use super::error::WireError;
use super::packet::{Kind, Message, Packet};
use super::reader::Reader;
use super::transfer::{Direction, Transfer};

const SEND: Kind = Kind(0x0300);
const RDMA_READ: Kind = Kind(0x0301);
const RDMA_WRITE: Kind = Kind(0x0302);
const DISCONNECT: Kind = Kind(0x0303);
const TAKEN: Kind = Kind(0x0304);

/// What the last fragment of a message invalidates (MS-SMBD 3.1.4.2).
pub type Invalidate = Option<Token>;

/// What an owner orders on a connection. Commands are carried out in their order: a message arrives behind what was written before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command<'a> {
    /// SEND: a piece of a message. The pieces of a message follow each other.
    Send {
        /// Bytes of the message that are behind this piece.
        remaining: u32,
        /// A token of the client. Looked at in the last piece.
        invalidate: Invalidate,
        /// The bytes, 1 to [`PIECE_MAX`](super::PIECE_MAX).
        bytes: &'a [u8],
    },
    /// RDMA_READ or RDMA_WRITE. Its slots are the broker's until [`RdmaDone`](super::Event::RdmaDone).
    Rdma {
        /// For the event.
        tag: u64,
        /// What is moved.
        transfer: Transfer,
    },
    /// So many new messages of the client were taken, in their order. Others come while those that were not are not too long together.
    Taken {
        /// How many, at least 1.
        count: u32,
    },
    /// DISCONNECT: finish what was ordered, and end the connection.
    Disconnect {
        /// How long that may take, in milliseconds.
        within: u32,
    },
}

impl<'a> Command<'a> {
    /// That of a message.
    ///
    /// # Errors
    /// It is none, or a field is wrong.
    pub fn parse(message: &Message<'a>) -> Result<Self, WireError> {
        Ok(match message.kind {
            SEND => {
                let mut reader = Reader::new("SEND", message.body);
                let remaining = reader.u32("Remaining")?;
                let invalidates = reader.flag("Invalidates")?;
                reader.reserved()?;
                let token = reader.u32("Token")?;
                reader.check("Token", token.into(), invalidates || token == 0, "0 if it is not used")?;
                let bytes = reader.clone().rest();
                let is_valid = (1..=super::PIECE_MAX).contains(&bytes.len());
                reader.check("Bytes", bytes.len() as u64, is_valid, "a piece has 1 to 65536 bytes")?;
                Self::Send { remaining, invalidate: invalidates.then_some(Token(token)), bytes }
            }
            RDMA_READ => {
                let transfer = Transfer::parse("RDMA_READ", Direction::Read, message.body)?;
                Self::Rdma { tag: message.tag, transfer }
            }
            RDMA_WRITE => {
                let transfer = Transfer::parse("RDMA_WRITE", Direction::Write, message.body)?;
                Self::Rdma { tag: message.tag, transfer }
            }
            DISCONNECT => {
                let mut reader = Reader::new("DISCONNECT", message.body);
                let within = reader.u32("Within")?;
                reader.end()?;
                Self::Disconnect { within }
            }
            TAKEN => {
                let mut reader = Reader::new("TAKEN", message.body);
                let count = reader.u32("Count")?;
                reader.check("Count", count.into(), count > 0, "it is at least 1")?;
                reader.end()?;
                Self::Taken { count }
            }
            Kind(kind) => {
                let valid = "the kind of a command is 0x300 to 0x304";
                return Err(WireError::Value {
                    message: "command",
                    field: "Kind",
                    value: kind.into(),
                    valid,
                });
            }
        })
    }

    /// Bytes of its body.
    #[must_use]
    pub fn body_len(&self) -> usize {
        match self {
            Self::Send { bytes, .. } => bytes.len().saturating_add(12),
            Self::Rdma { transfer, .. } => {
                let (areas, descriptors) = (transfer.areas.len(), transfer.remote.len());
                areas.saturating_mul(8).saturating_add(descriptors.saturating_mul(16)).saturating_add(16)
            }
            Self::Disconnect { .. } | Self::Taken { .. } => 4,
        }
    }

    /// Adds it to a packet.
    pub fn write(&self, packet: &mut Packet) {
        match self {
            Self::Send { remaining, invalidate, bytes } => packet.push(SEND, 0, |to| {
                to.u32(*remaining);
                to.u16(invalidate.is_some().into());
                to.u16(0);
                to.u32(invalidate.unwrap_or_default().0);
                to.bytes(bytes);
            }),
            Self::Rdma { tag, transfer } => {
                let kind = match transfer.direction {
                    Direction::Read => RDMA_READ,
                    Direction::Write => RDMA_WRITE,
                };
                packet.push(kind, *tag, |to| transfer.write(to));
            }
            Self::Taken { count } => packet.push(TAKEN, 0, |to| to.u32(*count)),
            Self::Disconnect { within } => packet.push(DISCONNECT, 0, |to| to.u32(*within)),
        }
    }
}
