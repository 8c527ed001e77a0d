//! What a connection does not survive.

use smbd_smb2::security::SecurityError;
use smbd_smb2::wire::{Command, WireError};
use thiserror::Error;

/// A message after which a server ends the connection without an answer (MS-SMB2 3.3.5.2).
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum BadMessage {
    /// It does not begin with an SMB2 header, or its elements do not follow each other.
    #[error("no SMB2 message: {0}")]
    Format(#[from] WireError),
    /// It is encrypted or compressed, or it is of SMB1 and offers no dialect of SMB2 (3.3.5.2.1, 3.3.5.3).
    #[error("ProtocolId is {0:x?}, and only [fe, 53, 4d, 42] is understood here")]
    Protocol([u8; 4]),
    /// It is longer than anything that was allowed (3.3.5.2).
    #[error("{len} bytes, and at most {max} are allowed")]
    TooLong {
        /// Its length in bytes.
        len: usize,
        /// The greatest length in bytes.
        max: usize,
    },
    /// It is not signed or encrypted with the keys of the session (3.3.5.2.1.1, 3.3.5.2.4).
    #[error("not what a client with the session's keys sends: {0}")]
    Security(#[from] SecurityError),
    /// It is an answer.
    #[error("Flags have SMB2_FLAGS_SERVER_TO_REDIR: an answer to a server")]
    Response,
    /// There is no such command (3.3.5.2.6).
    #[error("Command is {0}, which does not exist")]
    Command(Command),
    /// Something else than NEGOTIATE comes first (3.3.5.2.2).
    #[error("{0} before a dialect is agreed on")]
    NotNegotiated(Command),
    /// NEGOTIATE comes again (3.3.5.4).
    #[error("NEGOTIATE when a dialect is agreed on")]
    NegotiatedTwice,
    /// The request consumes more credits than there are (3.3.5.2.3).
    #[error("CreditCharge is {charge}, and the client has {credits} credits")]
    Credits {
        /// Credits that it consumes.
        charge: u16,
        /// Credits that the client has.
        credits: u16,
    },
    /// FSCTL_VALIDATE_NEGOTIATE_INFO shows that NEGOTIATE was changed on its way, or is not allowed (3.3.5.15.12).
    #[error("VALIDATE_NEGOTIATE_INFO: {0}")]
    Negotiation(&'static str),
}
