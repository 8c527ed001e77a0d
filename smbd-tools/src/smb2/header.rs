//! The header of every message (2.2.1.2).

use bytes::{Buf, BufMut};

use super::Nonsense;

pub(super) const LEN: usize = 64;
const PROTOCOL_ID: [u8; 4] = *b"\xfeSMB";
const FLAG_RESPONSE: u32 = 1;
const COMMAND_NEGOTIATE: u16 = 0;

/// What a header says that matters here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) status: u32,
    pub(super) is_response: bool,
    pub(super) message_id: u64,
}

impl Header {
    pub(super) fn put(self, out: &mut impl BufMut) {
        out.put_slice(&PROTOCOL_ID);
        out.put_u16_le(64);
        // CreditCharge: 0 before a dialect that has it is agreed on.
        out.put_u16_le(0);
        out.put_u32_le(self.status);
        out.put_u16_le(COMMAND_NEGOTIATE);
        // Credits asked for, or granted.
        out.put_u16_le(1);
        out.put_u32_le(if self.is_response { FLAG_RESPONSE } else { 0 });
        // NextCommand.
        out.put_u32_le(0);
        out.put_u64_le(self.message_id);
        // Reserved, TreeId, SessionId, Signature.
        out.put_bytes(0, 4 + 4 + 8 + 16);
    }

    /// The header of a NEGOTIATE message, and what follows it.
    pub(super) fn read(message: &[u8]) -> Result<(Self, &[u8]), Nonsense> {
        let short = Nonsense::Short { what: "SMB2 header", got: message.len(), needed: LEN };
        let Some((mut header, body)) = message.split_at_checked(LEN) else { return Err(short) };
        check("ProtocolId", u64::from(header.get_u32()), 0xfe53_4d42, "0xfe 'S' 'M' 'B'")?;
        check("Header.StructureSize", u64::from(header.get_u16_le()), 64, "64")?;
        header.advance(2);
        let status = header.get_u32_le();
        check("Command", u64::from(header.get_u16_le()), u64::from(COMMAND_NEGOTIATE), "NEGOTIATE (0)")?;
        header.advance(2);
        let flags = header.get_u32_le();
        header.advance(4);
        let message_id = header.get_u64_le();
        Ok((Self { status, is_response: flags & FLAG_RESPONSE != 0, message_id }, body))
    }
}

pub(super) fn check(
    field: &'static str,
    got: u64,
    wanted: u64,
    expected: &'static str,
) -> Result<(), Nonsense> {
    if got == wanted { Ok(()) } else { Err(Nonsense::Field { field, got, expected }) }
}
