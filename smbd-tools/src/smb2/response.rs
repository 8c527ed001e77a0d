//! NEGOTIATE Response (2.2.4).

use bytes::Bytes;
use smbd_smb2::wire::{self, Header, MessageId, NtStatus, Records, SecurityMode, write_element};

use super::{
    Capabilities, Cipher, Dialect, Guid, NegotiateRequest, Nonsense, SALT_LEN, check, ciphers, contexts,
    read_header, spnego,
};

/// A server with less could not serve any client.
const SIZE_MIN: u32 = 4096;

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
            security_mode: SecurityMode::SIGNING_ENABLED.0,
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
    ///
    /// # Panics
    /// [`Self::security`] is longer than 65,535 bytes.
    #[must_use]
    pub fn encode(&self, salt: &[u8; SALT_LEN]) -> Bytes {
        let contexts = contexts(salt, self.cipher.as_slice());
        let response = wire::NegotiateResponse {
            security_mode: SecurityMode(self.security_mode),
            dialect: self.dialect,
            server_guid: self.server,
            capabilities: self.capabilities,
            max_transact_size: self.max_transact_size,
            max_read_size: self.max_read_size,
            max_write_size: self.max_write_size,
            system_time: self.system_time,
            // 0 (2.2.4).
            server_start_time: 0,
            security_buffer: &self.security,
            contexts: Records::from(&contexts[..]),
        };
        let header = Header {
            credit_charge: 0,
            message_id: MessageId(self.message_id),
            ..Header::request::<wire::NegotiateResponse<'_>>(0)
        };
        let mut out = Vec::with_capacity(320);
        write_element(&mut out, &header, &response).expect("a short security buffer");
        out.into()
    }
}

impl Response {
    /// Reads the answer to `request`.
    ///
    /// # Errors
    /// The message is not an answer to it, breaks the format, or chooses a value that `request` does not offer.
    pub fn parse(message: &[u8], request: &NegotiateRequest) -> Result<Self, Nonsense> {
        let header = read_header(message)?;
        if !header.is_response() {
            return Err(Nonsense::Echo);
        }
        check("MessageId", header.message_id.0, request.message_id, "that of the request")?;
        if header.status != NtStatus::SUCCESS {
            wire::ErrorResponse::parse(message)?;
            return Ok(Self::Error(ErrorResponse { status: header.status.0 }));
        }
        let response = wire::NegotiateResponse::parse(message)?;
        let dialect = response.dialect;
        // The wildcard names no dialect yet: the client asks again (3.3.5.3.1).
        if dialect == Dialect::SMB_2_WILDCARD || !request.dialects.contains(&dialect) {
            let expected = "a dialect that was offered";
            return Err(Nonsense::Field { field: "DialectRevision", got: dialect.0.into(), expected });
        }
        for (field, size) in [
            ("MaxTransactSize", response.max_transact_size),
            ("MaxReadSize", response.max_read_size),
            ("MaxWriteSize", response.max_write_size),
        ] {
            if size < SIZE_MIN {
                return Err(Nonsense::Field { field, got: size.into(), expected: "at least 4096" });
            }
        }
        Ok(Self::Agreed(NegotiateResponse {
            message_id: header.message_id.0,
            dialect,
            security_mode: response.security_mode.0,
            server: response.server_guid,
            capabilities: response.capabilities,
            max_transact_size: response.max_transact_size,
            max_read_size: response.max_read_size,
            max_write_size: response.max_write_size,
            system_time: response.system_time,
            cipher: cipher(&response)?,
            security: Bytes::copy_from_slice(response.security_buffer),
        }))
    }
}

/// Checks the contexts of 3.1.1.
fn cipher(response: &wire::NegotiateResponse<'_>) -> Result<Option<Cipher>, Nonsense> {
    if response.dialect != Dialect::SMB_3_1_1 {
        return Ok(None);
    }
    match ciphers(response.contexts, "SHA-512 (1)")?.as_slice() {
        [] => Ok(None),
        [cipher] => Ok(Some(*cipher)),
        more => Err(Nonsense::Field { field: "CipherCount", got: more.len() as u64, expected: "1" }),
    }
}
