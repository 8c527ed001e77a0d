//! Answers of the server.

use std::fmt;

use bytes::{BufMut, Bytes};
use smbd_core::BufferDescriptorV1;
use thiserror::Error;

use super::Limits;
use super::wire::{ANSWERS, Malformed, Parts, Tagged, message};

/// An answer of a [`Server`](super::Server).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The limits of the server.
    Hello(Limits),
    /// The request is done, or has begun: see [`Request`](super::Request).
    Done,
    /// The counts.
    Report(Report),
    /// A registered buffer that the client may use until it withdraws it.
    Offered {
        /// Its id in later requests.
        id: u32,
        /// Its segments, in buffer order.
        descriptors: Vec<BufferDescriptorV1>,
    },
    /// The hash of the requested bytes: see [`digest`](super::digest).
    Hash(u64),
    /// The request was not carried out.
    Failed(Failure),
}

/// The counts since the last [`Request::Count`](super::Request::Count).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report {
    /// Ordinary messages.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
    /// The hash of all bytes in order; that of no bytes if it was not requested.
    pub hash: u64,
}

/// Why a request was not carried out.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{status}: {text}")]
pub struct Failure {
    /// The kind of reason.
    pub status: Status,
    /// The reason with its values.
    pub text: String,
}

/// Kinds of reasons for a [`Failure`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Status {
    /// The message is not a valid request.
    Malformed,
    /// Above a limit of the server or of the connection.
    TooLarge,
    /// A resource that it needs is in use. It may succeed later.
    NoRoom,
    /// No such buffer, or no such range in it.
    NotFound,
    /// The connection refused the command.
    Refused,
    /// The device failed.
    Failed,
    /// A status of a later version.
    Other(u16),
}

const STATUS: [(Status, u16, &str); 6] = [
    (Status::Malformed, 1, "malformed request"),
    (Status::TooLarge, 2, "too large"),
    (Status::NoRoom, 3, "no room"),
    (Status::NotFound, 4, "not found"),
    (Status::Refused, 5, "refused"),
    (Status::Failed, 6, "failed"),
];

impl Status {
    fn code(self) -> u16 {
        match self {
            Self::Other(code) => code,
            known => STATUS.iter().find(|(status, ..)| *status == known).map_or(0, |(_, code, _)| *code),
        }
    }

    fn of(code: u16) -> Self {
        STATUS.iter().find(|(_, known, _)| *known == code).map_or(Self::Other(code), |(status, ..)| *status)
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (STATUS.iter().find(|(status, ..)| status == self), self) {
            (Some((.., name)), _) => f.write_str(name),
            (None, other) => write!(f, "status {}", other.code()),
        }
    }
}

mod kind {
    use super::ANSWERS;
    pub(super) const HELLO: u16 = ANSWERS | 1;
    pub(super) const DONE: u16 = ANSWERS | 2;
    pub(super) const REPORT: u16 = ANSWERS | 3;
    pub(super) const OFFERED: u16 = ANSWERS | 4;
    pub(super) const HASH: u16 = ANSWERS | 5;
    pub(super) const FAILED: u16 = ANSWERS | 6;
}

impl Answer {
    /// A failure with its reason.
    #[must_use]
    pub fn failed(status: Status, text: impl Into<String>) -> Self {
        Self::Failed(Failure { status, text: text.into() })
    }

    /// The message with this answer.
    #[must_use]
    pub fn encode(&self, tag: u32) -> Bytes {
        let header = |kind| (kind, 0, tag);
        match self {
            Self::Hello(limits) => message(
                header(kind::HELLO),
                |out| {
                    out.put_u32_le(limits.message);
                    out.put_u32_le(limits.buffer);
                    out.put_u64_le(limits.buffers);
                    out.put_u32_le(limits.backlog_messages);
                    out.put_u64_le(limits.backlog);
                },
                &[],
            ),
            Self::Done => message(header(kind::DONE), |_| {}, &[]),
            Self::Report(report) => message(
                header(kind::REPORT),
                |out| {
                    [report.messages, report.bytes, report.hash]
                        .into_iter()
                        .for_each(|word| out.put_u64_le(word))
                },
                &[],
            ),
            Self::Offered { id, descriptors } => {
                message(header(kind::OFFERED), |out| out.put_u32_le(*id), descriptors)
            }
            Self::Hash(hash) => message(header(kind::HASH), |out| out.put_u64_le(*hash), &[]),
            Self::Failed(failure) => message(
                (kind::FAILED, failure.status.code(), tag),
                |out| out.put_slice(failure.text.as_bytes()),
                &[],
            ),
        }
    }

    /// The answer in a message; `Ok(None)` for an ordinary message.
    ///
    /// # Errors
    /// The message begins with [`MAGIC`](super::MAGIC) and is not an answer. If it is a request, the peer does not know
    /// the protocol and returned it.
    pub fn parse(bytes: &[u8]) -> Result<Option<Tagged<Self>>, Malformed> {
        let Some(mut parts) = Parts::of(bytes)? else { return Ok(None) };
        if parts.kind < ANSWERS {
            return Err(parts.malformed(
                "a request where an answer was expected: the peer returns requests as they came",
            ));
        }
        let tag = parts.tag;
        let what = Self::body(&mut parts)?;
        parts.end()?;
        Ok(Some(Tagged { tag, what }))
    }

    fn body(parts: &mut Parts<'_>) -> Result<Self, Malformed> {
        if parts.status != 0 && parts.kind != kind::FAILED {
            return Err(parts.malformed("a status in an answer that is no failure"));
        }
        Ok(match parts.kind {
            kind::HELLO => Self::Hello(Limits {
                message: parts.u32()?,
                buffer: parts.u32()?,
                buffers: parts.u64()?,
                backlog_messages: parts.u32()?,
                backlog: parts.u64()?,
            }),
            kind::DONE => Self::Done,
            kind::REPORT => {
                Self::Report(Report { messages: parts.u64()?, bytes: parts.u64()?, hash: parts.u64()? })
            }
            kind::OFFERED => Self::Offered { id: parts.u32()?, descriptors: parts.descriptors()? },
            kind::HASH => Self::Hash(parts.u64()?),
            kind::FAILED => Self::failed(Status::of(parts.status), parts.text()),
            _ => return Err(parts.malformed("no such answer")),
        })
    }
}
