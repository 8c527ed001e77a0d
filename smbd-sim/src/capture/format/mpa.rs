//! iWARP framing (MPA): the request and reply frames of a connection and the FPDUs after them.

use super::{Short, be16};

/// Key of the initiator's frame.
pub const REQUEST_KEY: &[u8; 16] = b"MPA ID Req Frame";
/// Key of the acceptor's frame.
pub const REPLY_KEY: &[u8; 16] = b"MPA ID Rep Frame";
/// Most private data bytes of a frame (RFC 5044 7.1.1).
pub const PRIVATE_MAX: usize = 512;
/// Bytes of the length field before and the CRC after an FPDU's payload.
pub const FPDU_LEN_FIELD: usize = 2;
/// Bytes of the CRC field.
pub const FPDU_CRC: usize = 4;

const MARKERS: u8 = 0x80;
const CRC: u8 = 0x40;
const REJECTED: u8 = 0x20;
const ENHANCED: u8 = 0x10;

/// A request or reply frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MpaFrame {
    /// Reply, not request.
    pub reply: bool,
    /// The sender wants to receive markers.
    pub markers: bool,
    /// The sender wants CRCs.
    pub crc: bool,
    /// The connection is refused (reply).
    pub rejected: bool,
    /// Read depths stand before the private data (RFC 6581).
    pub enhanced: bool,
    /// Protocol revision, 1 or 2.
    pub revision: u8,
    /// All private data, the read depths of an enhanced frame included.
    pub private_data: Vec<u8>,
}

impl MpaFrame {
    /// Bytes before the private data.
    pub const HEADER_LEN: usize = 20;

    /// Reads a frame at the start of `bytes`; `Ok(None)` when the bytes cannot be one.
    ///
    /// # Errors
    /// [`Short`] when more bytes are needed.
    pub fn parse(bytes: &[u8]) -> Result<Option<(Self, usize)>, Short> {
        let key = &bytes[..bytes.len().min(16)];
        let reply = match key.len() {
            0 => return Err(Short { layer: "MPA frame", needed: Self::HEADER_LEN, got: 0 }),
            len if *key == REQUEST_KEY[..len] => false,
            len if *key == REPLY_KEY[..len] => true,
            _ => return Ok(None),
        };
        let b = Short::check("MPA frame", bytes, Self::HEADER_LEN)?;
        let private_len = usize::from(be16(b, &(18..20)));
        if private_len > PRIVATE_MAX {
            return Ok(None);
        }
        let total = Self::HEADER_LEN + private_len;
        let b = Short::check("MPA frame", bytes, total)?;
        let frame = Self {
            reply,
            markers: b[16] & MARKERS != 0,
            crc: b[16] & CRC != 0,
            rejected: b[16] & REJECTED != 0,
            enhanced: b[16] & ENHANCED != 0,
            revision: b[17],
            private_data: b[Self::HEADER_LEN..].to_vec(),
        };
        Ok(Some((frame, total)))
    }

    /// The frame; private data beyond 512 bytes is cut.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let private = &self.private_data[..self.private_data.len().min(PRIVATE_MAX)];
        let mut out = if self.reply { REPLY_KEY.to_vec() } else { REQUEST_KEY.to_vec() };
        let flag = |on: bool, bit: u8| if on { bit } else { 0 };
        out.push(
            flag(self.markers, MARKERS)
                | flag(self.crc, CRC)
                | flag(self.rejected, REJECTED)
                | flag(self.enhanced, ENHANCED),
        );
        out.push(self.revision);
        out.extend_from_slice(&(private.len() as u16).to_be_bytes());
        out.extend_from_slice(private);
        out
    }
}

/// Bytes of the whole FPDU around `ulpdu_len` bytes: length, payload, padding, CRC.
#[must_use]
pub fn fpdu_len(ulpdu_len: usize) -> usize {
    (FPDU_LEN_FIELD + ulpdu_len).next_multiple_of(4) + FPDU_CRC
}

/// Most payload bytes of an FPDU that fits into `segment` bytes and its own length field.
#[must_use]
pub fn ulpdu_max(segment: usize) -> usize {
    let room = segment.saturating_sub(FPDU_CRC);
    (room - room % 4).saturating_sub(FPDU_LEN_FIELD).min(usize::from(u16::MAX))
}

/// The FPDU of a payload of at most 65535 bytes. Without CRC the field is zero.
#[must_use]
pub fn encode_fpdu(ulpdu: &[u8], crc: bool) -> Vec<u8> {
    let mut out = Vec::with_capacity(fpdu_len(ulpdu.len()));
    out.extend_from_slice(&(ulpdu.len() as u16).to_be_bytes());
    out.extend_from_slice(ulpdu);
    out.resize(out.len().next_multiple_of(4), 0);
    let sum = if crc { crc32c::crc32c(&out) } else { 0 };
    out.extend_from_slice(&sum.to_le_bytes());
    out
}

/// Whether the CRC at the end of a whole FPDU is right.
#[must_use]
pub fn crc_is_right(fpdu: &[u8]) -> bool {
    fpdu.split_last_chunk::<FPDU_CRC>()
        .is_some_and(|(body, stored)| crc32c::crc32c(body) == u32::from_le_bytes(*stored))
}
