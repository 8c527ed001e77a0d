//! Why a session cannot be bound to another connection.

use thiserror::Error;

use crate::wire::{Capabilities, Cipher, Dialect, Guid, SecurityMode, SessionId, SigningAlgorithm};

/// Why a session cannot be bound to a connection (3.2.4.2.3, 3.2.5.2, 3.3.5.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum BindError {
    /// The session is a guest's or nobody's.
    #[error("the session is a guest's or nobody's: it has no key, and cannot be bound (3.3.5.5)")]
    NoKeys,
    /// The server does not know sessions on more than one connection.
    #[error("Capabilities of the server are 0x{:08x}, without SMB2_GLOBAL_CAP_MULTI_CHANNEL (2.2.4)", .0.0)]
    NoMultiChannel(Capabilities),
    /// A session may not be bound, or not as often.
    #[error("sessions are bound {max} times at most here")]
    TooMany {
        /// [`Params::bindings`](super::Params::bindings).
        max: u16,
    },
    /// It is asked of a connection to which the session was bound: only its first one knows how often it is.
    #[error("the session is bound to this connection: its first connection can do this, and no other")]
    NotFirst,
    /// The session is on this connection already.
    #[error("the session {0} is on this connection already (3.3.5.5)")]
    Twice(SessionId),
    /// Both connections have to have the same dialect.
    #[error("Connection.Dialect is {got}, and the session's is {expected} (3.3.5.5)")]
    Dialect {
        /// This connection's.
        got: Dialect,
        /// The session's.
        expected: Dialect,
    },
    /// The client is another one.
    #[error("Connection.ClientGuid is {got}, and the session's is {expected} (3.3.5.5)")]
    ClientGuid {
        /// This connection's.
        got: Guid,
        /// The session's.
        expected: Guid,
    },
    /// The server is another one.
    #[error("ServerGuid is {got}, and that of the session's connection is {expected} (3.2.5.2)")]
    ServerGuid {
        /// This connection's.
        got: Guid,
        /// The session's.
        expected: Guid,
    },
    /// The server says something else of signing.
    #[error("SecurityMode is 0x{:04x}, and that of the session's connection is 0x{:04x} (3.2.5.2)", got.0, expected.0)]
    SecurityMode {
        /// This connection's.
        got: SecurityMode,
        /// The session's.
        expected: SecurityMode,
    },
    /// The server says something else of what it can.
    #[error("Capabilities are 0x{:08x}, and those of the session's connection are 0x{:08x} (3.2.5.2)", got.0, expected.0)]
    Capabilities {
        /// This connection's.
        got: Capabilities,
        /// The session's.
        expected: Capabilities,
    },
    /// The session's keys are those of another cipher.
    #[error("Connection.CipherId is {}, and the session's is {} (3.3.5.5.3)", named(*got), named(*expected))]
    Cipher {
        /// This connection's.
        got: Option<Cipher>,
        /// The session's.
        expected: Option<Cipher>,
    },
    /// The session's key signs with another algorithm.
    #[error("Connection.SigningAlgorithmId is {got}, and the session's is {expected} (3.2.4.1.1)")]
    Signing {
        /// This connection's.
        got: SigningAlgorithm,
        /// The session's.
        expected: SigningAlgorithm,
    },
    /// The connection has used the MessageIds with which AES-GMAC may sign the binding.
    #[error("the next MessageId is {next}, and AES-GMAC may sign the binding with {first} (3.2.4.1.1)")]
    MessageIds {
        /// The connection's next one.
        next: u64,
        /// The first of the binding's.
        first: u64,
    },
    /// No MessageIds are left with which AES-GMAC could sign another binding, or no channel has nonces of its own any more.
    #[error("nothing is left of which the session's keys could make nonces for another connection (3.1.4.1)")]
    NoNonces,
}

fn named(cipher: Option<Cipher>) -> alloc::string::String {
    cipher.map_or_else(|| "none".into(), |cipher| alloc::format!("{cipher}"))
}
