//! Frames of the protocol: layouts and bounds. All integers are little-endian.

use std::fmt;

use smbd_core::{BufferDescriptorV1, Role, Token};
use thiserror::Error;

/// Bytes before the body of a frame: length of the body, and the kind.
pub const HEADER: usize = 8;
/// First bytes of a HELLO body.
pub const MAGIC: [u8; 8] = *b"SMBDSOCK";
/// Version of the protocol.
pub const VERSION: u16 = 1;
/// Most bytes of one message, and of the data of one WRITE or READ DATA.
pub const DATA_MAX: usize = 1 << 20;
/// Most bytes of the private data of a HELLO, and of the text of an END.
const TEXT_MAX: usize = 512;
const HELLO_LEN: usize = 16;
const SEND_LEN: usize = 8;
const DESCRIPTOR: usize = BufferDescriptorV1::LEN;
const INVALIDATES: u32 = 1;
const REMOTE_INVALIDATION: u8 = 1;

/// What an end says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hello {
    /// Role of its sender.
    pub role: Role,
    /// A message can invalidate a token of its sender.
    pub remote_invalidation: bool,
    /// RDMA Reads of the peer that its sender serves at a time (IRD).
    pub inbound_reads: u16,
    /// RDMA Reads that its sender has under way at a time, at most (ORD).
    pub outbound_reads: u16,
    /// Private data, at most 512 bytes. Version 1 gives them no meaning.
    pub private_data: Vec<u8>,
}

/// One frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame<'a> {
    /// The first frame of each side.
    Hello(Hello),
    /// So many receives were posted, each of so many bytes.
    Receives {
        /// How many.
        count: u32,
        /// Bytes of each.
        length: u32,
    },
    /// The peer may send from now on.
    Ready,
    /// A message.
    Send {
        /// The token of the receiver that it invalidates.
        invalidate: Option<Token>,
        /// Its bytes.
        message: &'a [u8],
    },
    /// An RDMA Write of these bytes, or a part of one.
    Write(BufferDescriptorV1, &'a [u8]),
    /// An RDMA Read.
    Read(BufferDescriptorV1),
    /// The next bytes of the oldest RDMA Read that has not got all.
    ReadData(&'a [u8]),
    /// The connection is over.
    End(Reason, &'a str),
}

/// Why a connection ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// In order.
    Disconnect,
    /// The acceptor does not want the connection.
    Refused,
    /// The peer's version is not spoken here.
    Version,
    /// A frame breaks this protocol.
    Protocol,
    /// A message had no receive.
    NoReceive,
    /// A message is longer than its receive.
    TooLong,
    /// An RDMA Write or Read of memory that is not open to it.
    Access,
    /// A message was to invalidate a token that is not valid.
    Token,
    /// The sender's host failed.
    Failed,
    /// A reason of a later version.
    Other(u32),
}

const REASONS: [(Reason, u32, &str); 9] = [
    (Reason::Disconnect, 0, "disconnected"),
    (Reason::Refused, 1, "refused"),
    (Reason::Version, 2, "another version"),
    (Reason::Protocol, 3, "the protocol of the socket was broken"),
    (Reason::NoReceive, 4, "a message without a receive"),
    (Reason::TooLong, 5, "a message longer than its receive"),
    (Reason::Access, 6, "remote access error"),
    (Reason::Token, 7, "a token that is not valid"),
    (Reason::Failed, 8, "the host failed"),
];

impl Reason {
    fn code(self) -> u32 {
        match self {
            Self::Other(code) => code,
            known => REASONS.iter().find(|(reason, ..)| *reason == known).map_or(8, |(_, code, _)| *code),
        }
    }

    fn of(code: u32) -> Self {
        REASONS.iter().find(|(_, known, _)| *known == code).map_or(Self::Other(code), |(reason, ..)| *reason)
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (REASONS.iter().find(|(reason, ..)| reason == self), self) {
            (Some((.., text)), _) => f.write_str(text),
            (None, other) => write!(f, "reason {}", other.code()),
        }
    }
}

/// Bytes or a frame that end the connection.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{reason}: {text}")]
pub struct Violation {
    /// What the peer is told.
    pub reason: Reason,
    /// The same with its values.
    pub text: String,
}

impl Violation {
    pub(super) fn new(reason: Reason, text: impl Into<String>) -> Self {
        Self { reason, text: text.into() }
    }
}

/// A frame that breaks the protocol.
pub(super) fn broken(text: impl Into<String>) -> Violation {
    Violation::new(Reason::Protocol, text)
}

mod kind {
    pub(super) const HELLO: u32 = 1;
    pub(super) const RECEIVES: u32 = 2;
    pub(super) const READY: u32 = 3;
    pub(super) const SEND: u32 = 4;
    pub(super) const WRITE: u32 = 5;
    pub(super) const READ: u32 = 6;
    pub(super) const READ_DATA: u32 = 7;
    pub(super) const END: u32 = 8;
}

/// Least and most bytes of a body, with its name.
const fn bounds(kind: u32) -> Option<(usize, usize, &'static str)> {
    Some(match kind {
        kind::HELLO => (HELLO_LEN, HELLO_LEN + TEXT_MAX, "HELLO"),
        kind::RECEIVES => (8, 8, "RECEIVES"),
        kind::READY => (0, 0, "READY"),
        kind::SEND => (SEND_LEN, SEND_LEN + DATA_MAX, "SEND"),
        kind::WRITE => (DESCRIPTOR, DESCRIPTOR + DATA_MAX, "WRITE"),
        kind::READ => (DESCRIPTOR, DESCRIPTOR, "READ"),
        kind::READ_DATA => (0, DATA_MAX, "READ DATA"),
        kind::END => (4, 4 + TEXT_MAX, "END"),
        _ => return None,
    })
}

impl<'a> Frame<'a> {
    /// Appends the frame to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let begin = out.len();
        out.extend_from_slice(&[0; HEADER]);
        out.extend_from_slice(&self.head());
        match self {
            Self::Hello(hello) => out.extend_from_slice(&hello.private_data),
            Self::Send { message: data, .. } | Self::Write(_, data) | Self::ReadData(data) => {
                out.extend_from_slice(data);
            }
            Self::End(_, text) => out.extend_from_slice(shortened(text).as_bytes()),
            Self::Receives { .. } | Self::Ready | Self::Read(_) => {}
        }
        let length = u32::try_from(out.len() - begin - HEADER).unwrap_or(u32::MAX);
        let header = [length.to_le_bytes(), self.kind().to_le_bytes()];
        out[begin..begin + HEADER].copy_from_slice(header.as_flattened());
    }

    const fn kind(&self) -> u32 {
        match self {
            Self::Hello(_) => kind::HELLO,
            Self::Receives { .. } => kind::RECEIVES,
            Self::Ready => kind::READY,
            Self::Send { .. } => kind::SEND,
            Self::Write(..) => kind::WRITE,
            Self::Read(_) => kind::READ,
            Self::ReadData(_) => kind::READ_DATA,
            Self::End(..) => kind::END,
        }
    }

    /// The fields before the data.
    fn head(&self) -> Vec<u8> {
        match self {
            Self::Hello(hello) => {
                let flags = if hello.remote_invalidation { REMOTE_INVALIDATION } else { 0 };
                let role = u8::from(hello.role == Role::Acceptor);
                let [version, inbound, outbound] =
                    [VERSION, hello.inbound_reads, hello.outbound_reads].map(u16::to_le_bytes);
                [&MAGIC[..], &version, &[role, flags], &inbound, &outbound].concat()
            }
            Self::Receives { count, length } => [count.to_le_bytes(), length.to_le_bytes()].concat(),
            Self::Send { invalidate, .. } => {
                let flags = if invalidate.is_some() { INVALIDATES } else { 0 };
                [flags.to_le_bytes(), invalidate.unwrap_or_default().0.to_le_bytes()].concat()
            }
            Self::Write(remote, _) | Self::Read(remote) => {
                let mut bytes = vec![0; DESCRIPTOR];
                // There is room.
                let _ = remote.encode(&mut bytes);
                bytes
            }
            Self::End(reason, _) => reason.code().to_le_bytes().to_vec(),
            Self::Ready | Self::ReadData(_) => Vec::new(),
        }
    }

    /// The first frame of `bytes` and its length with the header; `None` if it has not come as a whole.
    ///
    /// # Errors
    /// It is no frame. That is known from its header on.
    pub fn parse(bytes: &'a [u8]) -> Result<Option<(Self, usize)>, Violation> {
        let Some((header, rest)) = bytes.split_at_checked(HEADER) else { return Ok(None) };
        let (length, kind) = (word(header, 0), word(header, 4));
        let (least, most, name) = bounds(kind).ok_or_else(|| broken(format!("a frame of kind {kind}")))?;
        let len = usize::try_from(length).unwrap_or(usize::MAX);
        if !(least..=most).contains(&len) {
            return Err(broken(format!("{name} of {length} bytes, {least} to {most} are valid")));
        }
        let Some(body) = rest.get(..len) else { return Ok(None) };
        Self::of(kind, body).map(|frame| Some((frame, HEADER + len)))
    }

    /// A body whose length is in its bounds.
    fn of(kind: u32, body: &'a [u8]) -> Result<Self, Violation> {
        Ok(match kind {
            kind::HELLO => Self::Hello(Hello::parse(body)?),
            kind::RECEIVES => Self::Receives { count: word(body, 0), length: word(body, 4) },
            kind::READY => Self::Ready,
            kind::SEND => {
                let invalidate = match word(body, 0) {
                    0 => None,
                    INVALIDATES => Some(Token(word(body, 4))),
                    flags => return Err(broken(format!("SEND with flags 0x{flags:x}, 0 and 1 are valid"))),
                };
                Self::Send { invalidate, message: &body[SEND_LEN..] }
            }
            kind::WRITE => {
                let (remote, data) = (descriptor(body)?, &body[DESCRIPTOR..]);
                if usize::try_from(remote.length) != Ok(data.len()) {
                    let text = format!("WRITE of {} bytes with {}", remote.length, data.len());
                    return Err(broken(text));
                }
                Self::Write(remote, data)
            }
            kind::READ => Self::Read(descriptor(body)?),
            kind::READ_DATA => Self::ReadData(body),
            _ => {
                let text = std::str::from_utf8(&body[4..]).unwrap_or("a text that is not UTF-8");
                Self::End(Reason::of(word(body, 0)), text)
            }
        })
    }
}

impl Hello {
    /// A body of at least [`HELLO_LEN`] bytes.
    fn parse(body: &[u8]) -> Result<Self, Violation> {
        if body[..8] != MAGIC {
            return Err(broken("HELLO without its magic: this is not the protocol of a socket target"));
        }
        let half = |at: usize| u16::from_le_bytes([body[at], body[at + 1]]);
        let version = half(8);
        if version != VERSION {
            let text = format!("version {version}, version {VERSION} is spoken here");
            return Err(Violation::new(Reason::Version, text));
        }
        let role = match body[10] {
            0 => Role::Initiator,
            1 => Role::Acceptor,
            role => return Err(broken(format!("HELLO with role {role}, 0 and 1 are valid"))),
        };
        let remote_invalidation = match body[11] {
            0 => false,
            REMOTE_INVALIDATION => true,
            flags => return Err(broken(format!("HELLO with flags 0x{flags:x}, 0 and 1 are valid"))),
        };
        let private_data = body[HELLO_LEN..].to_vec();
        Ok(Self {
            role,
            remote_invalidation,
            inbound_reads: half(12),
            outbound_reads: half(14),
            private_data,
        })
    }
}

fn descriptor(body: &[u8]) -> Result<BufferDescriptorV1, Violation> {
    BufferDescriptorV1::parse(body).map_err(|error| broken(error.to_string()))
}

/// Four bytes that are there.
fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// As much of a text as an END takes.
fn shortened(text: &str) -> &str {
    let mut end = text.len().min(TEXT_MAX);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}
