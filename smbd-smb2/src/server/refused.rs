//! What the server refuses its clients before they have a session.

use alloc::string::String;

use thiserror::Error;

/// What the server has refused: for logs. What a client made up is in it as the client said it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Refused {
    /// A login, of a new session, of one that is bound, or of a user who logs in again (3.3.5.5).
    #[error("login of {user:?}: {why}")]
    Login {
        /// The user that the client named, 256 characters at most; empty if none came.
        user: String,
        /// Why, as a text for people.
        why: String,
    },
    /// All dialects of a client (3.3.5.3, 3.3.5.4).
    #[error("dialects: {offered}")]
    Dialects {
        /// Those that the client offered, with commas between them.
        offered: String,
    },
}
