//! What follows the header.

use super::command::Command;
use super::error::WireError;
use super::writer::Writer;

/// Something that can stand behind an SMB2 header.
pub trait Body {
    /// Appends it to an element whose header has been written.
    ///
    /// # Errors
    /// A part is too long for the field with its length, or too far behind for the one with its offset.
    fn put(&self, out: &mut Writer<'_>) -> Result<(), WireError>;
}

/// A body that is part of a command's exchange: its request, or its response.
pub trait CommandBody: Body {
    /// The command.
    const COMMAND: Command;
    /// Whether a server sends it.
    const IS_RESPONSE: bool;
}
