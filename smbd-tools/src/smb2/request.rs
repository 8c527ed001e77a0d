//! NEGOTIATE Request (2.2.3).

use bytes::Bytes;
use smbd_smb2::wire::{self, Header, List, Records, SecurityMode, write_element};

use super::{Capabilities, Cipher, Dialect, Guid, Nonsense, SALT_LEN, ciphers, contexts, read_header};

/// More dialects than exist.
const DIALECTS_MAX: usize = 64;

/// A NEGOTIATE Request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NegotiateRequest {
    /// MessageId: 0 for the first message of the connection.
    pub message_id: u64,
    /// ClientGuid.
    pub client: Guid,
    /// Capabilities.
    pub capabilities: Capabilities,
    /// Dialects, ascending.
    pub dialects: Vec<Dialect>,
    /// Ciphers offered, the preferred one first; with 3.1.1 only.
    pub ciphers: Vec<Cipher>,
}

impl NegotiateRequest {
    /// The request of a client with all dialects.
    #[must_use]
    pub fn new(client: Guid) -> Self {
        Self {
            message_id: 0,
            client,
            // All that exist up to 3.1.1: the answer shows what the server has of them.
            capabilities: Capabilities(0x7f),
            dialects: Dialect::ALL.to_vec(),
            ciphers: vec![Cipher::AES_128_GCM, Cipher::AES_128_CCM],
        }
    }

    /// The message in bytes. `salt` is part of the preauthentication hash; any bytes are valid if no session follows.
    ///
    /// # Panics
    /// There are more than 65,535 dialects, or more than 32,000 ciphers.
    #[must_use]
    pub fn encode(&self, salt: &[u8; SALT_LEN]) -> Bytes {
        let contexts = contexts(salt, &self.ciphers);
        let request = wire::NegotiateRequest {
            security_mode: SecurityMode::SIGNING_ENABLED,
            capabilities: self.capabilities,
            client_guid: self.client,
            dialects: List::from(&self.dialects[..]),
            contexts: Records::from(&contexts[..]),
        };
        // CreditCharge: 0 before a dialect that has it is agreed on.
        let header =
            Header { credit_charge: 0, ..Header::request::<wire::NegotiateRequest<'_>>(self.message_id) };
        let mut out = Vec::with_capacity(256);
        write_element(&mut out, &header, &request).expect("few enough dialects and ciphers");
        out.into()
    }

    /// Reads a request.
    ///
    /// # Errors
    /// The message is not a request, or breaks the format.
    pub fn parse(message: &[u8]) -> Result<Self, Nonsense> {
        let header = read_header(message)?;
        if header.is_response() {
            return Err(Nonsense::Field { field: "Flags", got: 1, expected: "a request" });
        }
        let request = wire::NegotiateRequest::parse(message)?;
        let count = request.dialects.len();
        if !(1..=DIALECTS_MAX).contains(&count) {
            return Err(Nonsense::Field { field: "DialectCount", got: count as u64, expected: "1 to 64" });
        }
        let dialects: Vec<_> = request.dialects.iter().collect();
        let ciphers = if dialects.contains(&Dialect::SMB_3_1_1) {
            ciphers(request.contexts, "SHA-512 (1) among them")?
        } else {
            Vec::new()
        };
        Ok(Self {
            message_id: header.message_id.0,
            client: request.client_guid,
            capabilities: request.capabilities,
            dialects,
            ciphers,
        })
    }
}
