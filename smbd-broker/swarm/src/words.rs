//! What clients and owners say.

use smbd_core::{BufferDescriptorV1, Token};
use smbd_smb2::wire::{
    Body, Capabilities, Cipher, Dialect, Guid, HashAlgorithm, Header, List, MessageId, NegotiateContext,
    NegotiateRequest, Records, SessionId, SessionSetupFlags, SessionSetupRequest, write_element,
};

/// What an owner is asked to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// To answer.
    Echo,
    /// To read the client's memory.
    Read,
    /// To write to it.
    Write,
    /// To answer, and to close the connection's socket.
    Close,
    /// To answer, and to have the connection ended.
    Disconnect,
}

/// A request of a client that has a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    pub kind: Kind,
    pub number: u32,
    /// From where in what the descriptors name.
    pub offset: u32,
    /// Bytes to move.
    pub len: u32,
    /// Bytes of the answer's pattern.
    pub answer_len: u32,
    /// The answer may invalidate the first token.
    pub invalidates: bool,
    pub remote: Vec<BufferDescriptorV1>,
}

/// The answer to one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    pub number: u32,
    pub is_success: bool,
    /// Bytes that were moved.
    pub moved: u32,
}

const REQUEST: [u8; 4] = *b"work";
const ANSWER: [u8; 4] = *b"done";

/// Bytes that belong to one purpose, and are no others.
pub fn pattern(key: u64, len: usize) -> Vec<u8> {
    let mut mixed = key.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut bytes = Vec::with_capacity(len + 8);
    while bytes.len() < len {
        mixed ^= mixed << 13;
        mixed ^= mixed >> 7;
        mixed ^= mixed << 17;
        bytes.extend_from_slice(&mixed.to_le_bytes());
    }
    bytes.truncate(len);
    bytes
}

/// The key of a connection's bytes for one purpose.
pub const fn key(connection: usize, number: u32, purpose: u8) -> u64 {
    ((connection as u64) << 48) | ((purpose as u64) << 40) | number as u64
}

impl Request {
    /// Its bytes; `filler` bytes of pattern follow.
    pub fn write(&self, filler: &[u8]) -> Vec<u8> {
        let mut bytes = REQUEST.to_vec();
        let kind = match self.kind {
            Kind::Echo => 0_u32,
            Kind::Read => 1,
            Kind::Write => 2,
            Kind::Close => 3,
            Kind::Disconnect => 4,
        };
        let count = self.remote.len() as u32;
        let fields =
            [kind, self.number, self.offset, self.len, self.answer_len, self.invalidates.into(), count];
        fields.iter().for_each(|field| bytes.extend_from_slice(&field.to_le_bytes()));
        for BufferDescriptorV1 { offset, token, length } in &self.remote {
            bytes.extend_from_slice(&offset.to_le_bytes());
            bytes.extend_from_slice(&token.0.to_le_bytes());
            bytes.extend_from_slice(&length.to_le_bytes());
        }
        bytes.extend_from_slice(filler);
        bytes
    }

    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let mut rest = bytes.strip_prefix(&REQUEST)?;
        let mut next = || {
            let (field, behind) = rest.split_first_chunk()?;
            rest = behind;
            Some(u32::from_le_bytes(*field))
        };
        let kind = match next()? {
            0 => Kind::Echo,
            1 => Kind::Read,
            2 => Kind::Write,
            3 => Kind::Close,
            4 => Kind::Disconnect,
            _ => return None,
        };
        let [number, offset, len, answer_len, invalidates, count] =
            [next()?, next()?, next()?, next()?, next()?, next()?];
        let descriptors = rest.get(..(count as usize).checked_mul(16)?)?;
        let remote = descriptors.chunks_exact(16).map(|bytes| BufferDescriptorV1 {
            offset: u64::from_le_bytes(std::array::from_fn(|at| bytes[at])),
            token: Token(u32::from_le_bytes(std::array::from_fn(|at| bytes[8 + at]))),
            length: u32::from_le_bytes(std::array::from_fn(|at| bytes[12 + at])),
        });
        let remote = remote.collect();
        Some(Self { kind, number, offset, len, answer_len, invalidates: invalidates != 0, remote })
    }
}

impl Answer {
    pub fn write(&self, filler: &[u8]) -> Vec<u8> {
        let mut bytes = ANSWER.to_vec();
        bytes.extend_from_slice(&self.number.to_le_bytes());
        bytes.extend_from_slice(&self.moved.to_le_bytes());
        bytes.push(self.is_success.into());
        bytes.extend_from_slice(filler);
        bytes
    }

    /// It, and what follows.
    pub fn parse(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let (number, rest) = bytes.strip_prefix(&ANSWER)?.split_first_chunk()?;
        let (moved, rest) = rest.split_first_chunk()?;
        let (is_success, filler) = rest.split_first()?;
        let (number, moved) = (u32::from_le_bytes(*number), u32::from_le_bytes(*moved));
        Some((Self { number, moved, is_success: *is_success != 0 }, filler))
    }
}

/// NEGOTIATE of a client.
pub fn negotiate(guid: u8, salt: &[u8]) -> Vec<u8> {
    let contexts = [
        NegotiateContext::PreauthIntegrity { hash_algorithms: List::from(&[HashAlgorithm::SHA_512]), salt },
        NegotiateContext::Encryption(List::from(&[Cipher::AES_128_GCM])),
    ];
    let request = NegotiateRequest {
        client_guid: Guid([guid; 16]),
        capabilities: Capabilities::MULTI_CHANNEL,
        dialects: List::from(&[Dialect::SMB_3_0, Dialect::SMB_3_1_1]),
        contexts: Records::from(contexts.as_slice()),
        ..NegotiateRequest::default()
    };
    element(Header { message_id: MessageId(0), ..Header::request::<NegotiateRequest<'_>>(0) }, &request)
}

/// SESSION_SETUP: of a new session, or one that binds a session.
pub fn setup(binds: Option<u64>, token: &[u8]) -> Vec<u8> {
    let flags = if binds.is_some() { SessionSetupFlags::BINDING } else { SessionSetupFlags::NONE };
    let header = Header {
        message_id: MessageId(1),
        session_id: SessionId(binds.unwrap_or(0)),
        ..Header::request::<SessionSetupRequest<'_>>(0)
    };
    let request = SessionSetupRequest { flags, security_buffer: token, ..SessionSetupRequest::default() };
    element(header, &request)
}

fn element(header: Header, body: &impl Body) -> Vec<u8> {
    let mut bytes = Vec::new();
    // There is room in memory.
    let _ = write_element(&mut bytes, &header, body);
    bytes
}
