//! What the server's answers have said.

use crate::wire::negotiate::response;
use crate::wire::{Command, Dialect};

/// What the server's answers have said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Seen {
    /// The dialect of the last answer to NEGOTIATE (2.2.4).
    pub(super) dialect: Option<Dialect>,
    /// A SESSION_SETUP was successful (3.3.5.5.3). Its last answer is never encrypted.
    pub(super) has_session: bool,
}

impl Seen {
    /// Whether it looks at successful answers to a command.
    #[inline]
    pub(super) fn wants(command: Command) -> bool {
        matches!(command, Command::NEGOTIATE | Command::SESSION_SETUP)
    }

    /// A successful answer, by its first bytes.
    pub(super) fn look(&mut self, command: Command, element: &[u8]) {
        if command == Command::SESSION_SETUP {
            self.has_session = true;
        } else if command == Command::NEGOTIATE {
            self.dialect = response::DIALECT_REVISION.get(element).ok().or(self.dialect);
        }
    }
}
