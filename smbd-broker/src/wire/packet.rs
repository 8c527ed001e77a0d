//! Messages in a packet.

use super::error::WireError;
use super::reader::{Reader, Writer};
use super::{HEADER_LEN, PACKET_MAX};

/// Which message it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Kind(pub u16);

/// A message of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message<'a> {
    /// Which one.
    pub kind: Kind,
    /// What the sender gave it, for the answer.
    pub tag: u64,
    /// What is behind the header.
    pub body: &'a [u8],
}

/// The messages of a packet, one after the other. After an error there is none.
#[derive(Clone, Debug)]
pub struct Messages<'a> {
    left: Result<&'a [u8], WireError>,
    is_first: bool,
}

impl<'a> Messages<'a> {
    /// Of this packet.
    #[must_use]
    pub const fn of(packet: &'a [u8]) -> Self {
        Self { left: Ok(packet), is_first: true }
    }

    fn take(&mut self, packet: &'a [u8]) -> Result<Message<'a>, WireError> {
        let mut reader = Reader::new("packet", packet);
        let len = reader.u32("Length")?;
        let is_valid = (HEADER_LEN..=PACKET_MAX).contains(&(len as usize));
        reader.check("Length", len.into(), is_valid, "it is 16 to 98304")?;
        let kind = Kind(reader.u16("Kind")?);
        reader.reserved()?;
        let tag = reader.u64("Tag")?;
        let body = reader.bytes("Body", (len as usize).saturating_sub(HEADER_LEN))?;
        let left = reader.rest();
        // Padding up to the next multiple of 8. The last message may have none.
        let padding = (len.wrapping_neg() & 7) as usize;
        self.left = Ok(left.get(padding..).unwrap_or_default());
        Ok(Message { kind, tag, body })
    }
}

impl<'a> Iterator for Messages<'a> {
    type Item = Result<Message<'a>, WireError>;

    fn next(&mut self) -> Option<Self::Item> {
        let is_first = std::mem::replace(&mut self.is_first, false);
        let packet = self.left.ok()?;
        if packet.is_empty() {
            return is_first.then_some(Err(WireError::Empty));
        }
        let message = self.take(packet);
        if let Err(error) = message {
            self.left = Err(error);
        }
        Some(message)
    }
}

/// A packet that is being put together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Packet(Vec<u8>);

impl Packet {
    /// One without messages.
    #[must_use]
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// Its bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Whether it has no message.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether another message with a body of `len` bytes fits.
    #[must_use]
    pub fn has_room(&self, len: usize) -> bool {
        let aligned = self.0.len().next_multiple_of(8);
        aligned.saturating_add(HEADER_LEN).saturating_add(len) <= PACKET_MAX
    }

    /// Adds the messages of another packet, if all of them fit.
    pub fn join(&mut self, other: &Self) -> bool {
        let start = self.0.len().next_multiple_of(8);
        let fits = start.saturating_add(other.0.len()) <= PACKET_MAX;
        if fits {
            self.0.resize(start, 0);
            self.0.extend_from_slice(&other.0);
        }
        fits
    }

    /// Adds a message, whose body `write` writes.
    pub(super) fn push(&mut self, kind: Kind, tag: u64, write: impl FnOnce(&mut Writer<'_>)) {
        self.0.resize(self.0.len().next_multiple_of(8), 0);
        let start = self.0.len();
        let mut writer = Writer(&mut self.0);
        writer.u32(0);
        writer.u16(kind.0);
        writer.u16(0);
        writer.u64(tag);
        write(&mut writer);
        let len = u32::try_from(self.0.len().saturating_sub(start)).unwrap_or(u32::MAX);
        if let Some(place) = self.0.get_mut(start..).and_then(|bytes| bytes.first_chunk_mut()) {
            *place = len.to_le_bytes();
        }
    }
}
