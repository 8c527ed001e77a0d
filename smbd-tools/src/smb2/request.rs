//! NEGOTIATE Request (2.2.3).

use bytes::{Buf, BufMut, Bytes, BytesMut};

use super::context::{self, SALT_LEN};
use super::header::{self, Header, check};
use super::{Capabilities, Cipher, Dialect, Guid, Nonsense};

/// Body without dialects.
const FIXED_LEN: usize = 36;
const SIGNING_ENABLED: u16 = 1;
/// More dialects than exist.
const DIALECTS_MAX: u16 = 64;

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
    #[must_use]
    pub fn encode(&self, salt: &[u8; SALT_LEN]) -> Bytes {
        let mut out = BytesMut::with_capacity(256);
        Header { status: 0, is_response: false, message_id: self.message_id }.put(&mut out);
        out.put_u16_le(36);
        out.put_u16_le(self.dialects.len() as u16);
        out.put_u16_le(SIGNING_ENABLED);
        out.put_u16_le(0);
        out.put_u32_le(self.capabilities.0);
        out.put_slice(&self.client.0);
        // ClientStartTime, or where the contexts are.
        let contexts_at = out.len();
        out.put_u64_le(0);
        self.dialects.iter().for_each(|dialect| out.put_u16_le(dialect.0));
        if self.dialects.contains(&Dialect::SMB_3_1_1) {
            let (offset, count) = context::put(&mut out, salt, &self.ciphers);
            let mut field = &mut out[contexts_at..];
            field.put_u32_le(offset);
            field.put_u16_le(count);
        }
        out.freeze()
    }

    /// Reads a request.
    ///
    /// # Errors
    /// The message is not a request, or breaks the format.
    pub fn parse(message: &[u8]) -> Result<Self, Nonsense> {
        let (header, body) = Header::read(message)?;
        if header.is_response {
            return Err(Nonsense::Field { field: "Flags", got: 1, expected: "a request" });
        }
        let short = Nonsense::Short { what: "NEGOTIATE Request", got: body.len(), needed: FIXED_LEN };
        let Some((mut fixed, mut behind)) = body.split_at_checked(FIXED_LEN) else { return Err(short) };
        check("StructureSize", u64::from(fixed.get_u16_le()), 36, "36")?;
        let count = fixed.get_u16_le();
        if !(1..=DIALECTS_MAX).contains(&count) {
            return Err(Nonsense::Field {
                field: "DialectCount",
                got: u64::from(count),
                expected: "1 to 64",
            });
        }
        fixed.advance(4);
        let capabilities = Capabilities(fixed.get_u32_le());
        let mut client = Guid::default();
        fixed.copy_to_slice(&mut client.0);
        let (offset, contexts) = (fixed.get_u32_le(), fixed.get_u16_le());
        let mut dialects = Vec::with_capacity(usize::from(count));
        for _ in 0..count {
            let (needed, got) = (usize::from(count) * 2, body.len() - FIXED_LEN);
            let dialect =
                behind.try_get_u16_le().map_err(|_| Nonsense::Short { what: "Dialects", got, needed })?;
            dialects.push(Dialect(dialect));
        }
        let mut ciphers = Vec::new();
        if dialects.contains(&Dialect::SMB_3_1_1) {
            let contexts = context::read(message, offset, contexts)?;
            if !contexts.has_sha512 {
                return Err(Nonsense::Field {
                    field: "HashAlgorithms",
                    got: 0,
                    expected: "SHA-512 (1) among them",
                });
            }
            ciphers = contexts.ciphers;
        }
        Ok(Self { message_id: header.message_id, client, capabilities, dialects, ciphers })
    }
}

/// Where the body begins.
pub(super) const BODY: usize = header::LEN;
