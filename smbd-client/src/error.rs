//! Why something with a remote file fails.

use std::sync::Arc;

use smbd_core::backend::{OutOfMemory, OutOfRange};
use smbd_smb2::client::{ConfigError, Failure, Refused};
use smbd_smb2::wire::{NtStatus, WireError};
use thiserror::Error;

/// Why a connection is over, as a text for people. Clones share it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct Lost(pub Arc<str>);

impl Lost {
    /// Why it is over.
    pub fn because(why: impl std::fmt::Display) -> Self {
        Self(why.to_string().into())
    }
}

/// Why an operation fails.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Error {
    /// The server refuses it.
    #[error("{0}{meaning}", meaning = meaning(*.0))]
    Status(NtStatus),
    /// It fails otherwise.
    #[error(transparent)]
    Failure(Failure),
    /// It cannot be begun.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// The connection is over, or ends before the operation did.
    #[error("the connection is over: {0}")]
    Ended(Arc<str>),
    /// The connection ended while it was under way, and nobody knows whether the server has carried it out; the session has other
    /// connections, where carrying it out again would not be the same.
    #[error("the connection is over: {why}; nobody knows whether the server has carried out {what}")]
    Unknown {
        /// The request.
        what: &'static str,
        /// Why the connection is over.
        why: Arc<str>,
    },
    /// What is wanted of a connection is none that one can have.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// There is no memory for data that go by RDMA.
    #[error(transparent)]
    Memory(#[from] OutOfMemory),
    /// A buffer does not have the range that is wanted of it.
    #[error(transparent)]
    Range(#[from] OutOfRange),
    /// The system gives no entropy.
    #[error("the system gives no entropy for keys: {0}")]
    Entropy(getrandom::Error),
    /// A path has a name that no server has.
    #[error("'{0}' is no path on a server: no name is '..' or has a NUL")]
    Path(String),
    /// An answer is not that of its request.
    #[error("the answer is that of another command than {0}")]
    Answer(&'static str),
    /// A listing cannot be read.
    #[error("{field} of a directory entry points outside of the answer, at {at} (MS-FSCC 2.4)")]
    Entry {
        /// Which field.
        field: &'static str,
        /// Where the entry begins, in bytes.
        at: usize,
    },
    /// What a server says of its network interfaces cannot be read.
    #[error("the server's network interfaces cannot be read: {0}")]
    Interfaces(WireError),
    /// A directory has more entries than are taken.
    #[error("the directory has more than {0} entries")]
    TooMany(usize),
    /// A server took fewer bytes than it was given, and none at last.
    #[error("the server writes nothing more of {left} bytes")]
    NotWritten {
        /// How many bytes it does not take.
        left: usize,
    },
}

impl Error {
    /// The status, if the server refuses it.
    #[must_use]
    pub const fn status(&self) -> Option<NtStatus> {
        match self {
            Self::Status(status) | Self::Failure(Failure::Status(status)) => Some(*status),
            _ => None,
        }
    }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Status(status) => Self::Status(status),
            other => Self::Failure(other),
        }
    }
}

/// What a status means for people, behind its name.
const fn meaning(status: NtStatus) -> &'static str {
    match status {
        NtStatus::ACCESS_DENIED => " (the user may not do this)",
        NtStatus::BAD_NETWORK_NAME => " (the server has no share of this name)",
        NtStatus::DIRECTORY_NOT_EMPTY => " (the directory is not empty)",
        NtStatus::DISK_FULL => " (the server's disk is full)",
        NtStatus::FILE_LOCK_CONFLICT => " (somebody else has locked a part of it)",
        NtStatus::FILE_IS_A_DIRECTORY => " (it is a directory)",
        NtStatus::LOGON_FAILURE => " (the user or the password is wrong)",
        NtStatus::NOT_A_DIRECTORY => " (it is no directory)",
        NtStatus::OBJECT_NAME_COLLISION => " (it is there already)",
        NtStatus::OBJECT_NAME_INVALID => " (the server allows no such name)",
        NtStatus::OBJECT_NAME_NOT_FOUND => " (there is no file of this name)",
        NtStatus::OBJECT_PATH_NOT_FOUND => " (a directory of the path is not there)",
        NtStatus::PASSWORD_EXPIRED => " (the password has expired)",
        NtStatus::SHARING_VIOLATION => " (somebody else has it open)",
        _ => "",
    }
}
