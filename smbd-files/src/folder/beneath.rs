//! Files of a directory, and none outside of it.
//!
//! Each name is looked up by `openat2` with RESOLVE_BENEATH, RESOLVE_NO_MAGICLINKS and RESOLVE_NO_SYMLINKS, relative to a directory that
//! is open. So the kernel sees to it that no link and no `..` leads anywhere, whatever else changes the folder meanwhile.

use std::ffi::OsString;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::sync::Arc;

use rustix::fs::{AtFlags, Dir, Mode, OFlags, ResolveFlags, Statx, StatxFlags, openat2, statx};
use rustix::io::Errno;
use smbd_smb2::security::capital;
use smbd_smb2::server::{FileResult, SharePath};
use smbd_smb2::wire::NtStatus;

use super::{names, status};

/// The most entries that are looked at for a name in other capitals.
const ENTRIES_MAX: usize = 1 << 16;
/// What each open has, and what those have that are more than a name: a pipe does not hold up.
const ALWAYS: OFlags = OFlags::CLOEXEC.union(OFlags::NOFOLLOW);
const OF_FILES: OFlags = OFlags::NOCTTY.union(OFlags::NONBLOCK);

/// What tells a file from all others of the host, as long as it is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    /// Major and minor number of its device.
    pub(super) device: (u32, u32),
    pub(super) inode: u64,
}

impl Key {
    pub(super) const fn of(stat: &Statx) -> Self {
        Self { device: (stat.stx_dev_major, stat.stx_dev_minor), inode: stat.stx_ino }
    }
}

/// A name in a directory.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub(super) parent: Arc<OwnedFd>,
    pub(super) parent_key: Key,
    pub(super) name: OsString,
}

impl Place {
    pub(super) fn is(&self, other: &Self) -> bool {
        self.parent_key == other.parent_key && self.name == other.name
    }

    /// What is there, if something is. Links are not followed.
    pub(super) fn stat(&self) -> FileResult<Option<Statx>> {
        match statx(&self.parent, self.name.as_os_str(), AtFlags::SYMLINK_NOFOLLOW, MASK) {
            Ok(stat) => Ok(Some(stat)),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(status::of(error)),
        }
    }

    /// Opens or makes what has this name.
    pub(super) fn open(&self, flags: OFlags, mode: Mode) -> Result<OwnedFd, Errno> {
        open(&self.parent, self.name.as_os_str(), flags, mode)
    }
}

/// What has to be known of a file.
const MASK: StatxFlags = StatxFlags::BASIC_STATS.union(StatxFlags::BTIME);

/// What is known of an open file.
pub(super) fn stat(file: impl AsFd) -> FileResult<Statx> {
    statx(file, c"", AtFlags::EMPTY_PATH, MASK).map_err(status::of)
}

/// What is known of an entry of a directory.
pub(super) fn stat_entry(directory: impl AsFd, name: &std::ffi::CStr) -> Result<Statx, Errno> {
    statx(directory, name, AtFlags::SYMLINK_NOFOLLOW, MASK)
}

/// Opens a name beneath a directory.
pub(super) fn open(
    directory: impl AsFd,
    name: impl rustix::path::Arg,
    flags: OFlags,
    mode: Mode,
) -> Result<OwnedFd, Errno> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS | ResolveFlags::NO_SYMLINKS;
    let more = if flags.contains(OFlags::PATH) { OFlags::empty() } else { OF_FILES };
    openat2(directory, name, flags | ALWAYS | more, mode, resolve)
}

/// The entries of a directory, whatever it was opened for.
pub(super) fn entries(directory: impl AsFd) -> FileResult<Dir> {
    let opened = open(directory, c".", OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty());
    opened.and_then(Dir::new).map_err(status::of)
}

/// Where a path leads: to a name in a directory. None for the root.
pub(super) fn place(
    root: &Arc<OwnedFd>,
    path: &SharePath,
    is_case_sensitive: bool,
) -> FileResult<Option<Place>> {
    let hosts: Option<Vec<String>> = path.components().map(names::to_host).collect();
    let hosts = hosts.ok_or(NtStatus::OBJECT_NAME_INVALID)?;
    let Some((last, parents)) = hosts.split_last() else { return Ok(None) };
    let parent = if parents.is_empty() {
        Arc::clone(root)
    } else {
        Arc::new(directory(root, parents, is_case_sensitive)?)
    };
    let parent_key = Key::of(&stat(&parent)?);
    let name = OsString::from(last);
    let place = Place { parent, parent_key, name };
    if is_case_sensitive || place.stat()?.is_some() {
        return Ok(Some(place));
    }
    let name = in_other_capitals(&place.parent, last)?.unwrap_or_else(|| place.name.clone());
    Ok(Some(Place { name, ..place }))
}

/// The directory of these names.
fn directory(root: &Arc<OwnedFd>, names: &[String], is_case_sensitive: bool) -> FileResult<OwnedFd> {
    const FLAGS: OFlags = OFlags::PATH.union(OFlags::DIRECTORY);
    match open(root, names.join("/"), FLAGS, Mode::empty()) {
        Err(Errno::NOENT) if !is_case_sensitive => {}
        opened => return opened.map_err(status::of_path),
    }
    // One after the other, each in the capitals that it has.
    let mut at: Option<OwnedFd> = None;
    for name in names {
        let from = at.as_ref().map_or_else(|| root.as_fd(), AsFd::as_fd);
        let opened = match open(from, name.as_str(), FLAGS, Mode::empty()) {
            Err(Errno::NOENT) => {
                let other = in_other_capitals(from, name)?.ok_or(NtStatus::OBJECT_PATH_NOT_FOUND)?;
                open(from, other, FLAGS, Mode::empty())
            }
            opened => opened,
        };
        at = Some(opened.map_err(status::of_path)?);
    }
    at.ok_or(NtStatus::OBJECT_PATH_NOT_FOUND)
}

/// The name of an entry that differs in its capitals only; the first of them by its bytes, if there are several.
fn in_other_capitals(directory: impl AsFd, name: &str) -> FileResult<Option<OsString>> {
    let capitals = capital(name);
    let mut found: Option<Vec<u8>> = None;
    for entry in entries(directory)?.take(ENTRIES_MAX) {
        let entry = entry.map_err(status::of)?;
        let bytes = entry.file_name().to_bytes();
        let is_it = names::same_in_capitals(bytes, name, &capitals);
        if is_it && found.as_deref().is_none_or(|found| bytes < found) {
            found = Some(bytes.to_vec());
        }
    }
    // Its characters are those that clients may use, but it could still be shown to nobody.
    Ok(found.map(OsString::from_vec).filter(|name| names::to_share(name.as_bytes()).is_some()))
}
