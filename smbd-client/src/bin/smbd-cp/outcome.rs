//! A file to be copied, and what came of it.

use std::path::PathBuf;
use std::time::Duration;

use smbd_client::Error;
use smbd_client::copy::{Copied, Failure};
use smbd_smb2::wire::NtStatus;

/// A file to be copied.
#[derive(Clone, Debug)]
pub(crate) struct Job {
    /// The path in the share.
    pub(crate) remote: String,
    pub(crate) local: PathBuf,
    pub(crate) is_get: bool,
}

impl Job {
    /// What is told of a failure, with what to do about it where that is clear.
    pub(crate) fn told(&self, failure: &Failure) -> String {
        let is_directory =
            matches!(failure, Failure::Remote { error: Error::Status(NtStatus::FILE_IS_A_DIRECTORY), .. });
        match (is_directory, self.is_get) {
            (false, _) => failure.to_string(),
            (true, true) => format!("{failure}; single files are copied"),
            (true, false) => format!("{failure}; with a / at its end the URL is where files are put"),
        }
    }
}

/// What came of one.
pub(crate) struct Outcome {
    pub(crate) job: Job,
    pub(crate) result: Result<Done, Failure>,
}

/// A file that was copied.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Done {
    pub(crate) copied: Copied,
    /// How long that took, without the comparison.
    pub(crate) took: Duration,
}
