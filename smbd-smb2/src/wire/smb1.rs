//! The NEGOTIATE of SMB1 (3.3.5.3; MS-CIFS 2.2.4.52): by it a client may ask for SMB2.

use alloc::vec::Vec;

use super::error::WireError;
use super::layout::layout;
use super::reader;
use super::writer::Writer;

/// ProtocolId of a message of SMB1.
pub const PROTOCOL_ID: [u8; 4] = *b"\xffSMB";

const COMMAND_NEGOTIATE: u8 = 0x72;
/// SMB_FLAGS_REPLY: a server's answer.
const FLAG_REPLY: u8 = 0x80;

layout! {
    /// Fields of a NEGOTIATE of SMB1, as far as they matter to SMB2.
    pub mod field: "SMB_COM_NEGOTIATE Request", "3.3.5.3", from 0;
    PROTOCOL_ID: [u8; 4] = "Protocol" at 0;
    COMMAND: u8 = "Command" at 4;
    STATUS: u32 = "Status" at 5;
    FLAGS: u8 = "Flags" at 9;
    OTHERS: [u8; 22] = "Flags2 to MID" at 10;
    WORD_COUNT: u8 = "WordCount" at 32;
    BYTE_COUNT: u16 = "ByteCount" at 33;
}

/// A NEGOTIATE of SMB1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Smb1Negotiate<'a> {
    /// The dialects: each is a byte of 2, a text, and a byte of 0.
    bytes: &'a [u8],
}

/// Whether a message with SMB1's ProtocolId is a request of NEGOTIATE.
pub(super) fn is_negotiate(message: &[u8]) -> bool {
    field::COMMAND.get(message) == Ok(COMMAND_NEGOTIATE)
        && field::FLAGS.get(message).is_ok_and(|flags| flags & FLAG_REPLY == 0)
}

impl<'a> Smb1Negotiate<'a> {
    /// "SMB 2.002": the client has dialect 2.0.2.
    pub const SMB_2_002: &'static [u8] = b"SMB 2.002";
    /// "SMB 2.???": the client has 2.1 or a later dialect.
    pub const SMB_2_WILDCARD: &'static [u8] = b"SMB 2.???";

    /// Reads a message.
    ///
    /// # Errors
    /// The fixed part or the dialects are not complete, or it is no NEGOTIATE of SMB1.
    pub fn parse(message: &'a [u8]) -> Result<Self, WireError> {
        field::LAYOUT.check(message)?;
        reader::protocol(message, &field::PROTOCOL_ID, PROTOCOL_ID)?;
        field::COMMAND.expect(message, COMMAND_NEGOTIATE)?;
        field::WORD_COUNT.expect(message, 0)?;
        let (start, len) = (field::LAYOUT.end() as u64, field::BYTE_COUNT.get(message)?);
        Ok(Self { bytes: reader::range(message, &field::BYTE_COUNT, start, len.into())? })
    }

    /// The names of the dialects, without the bytes around them. What does not begin with a byte of 2, and all behind it, is left
    /// out.
    pub fn dialects(&self) -> impl Iterator<Item = &'a [u8]> + Clone + 'a {
        let names = self.bytes.split_inclusive(|byte| *byte == 0);
        names.map_while(|name| name.strip_prefix(&[2])?.strip_suffix(&[0]))
    }

    /// Whether the client offers a dialect of SMB2.
    #[must_use]
    pub fn offers_smb2(&self) -> bool {
        self.dialects().any(|name| name == Self::SMB_2_002 || name == Self::SMB_2_WILDCARD)
    }

    /// Appends a message that offers these dialects. A name must not have a byte of 0.
    ///
    /// # Errors
    /// [`WireError::TooLarge`] if they are more than 65,535 bytes. Nothing is appended then.
    pub fn write(out: &mut Vec<u8>, dialects: &[&[u8]]) -> Result<(), WireError> {
        let mut message = Writer::new(out);
        message.begin(&field::LAYOUT);
        message.set(&field::PROTOCOL_ID, PROTOCOL_ID)?;
        message.set(&field::COMMAND, COMMAND_NEGOTIATE)?;
        for name in dialects {
            message.append(&[2]);
            message.append(name);
            message.append(&[0]);
        }
        let len = message.len().saturating_sub(field::LAYOUT.end());
        let written = message.set_size(&field::BYTE_COUNT, len);
        if written.is_err() {
            message.undo();
        }
        written
    }
}
