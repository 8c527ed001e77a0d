//! A file to be copied, and what came of it.

use std::path::PathBuf;
use std::time::Duration;

use smbd_files::copy::{Copied, Failure};

/// A file to be copied.
#[derive(Clone, Debug)]
pub(crate) struct Job {
    /// The path in the share.
    pub(crate) remote: String,
    pub(crate) local: PathBuf,
    pub(crate) is_get: bool,
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
    /// The sum of both files, if they were compared.
    pub(crate) sum: Option<u64>,
}
