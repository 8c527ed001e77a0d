//! As much of SMB2 as it takes to end a mount: which request it is (MS-SMB2 2.2.1.2), and an ERROR Response (2.2.2).

use bytes::{BufMut, Bytes, BytesMut};

use crate::case::Failure;

/// Command of a SESSION_SETUP.
pub(super) const SESSION_SETUP: u16 = 1;
/// STATUS_LOGON_FAILURE.
pub(super) const LOGON_FAILURE: u32 = 0xc000_006d;

const HEADER_LEN: usize = 64;
const STATUS_AT: usize = 8;
const COMMAND_AT: usize = 12;
const CREDITS_AT: usize = 14;
const FLAGS_AT: usize = 16;
const SIGNATURE_AT: usize = 48;
const FLAG_RESPONSE: u8 = 1;

fn header(message: &[u8]) -> Result<&[u8; HEADER_LEN], Failure> {
    match message.first_chunk() {
        Some(header) if header.starts_with(b"\xfeSMB") => Ok(header),
        _ => Err(format!("{} bytes that are no SMB2 message", message.len()).into()),
    }
}

/// What a message asks for.
pub(super) fn command(message: &[u8]) -> Result<u16, Failure> {
    let header = header(message)?;
    Ok(u16::from_le_bytes([header[COMMAND_AT], header[COMMAND_AT + 1]]))
}

/// The answer to `request` that it failed.
pub(super) fn error_response(request: &[u8], status: u32) -> Result<Bytes, Failure> {
    let mut out = BytesMut::from(&header(request)?[..]);
    (&mut out[STATUS_AT..]).put_u32_le(status);
    (&mut out[CREDITS_AT..]).put_u16_le(1);
    out[FLAGS_AT] |= FLAG_RESPONSE;
    out[SIGNATURE_AT..].fill(0);
    // StructureSize, no contexts, no data but the one byte that the size counts.
    out.put_u16_le(9);
    out.put_bytes(0, 7);
    Ok(out.freeze())
}
