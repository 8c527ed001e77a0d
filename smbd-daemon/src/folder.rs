//! Folders of tests.

use std::fs;
use std::path::PathBuf;

/// A folder of a test's own, removed with all that is in it.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    /// An empty one. No other test has the name.
    pub(crate) fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("smbd-daemon-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).unwrap();
    }
}
