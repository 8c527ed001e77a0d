//! The permissions of a Unix socket.

use serde::Deserialize;

/// Who may connect to a Unix socket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub enum SocketMode {
    /// The program's own user, and root.
    #[default]
    #[serde(rename = "0600")]
    User,
    /// Its group as well.
    #[serde(rename = "0660")]
    Group,
}

impl SocketMode {
    /// Bits of a file's mode.
    #[must_use]
    pub const fn bits(self) -> u32 {
        match self {
            Self::User => 0o600,
            Self::Group => 0o660,
        }
    }
}
