//! The password: from a file, from the environment, or from whoever sits at the terminal.

use std::fs::File;
use std::io;
use std::path::Path;

use smbd_program::password::{BYTES_MAX, Untyped, ask, first_line};
use thiserror::Error;

/// The variable that may have it.
const VARIABLE: &str = "SMBD_PASSWORD";

/// Why there is none.
#[derive(Debug, Error)]
pub(crate) enum NoPassword {
    #[error("--password-file {path}: {error}")]
    File { path: String, error: io::Error },
    #[error("--password-file {0}: its first line has more than {BYTES_MAX} bytes")]
    TooLong(String),
    #[error("SMBD_PASSWORD is not UTF-8")]
    Variable,
    #[error("there is no password: use --password-file or SMBD_PASSWORD; {0}")]
    Untyped(#[from] Untyped),
}

/// The password of a user.
pub(crate) fn password(file: Option<&Path>, who: &str) -> Result<String, NoPassword> {
    if let Some(path) = file {
        let name = || path.display().to_string();
        let line = File::open(path).and_then(first_line);
        let line = line.map_err(|error| NoPassword::File { path: name(), error })?;
        return line.ok_or_else(|| NoPassword::TooLong(name()));
    }
    match std::env::var(VARIABLE) {
        Ok(password) => Ok(password),
        Err(std::env::VarError::NotUnicode(_)) => Err(NoPassword::Variable),
        Err(std::env::VarError::NotPresent) => Ok(ask(&format!("Password of {who}"))?),
    }
}
