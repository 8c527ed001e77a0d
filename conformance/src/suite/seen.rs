//! What came from the subject: messages, and upper-layer messages put together from them.

use smbd_core::wire::DataTransfer;
use smbd_core::{Instant, Token};

/// A message of the subject.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// When it was noticed.
    pub at: Instant,
    /// All of it.
    pub bytes: Vec<u8>,
    /// The script's token that it invalidated.
    pub invalidated: Option<Token>,
    /// Credits the subject has left behind it.
    pub left: i64,
}

/// A Data Transfer message of the subject.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// As it came.
    pub message: Message,
    /// Its header.
    pub header: DataTransfer,
}

impl Seen {
    /// The bytes that DataOffset and DataLength name, as far as they are there.
    #[must_use]
    pub fn payload(&self) -> &[u8] {
        payload_of(&self.header, &self.message.bytes)
    }

    /// Reserved, which is no field of `DataTransfer`.
    #[must_use]
    pub fn reserved(&self) -> u16 {
        self.message.bytes.get(6..8).map_or(0, |bytes| u16::from(bytes[0]) | u16::from(bytes[1]) << 8)
    }
}

/// The bytes of a message that DataOffset and DataLength name; none if they are not there.
pub(super) fn payload_of<'b>(header: &DataTransfer, bytes: &'b [u8]) -> &'b [u8] {
    let start = usize::try_from(header.data_offset).unwrap_or(usize::MAX);
    let end = start.saturating_add(usize::try_from(header.data_length).unwrap_or(usize::MAX));
    bytes.get(start..end).unwrap_or_default()
}

/// An upper-layer message of the subject.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Whole {
    /// Its fragments put together.
    pub payload: Vec<u8>,
    /// The messages that carried them.
    pub fragments: Vec<Seen>,
    /// The messages without data that came before and between.
    pub empties: Vec<Seen>,
    /// The messages that carried what was passed over before it.
    pub others: Vec<Seen>,
}

impl Whole {
    /// Takes in the next message; whether it was the last fragment.
    pub fn take(&mut self, seen: Seen) -> bool {
        if seen.header.data_length == 0 {
            self.empties.push(seen);
            return false;
        }
        self.payload.extend_from_slice(seen.payload());
        let last = seen.header.remaining_data_length == 0;
        self.fragments.push(seen);
        last
    }

    /// What has come is not what is awaited: that begins now.
    pub(super) fn pass_over(&mut self) {
        self.payload.clear();
        self.others.append(&mut self.fragments);
    }
}
