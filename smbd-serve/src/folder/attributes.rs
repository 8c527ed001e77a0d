//! What is known of a file of the host, as clients see it.

use std::os::fd::AsFd;

use rustix::fs::{
    FileType, Mode, Statx, StatxFlags, StatxTimestamp, Timespec, Timestamps, UTIME_OMIT, futimens,
};
use rustix::io;
use smbd_smb2::server::Attributes;
use smbd_smb2::wire::FileAttributes;

use super::beneath::Key;
use crate::brief::may_wait;

/// From 1601 to 1970, in seconds.
const EPOCH: i64 = 11_644_473_600;
/// FILETIMEs of a second: 100 ns each.
const PER_SECOND: i64 = 10_000_000;
/// A file that nobody may write.
const WRITE_BITS: Mode = Mode::WUSR.union(Mode::WGRP).union(Mode::WOTH);

/// What clients may see of a file: all but files and directories are nothing to them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    File,
    Directory,
    /// A link, a device, a pipe or a socket.
    Other,
}

pub(super) fn kind(stat: &Statx) -> Kind {
    match FileType::from_raw_mode(stat.stx_mode.into()) {
        FileType::RegularFile => Kind::File,
        FileType::Directory => Kind::Directory,
        _ => Kind::Other,
    }
}

/// Whether a file is shown as one that cannot be written.
pub(super) fn is_read_only(stat: &Statx) -> bool {
    kind(stat) == Kind::File && !Mode::from_raw_mode(stat.stx_mode.into()).intersects(WRITE_BITS)
}

/// The mode of a file that can be written, or cannot.
pub(super) fn with_read_only(stat: &Statx, read_only: bool) -> Mode {
    let mode = Mode::from_raw_mode(stat.stx_mode.into());
    if read_only { mode - WRITE_BITS } else { mode | Mode::WUSR }
}

/// As a client sees it. `root` tells which device needs no mark in the id.
pub(super) fn attributes(stat: &Statx, root: Key, is_delete_pending: bool) -> Attributes {
    let is_directory = kind(stat) == Kind::Directory;
    let key = Key::of(stat);
    let mark = if key.device == root.device {
        0
    } else {
        u64::from(key.device.0) << 52 | u64::from(key.device.1) << 32
    };
    let of = |time: StatxTimestamp| filetime(time.tv_sec, time.tv_nsec);
    let (written, changed) = (of(stat.stx_mtime), of(stat.stx_ctime));
    let has_born = stat.stx_mask & StatxFlags::BTIME.bits() != 0;
    let shown = if is_directory { FileAttributes::DIRECTORY } else { FileAttributes::ARCHIVE };
    Attributes {
        id: key.inode ^ mark,
        // Without one, as old as it is known to be.
        creation_time: if has_born { of(stat.stx_btime) } else { written.min(changed) },
        last_access_time: of(stat.stx_atime),
        last_write_time: written,
        change_time: changed,
        allocation_size: if is_directory { 0 } else { stat.stx_blocks.saturating_mul(512) },
        end_of_file: if is_directory { 0 } else { stat.stx_size },
        file_attributes: shown.with(FileAttributes::READONLY, is_read_only(stat)),
        links: if is_directory { 1 } else { stat.stx_nlink },
        is_delete_pending,
    }
}

fn filetime(seconds: i64, nanoseconds: u32) -> u64 {
    let whole = seconds.saturating_add(EPOCH).saturating_mul(PER_SECOND);
    u64::try_from(whole.saturating_add(i64::from(nanoseconds / 100))).unwrap_or(0)
}

/// Times of a file that are set; `None` stays.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Times {
    pub(super) access: Option<Timespec>,
    pub(super) write: Option<Timespec>,
}

impl Times {
    /// Sets them.
    pub(super) fn set(&self, file: impl AsFd) -> io::Result<()> {
        const STAYS: Timespec = Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT };
        if self.access.is_none() && self.write.is_none() {
            return Ok(());
        }
        let times = Timestamps {
            last_access: self.access.unwrap_or(STAYS),
            last_modification: self.write.unwrap_or(STAYS),
        };
        may_wait();
        futimens(file, &times)
    }
}

/// A time of the host as it is set again.
pub(super) fn again(time: StatxTimestamp) -> Timespec {
    Timespec { tv_sec: time.tv_sec, tv_nsec: time.tv_nsec.into() }
}

/// A FILETIME as the host has it.
pub(super) fn timespec(time: u64) -> Timespec {
    let time = i64::try_from(time).unwrap_or(i64::MAX);
    Timespec {
        tv_sec: time.div_euclid(PER_SECOND).saturating_sub(EPOCH),
        tv_nsec: time.rem_euclid(PER_SECOND).saturating_mul(100),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_time_comes_back_as_it_was_set(time in 1..i64::MAX as u64 / 2) {
            let set = timespec(time);
            prop_assert!((0..1_000_000_000).contains(&set.tv_nsec));
            prop_assert_eq!(filetime(set.tv_sec, set.tv_nsec as u32), time);
        }
    }

    #[test]
    fn a_time_before_1601_is_none() {
        assert_eq!(filetime(-20_000_000_000, 0), 0);
    }
}
