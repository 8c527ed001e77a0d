//! Requests of the client.

use std::sync::Arc;

use bytes::{BufMut, Bytes};
use smbd_core::{Access, BufferDescriptorV1, Token};

use super::wire::{ANSWERS, Malformed, Parts, Tagged, message};

/// A request to a [`Server`](super::Server). In brackets: the [`Answer`](super::Answer) if it succeeds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Get the limits of the server (`Hello`). An upper layer that does not know the protocol returns the request
    /// unchanged.
    Hello,
    /// Count ordinary messages, instead of returning them, until the next request (`Done`).
    Count {
        /// Whether to hash them, too.
        hash: bool,
    },
    /// End counting and get the counts (`Report`).
    Report,
    /// Send ordinary messages to the client as fast as its credits allow (`Done`, before the first of them). Message
    /// `n`, counted from 0, has the pattern of `seed + n`. One such request at a time.
    Source {
        /// Number of messages.
        messages: u32,
        /// Length of each in bytes, at least 1.
        size: u32,
        /// Seed of the first message.
        seed: u64,
    },
    /// Register a buffer (`Offered`).
    Offer {
        /// Its length in bytes, at least 1.
        length: u32,
        /// The rights of the client.
        access: Access,
        /// Seed of the pattern that fills the buffer.
        seed: u64,
    },
    /// Hash a range of an offered buffer (`Hash`). The hash includes what the client wrote by RDMA before it sent the
    /// request.
    Hash {
        /// The id of the buffer.
        id: u32,
        /// Where the range begins, in bytes.
        offset: u32,
        /// Its length in bytes.
        length: u32,
    },
    /// Deregister an offered buffer (`Done`, when all access has ended).
    Withdraw {
        /// The id of the buffer.
        id: u32,
    },
    /// RDMA Read from the client's memory into a buffer of the server (`Hash` of the bytes read).
    Read {
        /// Offset in the client's buffer, in bytes.
        offset: u64,
        /// Number of bytes.
        length: u32,
        /// The client's buffer.
        descriptors: Arc<[BufferDescriptorV1]>,
    },
    /// RDMA Write of a pattern to the client's memory (`Done`, sent behind the data: the data are there when it
    /// arrives).
    Write {
        /// Seed of the pattern, which begins at `offset`.
        seed: u64,
        /// Offset in the client's buffer, in bytes.
        offset: u64,
        /// Number of bytes.
        length: u32,
        /// Token of the client that the answer invalidates.
        invalidate: Option<Token>,
        /// The client's buffer.
        descriptors: Arc<[BufferDescriptorV1]>,
    },
}

mod kind {
    pub(super) const HELLO: u16 = 1;
    pub(super) const COUNT: u16 = 2;
    pub(super) const REPORT: u16 = 3;
    pub(super) const SOURCE: u16 = 4;
    pub(super) const OFFER: u16 = 5;
    pub(super) const HASH: u16 = 6;
    pub(super) const WITHDRAW: u16 = 7;
    pub(super) const READ: u16 = 8;
    pub(super) const WRITE: u16 = 9;
}

const READS: u32 = 1;
const WRITES: u32 = 2;
/// Flag of `Count`.
const HASH: u32 = 1;
/// Flag of `Write`: the token counts.
const INVALIDATE: u32 = 1;

impl Request {
    /// The message with this request.
    #[must_use]
    pub fn encode(&self, tag: u32) -> Bytes {
        let header = |kind| (kind, 0, tag);
        match self {
            Self::Hello => message(header(kind::HELLO), |_| {}, &[]),
            Self::Count { hash } => message(header(kind::COUNT), |out| out.put_u32_le(u32::from(*hash)), &[]),
            Self::Report => message(header(kind::REPORT), |_| {}, &[]),
            Self::Source { messages, size, seed } => message(
                header(kind::SOURCE),
                |out| {
                    out.put_u32_le(*messages);
                    out.put_u32_le(*size);
                    out.put_u64_le(*seed);
                },
                &[],
            ),
            Self::Offer { length, access, seed } => message(
                header(kind::OFFER),
                |out| {
                    out.put_u32_le(*length);
                    out.put_u32_le(access_bits(*access));
                    out.put_u64_le(*seed);
                },
                &[],
            ),
            Self::Hash { id, offset, length } => message(
                header(kind::HASH),
                |out| [id, offset, length].into_iter().for_each(|word| out.put_u32_le(*word)),
                &[],
            ),
            Self::Withdraw { id } => message(header(kind::WITHDRAW), |out| out.put_u32_le(*id), &[]),
            Self::Read { offset, length, descriptors } => message(
                header(kind::READ),
                |out| {
                    out.put_u64_le(*offset);
                    out.put_u32_le(*length);
                },
                descriptors,
            ),
            Self::Write { seed, offset, length, invalidate, descriptors } => message(
                header(kind::WRITE),
                |out| {
                    out.put_u64_le(*seed);
                    out.put_u64_le(*offset);
                    out.put_u32_le(*length);
                    out.put_u32_le(if invalidate.is_some() { INVALIDATE } else { 0 });
                    out.put_u32_le(invalidate.unwrap_or_default().0);
                },
                descriptors,
            ),
        }
    }

    /// The request in a message; `Ok(None)` for an ordinary message, and for an answer, which has no answer of its own.
    ///
    /// # Errors
    /// The message begins with [`MAGIC`](super::MAGIC) and is neither a request nor an answer.
    pub fn parse(bytes: &[u8]) -> Result<Option<Tagged<Self>>, Malformed> {
        let Some(mut parts) = Parts::of(bytes)? else { return Ok(None) };
        if parts.kind >= ANSWERS {
            return Ok(None);
        }
        let tag = parts.tag;
        let what = Self::body(&mut parts)?;
        parts.end()?;
        Ok(Some(Tagged { tag, what }))
    }

    fn body(parts: &mut Parts<'_>) -> Result<Self, Malformed> {
        Ok(match parts.kind {
            kind::HELLO => Self::Hello,
            kind::COUNT => Self::Count { hash: hash_flag(parts)? },
            kind::REPORT => Self::Report,
            kind::SOURCE => Self::Source { messages: parts.u32()?, size: parts.u32()?, seed: parts.u64()? },
            kind::OFFER => Self::Offer { length: parts.u32()?, access: access(parts)?, seed: parts.u64()? },
            kind::HASH => Self::Hash { id: parts.u32()?, offset: parts.u32()?, length: parts.u32()? },
            kind::WITHDRAW => Self::Withdraw { id: parts.u32()? },
            kind::READ => {
                Self::Read { offset: parts.u64()?, length: parts.u32()?, descriptors: parts.descriptors()? }
            }
            kind::WRITE => Self::Write {
                seed: parts.u64()?,
                offset: parts.u64()?,
                length: parts.u32()?,
                invalidate: invalidate(parts)?,
                descriptors: parts.descriptors()?,
            },
            _ => return Err(parts.malformed("no such request")),
        })
    }

    /// Whether a message is an answer, well-formed or not.
    pub(super) fn is_answer(bytes: &[u8]) -> bool {
        matches!(Parts::of(bytes), Ok(Some(parts)) if parts.kind >= ANSWERS)
    }
}

const fn access_bits(access: Access) -> u32 {
    match access {
        Access::Read => READS,
        Access::Write => WRITES,
        Access::ReadWrite => READS | WRITES,
    }
}

fn access(parts: &mut Parts<'_>) -> Result<Access, Malformed> {
    const BOTH: u32 = READS | WRITES;
    match parts.u32()? {
        READS => Ok(Access::Read),
        WRITES => Ok(Access::Write),
        BOTH => Ok(Access::ReadWrite),
        _ => Err(parts.malformed("rights are 1 (read), 2 (write) or 3 (both)")),
    }
}

fn hash_flag(parts: &mut Parts<'_>) -> Result<bool, Malformed> {
    match parts.u32()? {
        0 => Ok(false),
        HASH => Ok(true),
        _ => Err(parts.malformed("unknown flags")),
    }
}

fn invalidate(parts: &mut Parts<'_>) -> Result<Option<Token>, Malformed> {
    let (flags, token) = (parts.u32()?, parts.u32()?);
    match flags {
        0 => Ok(None),
        INVALIDATE => Ok(Some(Token(token))),
        _ => Err(parts.malformed("unknown flags")),
    }
}
