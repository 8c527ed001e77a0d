//! Names are looked up beside all else: looking for other capitals takes time in proportion to a directory.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use smbd_smb2::server::{FileResult, SharePath};

use super::beneath::{Place, place};

/// Looks up names of a [`Folder`](super::Folder), while others use the folder.
#[derive(Clone, Debug)]
pub struct Lookup {
    pub(super) root: Arc<OwnedFd>,
    pub(super) is_case_sensitive: bool,
    /// How many names were made before.
    pub(super) made: u64,
}

/// Where a path leads. Whoever uses this looks whether the name is still what it was.
#[derive(Debug)]
pub struct LookedUp {
    pub(super) place: Option<Place>,
    pub(super) made: u64,
}

impl Lookup {
    /// Where a path leads. It waits for the disk.
    ///
    /// # Errors
    /// STATUS_OBJECT_PATH_NOT_FOUND, STATUS_OBJECT_NAME_INVALID, or whatever keeps the path from being looked up.
    pub fn look_up(&self, path: &SharePath) -> FileResult<LookedUp> {
        let place = place(&self.root, path, self.is_case_sensitive)?;
        Ok(LookedUp { place, made: self.made })
    }
}
