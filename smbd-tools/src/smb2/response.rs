//! NEGOTIATE Response (2.2.4).

use bytes::{Buf, BufMut, Bytes, BytesMut};

use super::context::{self, SALT_LEN};
use super::header::{Header, check};
use super::request::BODY;
use super::{Capabilities, Cipher, Dialect, Guid, NegotiateRequest, Nonsense, range, spnego};

const FIXED_LEN: usize = 64;
const SIGNING_ENABLED: u16 = 1;
/// StructureSize of an ERROR Response (2.2.2).
const ERROR_SIZE: u16 = 9;
/// A server with less could not serve any client.
const SIZE_MIN: u32 = 4096;
/// A response that names no dialect yet: the client asks again (3.3.5.3.1).
const WILDCARD: Dialect = Dialect(0x02ff);

/// The answer of a server to NEGOTIATE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Response {
    /// The server chose a dialect.
    Agreed(NegotiateResponse),
    /// The server refused the request.
    Error(ErrorResponse),
}

/// An ERROR Response (2.2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorResponse {
    /// Status: an NTSTATUS.
    pub status: u32,
}

/// A NEGOTIATE Response with a dialect (2.2.4).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NegotiateResponse {
    /// MessageId of the request.
    pub message_id: u64,
    /// DialectRevision.
    pub dialect: Dialect,
    /// SecurityMode: 1 signing enabled, 2 required.
    pub security_mode: u16,
    /// ServerGuid.
    pub server: Guid,
    /// Capabilities.
    pub capabilities: Capabilities,
    /// MaxTransactSize in bytes.
    pub max_transact_size: u32,
    /// MaxReadSize in bytes.
    pub max_read_size: u32,
    /// MaxWriteSize in bytes.
    pub max_write_size: u32,
    /// SystemTime: a FILETIME, in units of 100 ns since 1601-01-01 UTC.
    pub system_time: u64,
    /// The cipher that the server chose; with 3.1.1 only.
    pub cipher: Option<Cipher>,
    /// The security buffer: the server's authentication mechanisms as SPNEGO.
    pub security: Bytes,
}

impl NegotiateResponse {
    /// The response of a server with 3.1.1 only: signing enabled, NTLMSSP, one of the offered ciphers (AES-128-GCM if
    /// possible), and `max_size` bytes for all three maximum sizes. `None` if the client does not offer 3.1.1.
    #[must_use]
    pub fn to(request: &NegotiateRequest, server: Guid, max_size: u32, system_time: u64) -> Option<Self> {
        request.dialects.contains(&Dialect::SMB_3_1_1).then(|| Self {
            message_id: request.message_id,
            dialect: Dialect::SMB_3_1_1,
            security_mode: SIGNING_ENABLED,
            server,
            capabilities: Capabilities::LARGE_MTU,
            max_transact_size: max_size,
            max_read_size: max_size,
            max_write_size: max_size,
            system_time,
            cipher: [Cipher::AES_128_GCM, Cipher::AES_128_CCM]
                .into_iter()
                .find(|known| request.ciphers.contains(known)),
            security: spnego::ntlmssp_offer(),
        })
    }

    /// The message in bytes. `salt` is part of the preauthentication hash.
    #[must_use]
    pub fn encode(&self, salt: &[u8; SALT_LEN]) -> Bytes {
        let mut out = BytesMut::with_capacity(320);
        Header { status: 0, is_response: true, message_id: self.message_id }.put(&mut out);
        out.put_u16_le(65);
        out.put_u16_le(self.security_mode);
        out.put_u16_le(self.dialect.0);
        let count_at = out.len();
        out.put_u16_le(0);
        out.put_slice(&self.server.0);
        out.put_u32_le(self.capabilities.0);
        out.put_u32_le(self.max_transact_size);
        out.put_u32_le(self.max_read_size);
        out.put_u32_le(self.max_write_size);
        out.put_u64_le(self.system_time);
        // ServerStartTime: 0 (2.2.4).
        out.put_u64_le(0);
        out.put_u16_le((BODY + FIXED_LEN) as u16);
        out.put_u16_le(self.security.len() as u16);
        let offset_at = out.len();
        out.put_u32_le(0);
        out.put_slice(&self.security);
        if self.dialect == Dialect::SMB_3_1_1 {
            let (offset, count) = context::put(&mut out, salt, self.cipher.as_slice());
            (&mut out[count_at..]).put_u16_le(count);
            (&mut out[offset_at..]).put_u32_le(offset);
        }
        out.freeze()
    }
}

impl Response {
    /// Reads the answer to `request`.
    ///
    /// # Errors
    /// The message is not an answer to it, breaks the format, or chooses a value that `request` does not offer.
    pub fn parse(message: &[u8], request: &NegotiateRequest) -> Result<Self, Nonsense> {
        let (header, body) = Header::read(message)?;
        if !header.is_response {
            return Err(Nonsense::Echo);
        }
        check("MessageId", header.message_id, request.message_id, "that of the request")?;
        let size = body.first_chunk::<2>().map_or(0, |bytes| u16::from_le_bytes(*bytes));
        if header.status != 0 {
            check("StructureSize", u64::from(size), u64::from(ERROR_SIZE), "9 in a failure")?;
            return Ok(Self::Error(ErrorResponse { status: header.status }));
        }
        let short = Nonsense::Short { what: "NEGOTIATE Response", got: body.len(), needed: FIXED_LEN };
        let Some((mut fixed, _)) = body.split_at_checked(FIXED_LEN) else { return Err(short) };
        check("StructureSize", u64::from(fixed.get_u16_le()), 65, "65")?;
        let security_mode = fixed.get_u16_le();
        let dialect = Dialect(fixed.get_u16_le());
        if dialect == WILDCARD || !request.dialects.contains(&dialect) {
            let expected = "a dialect that was offered";
            return Err(Nonsense::Field { field: "DialectRevision", got: u64::from(dialect.0), expected });
        }
        let contexts = fixed.get_u16_le();
        let mut server = Guid::default();
        fixed.copy_to_slice(&mut server.0);
        let capabilities = Capabilities(fixed.get_u32_le());
        let (max_transact_size, max_read_size) = (fixed.get_u32_le(), fixed.get_u32_le());
        let (max_write_size, system_time) = (fixed.get_u32_le(), fixed.get_u64_le());
        for (field, size) in [
            ("MaxTransactSize", max_transact_size),
            ("MaxReadSize", max_read_size),
            ("MaxWriteSize", max_write_size),
        ] {
            if size < SIZE_MIN {
                return Err(Nonsense::Field { field, got: u64::from(size), expected: "at least 4096" });
            }
        }
        fixed.advance(8);
        let (at, len) = (u64::from(fixed.get_u16_le()), u64::from(fixed.get_u16_le()));
        let security = range(message, "SecurityBuffer", at, len)?;
        let cipher = cipher(message, dialect, (fixed.get_u32_le(), contexts))?;
        Ok(Self::Agreed(NegotiateResponse {
            message_id: header.message_id,
            dialect,
            security_mode,
            server,
            capabilities,
            max_transact_size,
            max_read_size,
            max_write_size,
            system_time,
            cipher,
            security: Bytes::copy_from_slice(security),
        }))
    }
}

/// Checks the contexts of 3.1.1.
fn cipher(message: &[u8], dialect: Dialect, (offset, count): (u32, u16)) -> Result<Option<Cipher>, Nonsense> {
    if dialect != Dialect::SMB_3_1_1 {
        return Ok(None);
    }
    let contexts = context::read(message, offset, count)?;
    if !contexts.has_sha512 {
        return Err(Nonsense::Field { field: "HashAlgorithms", got: 0, expected: "SHA-512 (1)" });
    }
    match contexts.ciphers.as_slice() {
        [] => Ok(None),
        [cipher] => Ok(Some(*cipher)),
        more => Err(Nonsense::Field { field: "CipherCount", got: more.len() as u64, expected: "1" }),
    }
}
