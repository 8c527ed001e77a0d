//! Why a copy fails.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::Error;

/// Why a file is not copied.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Failure {
    /// The server's side.
    #[error("{path}: {error}")]
    Remote {
        /// The path in the share.
        path: String,
        /// What is wrong.
        error: Error,
    },
    /// This side.
    #[error("{}: {error}", path.display())]
    Local {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        error: io::Error,
    },
    /// What is there already has more bytes than what is copied: it is no beginning of it.
    #[error(
        "{there} has {got} bytes already, and what is copied has {max}: it is no part of it and cannot be resumed"
    )]
    Longer {
        /// The file that is there.
        there: String,
        /// Its bytes.
        got: u64,
        /// The most that it could have.
        max: u64,
    },
    /// The server's file became shorter while it was read.
    #[error("{path}: it ends at {end}, and had {size} bytes when it was opened")]
    Shorter {
        /// The path in the share.
        path: String,
        /// Where it ends now, in bytes.
        end: u64,
        /// Its bytes when it was opened.
        size: u64,
    },
    /// The files are not the same.
    #[error("{path}: its sum is {remote:016x}, and that of {} is {here:016x} (XXH3): they differ", local.display())]
    Differs {
        /// The path in the share.
        path: String,
        /// The sum of what is there.
        remote: u64,
        /// The file of this host.
        local: PathBuf,
        /// The sum of what is here.
        here: u64,
    },
}

impl Failure {
    /// Of a path in a share.
    pub(super) fn remote(path: &str) -> impl Fn(Error) -> Self {
        move |error| Self::Remote { path: path.into(), error }
    }

    /// Of a file of this host.
    pub(super) fn local(path: &std::path::Path) -> impl Fn(io::Error) -> Self {
        move |error| Self::Local { path: path.into(), error }
    }
}
