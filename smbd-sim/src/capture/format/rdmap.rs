//! iWARP data placement (DDP) and operations (RDMAP): one header for both, tagged or untagged.

use super::{Short, be32, be64};

/// Operations of RDMAP (RFC 5040 4.3).
pub mod opcode {
    /// RDMA Write.
    pub const WRITE: u8 = 0;
    /// RDMA Read request.
    pub const READ_REQUEST: u8 = 1;
    /// RDMA Read response.
    pub const READ_RESPONSE: u8 = 2;
    /// Send.
    pub const SEND: u8 = 3;
    /// Send that invalidates a token.
    pub const SEND_INVALIDATE: u8 = 4;
    /// Send with solicited event.
    pub const SEND_SOLICITED: u8 = 5;
    /// Send with solicited event that invalidates a token.
    pub const SEND_SOLICITED_INVALIDATE: u8 = 6;
    /// Terminate.
    pub const TERMINATE: u8 = 7;
}

/// Untagged queue of Sends.
pub const QUEUE_SEND: u32 = 0;
/// Untagged queue of RDMA Read requests.
pub const QUEUE_READ_REQUEST: u32 = 1;
/// Untagged queue of Terminates.
pub const QUEUE_TERMINATE: u32 = 2;

const TAGGED: u8 = 0x80;
const LAST: u8 = 0x40;
const DDP_VERSION: u8 = 1;
const RDMAP_VERSION: u8 = 1;

/// Where the payload of a DDP segment goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placement {
    /// To a buffer the receiver named.
    Tagged {
        /// Steering tag.
        stag: u32,
        /// Offset behind that tag.
        offset: u64,
    },
    /// To the next buffer of a queue.
    Untagged {
        /// Token to invalidate, else 0.
        invalidate: u32,
        /// Queue number.
        queue: u32,
        /// Message sequence number, from 1.
        message: u32,
        /// Offset in the message.
        offset: u32,
    },
}

/// Header of a DDP segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// Last segment of its message.
    pub last: bool,
    /// RDMAP operation, see [`opcode`].
    pub opcode: u8,
    /// Where the payload goes.
    pub placement: Placement,
}

impl Segment {
    /// Bytes of a tagged header.
    pub const TAGGED_LEN: usize = 14;
    /// Bytes of an untagged header.
    pub const UNTAGGED_LEN: usize = 18;

    /// Reads the header and returns it with the payload behind it.
    ///
    /// # Errors
    /// [`Short`] when the header does not fit.
    pub fn parse(ulpdu: &[u8]) -> Result<(Self, &[u8]), Short> {
        let control = Short::check("DDP control", ulpdu, 2)?;
        let (last, opcode) = (control[0] & LAST != 0, control[1] & 0xf);
        if control[0] & TAGGED != 0 {
            let b = Short::check("tagged DDP header", ulpdu, Self::TAGGED_LEN)?;
            let placement = Placement::Tagged { stag: be32(b, &(2..6)), offset: be64(b, &(6..14)) };
            return Ok((Self { last, opcode, placement }, &ulpdu[Self::TAGGED_LEN..]));
        }
        let b = Short::check("untagged DDP header", ulpdu, Self::UNTAGGED_LEN)?;
        let placement = Placement::Untagged {
            invalidate: be32(b, &(2..6)),
            queue: be32(b, &(6..10)),
            message: be32(b, &(10..14)),
            offset: be32(b, &(14..18)),
        };
        Ok((Self { last, opcode, placement }, &ulpdu[Self::UNTAGGED_LEN..]))
    }

    /// Whether the versions, reserved bits and the pairing of opcode and queue are those of a real header.
    #[must_use]
    pub fn is_plausible(ulpdu: &[u8]) -> bool {
        let (Ok((segment, _)), [ddp, rdmap, ..]) = (Self::parse(ulpdu), ulpdu) else { return false };
        let versions = ddp & 0x3f == DDP_VERSION && rdmap & 0xf0 == RDMAP_VERSION << 6;
        let pairing = match segment.placement {
            Placement::Tagged { .. } => matches!(segment.opcode, opcode::WRITE | opcode::READ_RESPONSE),
            Placement::Untagged { queue, message, .. } => {
                let expected = match segment.opcode {
                    opcode::SEND..=opcode::SEND_SOLICITED_INVALIDATE => QUEUE_SEND,
                    opcode::READ_REQUEST => QUEUE_READ_REQUEST,
                    opcode::TERMINATE => QUEUE_TERMINATE,
                    _ => return false,
                };
                queue == expected && message != 0
            }
        };
        versions && pairing
    }

    /// The header followed by `payload`.
    #[must_use]
    pub fn encode(&self, payload: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(Self::UNTAGGED_LEN + payload.len());
        let tagged = matches!(self.placement, Placement::Tagged { .. });
        out.push(if tagged { TAGGED } else { 0 } | if self.last { LAST } else { 0 } | DDP_VERSION);
        out.push(RDMAP_VERSION << 6 | self.opcode & 0xf);
        match self.placement {
            Placement::Tagged { stag, offset } => {
                out.extend_from_slice(&stag.to_be_bytes());
                out.extend_from_slice(&offset.to_be_bytes());
            }
            Placement::Untagged { invalidate, queue, message, offset } => {
                for word in [invalidate, queue, message, offset] {
                    out.extend_from_slice(&word.to_be_bytes());
                }
            }
        }
        out.extend_from_slice(payload);
        out
    }
}

/// Payload of an RDMA Read request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadRequest {
    /// Tag of the requester's buffer.
    pub sink_stag: u32,
    /// Offset behind that tag.
    pub sink_offset: u64,
    /// Bytes to read.
    pub length: u32,
    /// Tag of the peer's buffer.
    pub source_stag: u32,
    /// Offset behind that tag.
    pub source_offset: u64,
}

impl ReadRequest {
    /// Bytes of the payload.
    pub const LEN: usize = 28;

    /// Reads the payload.
    ///
    /// # Errors
    /// [`Short`] below 28 bytes.
    pub fn parse(bytes: &[u8]) -> Result<Self, Short> {
        let b = Short::check("RDMA Read request", bytes, Self::LEN)?;
        Ok(Self {
            sink_stag: be32(b, &(0..4)),
            sink_offset: be64(b, &(4..12)),
            length: be32(b, &(12..16)),
            source_stag: be32(b, &(16..20)),
            source_offset: be64(b, &(20..28)),
        })
    }

    /// The payload.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(Self::LEN);
        out.extend_from_slice(&self.sink_stag.to_be_bytes());
        out.extend_from_slice(&self.sink_offset.to_be_bytes());
        out.extend_from_slice(&self.length.to_be_bytes());
        out.extend_from_slice(&self.source_stag.to_be_bytes());
        out.extend_from_slice(&self.source_offset.to_be_bytes());
        out
    }
}
