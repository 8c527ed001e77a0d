//! One element of a message, by its header.

use crate::wire::compound::end;
use crate::wire::header::{self, field};
use crate::wire::{Flags, Header, NtStatus, WireError};

/// An element whose header has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Element {
    pub(super) header: Header,
    /// Its length in bytes, with the padding before the next.
    pub(super) len: usize,
    /// Whether it is the last of its message.
    pub(super) is_last: bool,
}

impl Element {
    /// The element at the beginning of `bytes`; `remaining` bytes of the message begin there.
    pub(super) fn read(bytes: &[u8], remaining: usize) -> Result<Self, WireError> {
        let header = Header::parse(bytes)?;
        let next = end(&header, remaining)?;
        Ok(Self { header, len: next.unwrap_or(remaining), is_last: next.is_none() })
    }

    /// Whether its bytes are those that were signed (2.2.1.2).
    pub(super) const fn is_signed(&self) -> bool {
        self.header.flags.contains(Flags::SIGNED)
    }

    /// Whether it says that the answer comes later.
    pub(super) fn is_interim(&self) -> bool {
        is_interim(&self.header)
    }
}

/// Whether an answer says that the final one comes later (3.3.4.2).
pub(super) fn is_interim(header: &Header) -> bool {
    header.status == NtStatus::PENDING && header.flags.contains(Flags::ASYNC_COMMAND)
}

/// Whether a message begins with an SMB2 header that is not encrypted or compressed, as far as its first bytes say.
pub(super) fn is_plain(front: &[u8]) -> bool {
    front.starts_with(&header::PROTOCOL_ID) && front.len() >= header::LEN
}

/// Makes a message of its own of an element (3.3.4.1.3).
pub(super) fn detach(element: &mut [u8]) -> Result<(), WireError> {
    field::NEXT_COMMAND.set(element, 0)?;
    let flags = field::FLAGS.get(element)?;
    field::FLAGS.set(element, flags.with(Flags::RELATED_OPERATIONS, false))
}
