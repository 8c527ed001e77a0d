//! Files of a directory, and none outside of it.
//!
//! Each name is looked up by `openat2` with RESOLVE_BENEATH, RESOLVE_NO_MAGICLINKS and RESOLVE_NO_SYMLINKS, relative to a directory that
//! is open. So the kernel sees to it that no link and no `..` leads anywhere, whatever else changes the folder meanwhile.

use std::ffi::OsString;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use rustix::fs::{AtFlags, Dir, Mode, OFlags, ResolveFlags, Statx, StatxFlags, openat2, statx};
use rustix::io::Errno;
use smbd_smb2::server::FileResult;

use super::status;
use crate::brief::may_wait;

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
        may_wait();
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
    may_wait();
    statx(file, c"", AtFlags::EMPTY_PATH, MASK).map_err(status::of)
}

/// What is known of an entry of a directory.
pub(super) fn stat_entry(directory: impl AsFd, name: &std::ffi::CStr) -> Result<Statx, Errno> {
    may_wait();
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
    may_wait();
    openat2(directory, name, flags | ALWAYS | more, mode, resolve)
}

/// The entries of a directory, whatever it was opened for.
pub(super) fn entries(directory: impl AsFd) -> FileResult<Dir> {
    let opened = open(directory, c".", OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty());
    opened.and_then(Dir::new).map_err(status::of)
}
