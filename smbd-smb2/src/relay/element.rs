//! One element of a message, by its header.

use crate::wire::compound::end;
use crate::wire::header::{self, field};
use crate::wire::{Command, Flags, Header, MessageId, NtStatus, SessionId, WireError};

/// What a relay reads of a header (2.2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Front {
    pub(super) status: NtStatus,
    pub(super) command: Command,
    pub(super) flags: Flags,
    next_command: u32,
    pub(super) message_id: MessageId,
    pub(super) session_id: SessionId,
}

/// An element whose header has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Element {
    pub(super) header: Front,
    /// Its length in bytes, with the padding before the next.
    pub(super) len: usize,
    /// Whether it is the last of its message.
    pub(super) is_last: bool,
}

impl Front {
    /// The header at the beginning of `bytes`.
    #[inline]
    pub(super) fn read(bytes: &[u8]) -> Result<Self, WireError> {
        match bytes.first_chunk().and_then(Self::get) {
            Some(front) => Ok(front),
            None => Self::parse(bytes),
        }
    }

    /// The same, with what is wrong if it is none.
    #[cold]
    fn parse(bytes: &[u8]) -> Result<Self, WireError> {
        Header::parse(bytes).map(|header| Self {
            status: header.status,
            command: header.command,
            flags: header.flags,
            next_command: header.next_command,
            message_id: header.message_id,
            session_id: header.session_id,
        })
    }

    /// The same, if it is a header, without a word about what is wrong.
    #[inline]
    pub(super) fn get(bytes: &[u8; header::LEN]) -> Option<Self> {
        let is_header = field::PROTOCOL_ID.get(bytes).ok()? == header::PROTOCOL_ID
            && usize::from(field::STRUCTURE_SIZE.get(bytes).ok()?) == header::LEN;
        if !is_header {
            return None;
        }
        Some(Self {
            status: field::STATUS.get(bytes).ok()?,
            command: field::COMMAND.get(bytes).ok()?,
            flags: field::FLAGS.get(bytes).ok()?,
            next_command: field::NEXT_COMMAND.get(bytes).ok()?,
            message_id: field::MESSAGE_ID.get(bytes).ok()?,
            session_id: field::SESSION_ID.get(bytes).ok()?,
        })
    }

    /// Whether no element follows.
    pub(super) const fn is_last(&self) -> bool {
        self.next_command == 0
    }

    /// Whether its bytes are those that were signed (2.2.1.2).
    pub(super) const fn is_signed(&self) -> bool {
        self.flags.contains(Flags::SIGNED)
    }

    /// Whether a server sends it.
    pub(super) const fn is_response(&self) -> bool {
        self.flags.contains(Flags::SERVER_TO_REDIR)
    }

    /// Whether a server says with it that a request was successful.
    pub(super) fn is_success(&self) -> bool {
        self.is_response() && self.status == NtStatus::SUCCESS
    }

    /// Whether an answer says that the final one comes later (3.3.4.2).
    pub(super) fn is_interim(&self) -> bool {
        self.status == NtStatus::PENDING && self.flags.contains(Flags::ASYNC_COMMAND)
    }
}

impl Element {
    /// The element at the beginning of `bytes`; `remaining` bytes of the message begin there.
    #[inline]
    pub(super) fn read(bytes: &[u8], remaining: usize) -> Result<Self, WireError> {
        Self::of(Front::read(bytes)?, remaining)
    }

    /// The element with this header.
    #[inline]
    pub(super) fn of(header: Front, remaining: usize) -> Result<Self, WireError> {
        let next = if header.next_command == 0 { None } else { end(header.next_command, remaining)? };
        Ok(Self { header, len: next.unwrap_or(remaining), is_last: next.is_none() })
    }

    /// Whether its bytes are those that were signed (2.2.1.2).
    pub(super) const fn is_signed(&self) -> bool {
        self.header.is_signed()
    }

    /// Whether it is the final answer to a request.
    #[inline]
    pub(super) fn is_final(&self) -> bool {
        self.header.is_response() && !self.header.is_interim()
    }
}

/// Makes a message of its own of an element (3.3.4.1.3).
pub(super) fn detach(element: &mut [u8]) -> Result<(), WireError> {
    field::NEXT_COMMAND.set(element, 0)?;
    let flags = field::FLAGS.get(element)?;
    field::FLAGS.set(element, flags.with(Flags::RELATED_OPERATIONS, false))
}
