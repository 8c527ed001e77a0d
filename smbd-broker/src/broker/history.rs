//! What was exchanged before it is known whose a connection is.

use bytes::Bytes;

use super::reason::Reason;
use crate::wire::Age;

/// The most bytes that are kept.
pub(super) const HISTORY_MAX: usize = 64 << 10;

/// The most messages that are kept.
pub(super) const HISTORY_MESSAGES_MAX: usize = 64;

/// The messages of a connection up to its SESSION_SETUP, byte for byte: of NEGOTIATE both belong to the hash of 3.1.1 (MS-SMB2 3.3.5.4).
#[derive(Debug)]
pub(super) struct History {
    messages: Vec<(Age, Bytes)>,
    len: usize,
}

impl History {
    pub(super) const fn new() -> Self {
        Self { messages: Vec::new(), len: 0 }
    }

    pub(super) fn add(&mut self, age: Age, message: Bytes) -> Result<(), Reason> {
        let len = self.len.saturating_add(message.len());
        if len > HISTORY_MAX {
            return Err(Reason::TooMuchBeforeSetup { len, max: HISTORY_MAX });
        }
        if self.messages.len() >= HISTORY_MESSAGES_MAX {
            return Err(Reason::TooManyBeforeSetup { max: HISTORY_MESSAGES_MAX });
        }
        self.len = len;
        self.messages.push((age, message));
        Ok(())
    }

    /// Whether the server has answered the first message.
    pub(super) fn is_answered(&self) -> bool {
        self.messages.iter().any(|(age, _)| *age == Age::PastResponse)
    }

    pub(super) fn messages(&self) -> &[(Age, Bytes)] {
        &self.messages
    }
}
