//! Names are looked up beside all else: looking for other capitals takes time in proportion to a directory.

use std::ffi::OsString;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use smbd_smb2::server::{FileResult, SharePath};
use smbd_smb2::wire::NtStatus;

use super::beneath::{Key, Place, open, stat};
use super::capitals::{Capitals, Miss};
use super::{names, status};

/// Looks up names of a [`Folder`](super::Folder), while others use the folder.
#[derive(Clone, Debug)]
pub(crate) struct Lookup {
    pub(super) root: Arc<OwnedFd>,
    /// None: names in other capitals are other names.
    pub(super) capitals: Option<Arc<Capitals>>,
    /// Number of this look.
    pub(super) since: u64,
    /// How many names were made before.
    pub(super) made: u64,
}

/// Where a path leads. Whoever uses this looks whether the name is still what it was.
#[derive(Debug)]
pub(crate) struct LookedUp {
    /// The name as it is on the host, if it is there. None: the root.
    pub(super) place: Option<Place>,
    /// The name in the capitals of the path.
    pub(super) exact: OsString,
    pub(super) made: u64,
}

impl Lookup {
    /// Where a path leads. It waits for the disk. Directories of more than 1024 entries are read for names in other capitals only if `reads`:
    /// None if one has to be read, and was not read since this look began.
    ///
    /// # Errors
    /// STATUS_OBJECT_PATH_NOT_FOUND, STATUS_OBJECT_NAME_INVALID, or whatever keeps the path from being looked up.
    pub(super) fn look_up(&self, path: &SharePath, reads: bool) -> FileResult<Option<LookedUp>> {
        match self.place(path, reads) {
            Ok(looked_up) => Ok(Some(looked_up)),
            Err(Miss::Unread) => Ok(None),
            Err(Miss::Status(status)) => Err(status),
        }
    }

    fn place(&self, path: &SharePath, reads: bool) -> Result<LookedUp, Miss> {
        let hosts: Option<Vec<String>> = path.components().map(names::to_host).collect();
        let hosts = hosts.ok_or(NtStatus::OBJECT_NAME_INVALID)?;
        let Some((last, parents)) = hosts.split_last() else {
            return Ok(LookedUp { place: None, exact: OsString::new(), made: self.made });
        };
        let parent = if parents.is_empty() {
            Arc::clone(&self.root)
        } else {
            Arc::new(self.directory(parents, reads)?)
        };
        let parent_key = Key::of(&stat(&parent)?);
        let exact = OsString::from(last);
        let mut place = Place { parent, parent_key, name: exact.clone() };
        if self.capitals.is_some()
            && place.stat()?.is_none()
            && let Some(name) = self.in_other_capitals(&*place.parent, last, reads)?
        {
            place.name = name;
        }
        Ok(LookedUp { place: Some(place), exact, made: self.made })
    }

    /// The directory of these names.
    fn directory(&self, names: &[String], reads: bool) -> Result<OwnedFd, Miss> {
        const FLAGS: OFlags = OFlags::PATH.union(OFlags::DIRECTORY);
        match open(&self.root, names.join("/"), FLAGS, Mode::empty()) {
            Err(Errno::NOENT) if self.capitals.is_some() => {}
            opened => return Ok(opened.map_err(status::of_path)?),
        }
        // One after the other, each in the capitals that it has.
        let mut at: Option<OwnedFd> = None;
        for name in names {
            let from = at.as_ref().map_or_else(|| self.root.as_fd(), AsFd::as_fd);
            let opened = match open(from, name.as_str(), FLAGS, Mode::empty()) {
                Err(Errno::NOENT) => {
                    let other = self.in_other_capitals(from, name, reads)?;
                    open(from, other.ok_or(NtStatus::OBJECT_PATH_NOT_FOUND)?, FLAGS, Mode::empty())
                }
                opened => opened,
            };
            at = Some(opened.map_err(status::of_path)?);
        }
        Ok(at.ok_or(NtStatus::OBJECT_PATH_NOT_FOUND)?)
    }

    fn in_other_capitals(
        &self,
        directory: impl AsFd,
        name: &str,
        reads: bool,
    ) -> Result<Option<OsString>, Miss> {
        let Some(capitals) = &self.capitals else { return Ok(None) };
        capitals.find(directory.as_fd(), name, self.since, reads)
    }
}
