//! Entries of a directory, a few at a time.

use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Mutex, PoisonError};

use rustix::fs::{RawDir, SeekFrom, Statx, seek};
use rustix::io::Errno;
use smbd_smb2::server::{Entry, FileResult};
use smbd_smb2::wire::NtStatus;

use super::attributes::{Kind, attributes, kind};
use super::beneath::{self, Key};
use super::{FolderFile, names, status};
use crate::brief::may_wait;

/// Positions of `.` and `..`. All others are behind them, in the order in which the host has them.
const DOTS: [&str; 2] = [".", ".."];
/// The most bytes of names that an enumeration keeps, and those of entries that the host tells at once: an open directory has both.
const AHEAD_MAX: usize = 8 << 10;
const STEP: usize = 4 << 10;
/// The most bytes of a name of the host, with a zero.
const NAME_MAX: usize = 256;

/// An enumeration of a directory, which is read through the descriptor by which it is open. It holds what was read from the host and not
/// yet passed by, up to [`AHEAD_MAX`].
#[derive(Debug)]
pub(super) struct Listing {
    /// Entries behind this position, and behind all later ones, can still be told.
    reach: u64,
    /// Names that were or will be told, one after the other, each with a zero behind it.
    ahead: Vec<u8>,
    /// Position of the first of them, and of the last name that has one.
    first: u64,
    last: u64,
    /// Names without a position yet, in the same form.
    read: Vec<u8>,
}

impl Listing {
    fn new(directory: impl AsFd) -> FileResult<Self> {
        seek(directory, SeekFrom::Start(0)).map_err(status::of)?;
        let last = DOTS.len() as u64;
        Ok(Self { reach: 0, ahead: Vec::new(), first: last.saturating_add(1), last, read: Vec::new() })
    }

    /// Forgets names up to a position.
    fn pass(&mut self, after: u64) {
        self.reach = self.reach.max(after);
        let passed =
            usize::try_from(self.reach.saturating_add(1).saturating_sub(self.first)).unwrap_or(usize::MAX);
        let lens = self.ahead.split_inclusive(|byte| *byte == 0).take(passed).map(<[u8]>::len);
        let (count, len) = lens.fold((0, 0), |(count, len): (u64, usize), more| (count + 1, len + more));
        self.ahead.drain(..len);
        self.first = self.first.saturating_add(count);
    }

    /// Forgets all names that have a position: none of them can be told.
    fn pass_all(&mut self) {
        self.ahead.clear();
        self.first = self.last.saturating_add(1);
    }

    /// The next name gets its position, and is ahead unless it is passed by. False at the end, or without room.
    fn next(&mut self, directory: BorrowedFd<'_>) -> FileResult<bool> {
        if self.ahead.len() >= AHEAD_MAX || (self.read.is_empty() && !self.step(directory)?) {
            return Ok(false);
        }
        let len =
            self.read.iter().position(|byte| *byte == 0).map_or(self.read.len(), |len| len.saturating_add(1));
        self.ahead.reserve_exact(AHEAD_MAX.saturating_add(NAME_MAX).saturating_sub(self.ahead.len()));
        self.ahead.extend(self.read.drain(..len));
        self.last = self.last.saturating_add(1);
        if self.last <= self.reach {
            self.pass_all();
        }
        Ok(true)
    }

    /// Reads names from the host. Returns whether there are some.
    fn step(&mut self, directory: BorrowedFd<'_>) -> FileResult<bool> {
        let mut buffer = [MaybeUninit::uninit(); STEP];
        may_wait();
        self.read.reserve_exact(STEP);
        while self.read.is_empty() {
            let mut entries = RawDir::new(directory, &mut buffer);
            let mut is_end = true;
            while let Some(entry) = entries.next() {
                let entry = match entry {
                    // The directory has gone.
                    Err(Errno::NOENT) => break,
                    entry => entry.map_err(status::of)?,
                };
                is_end = false;
                let name = entry.file_name();
                if names::to_share(name.to_bytes()).is_some() {
                    self.read.extend_from_slice(name.to_bytes_with_nul());
                }
                if entries.is_buffer_empty() {
                    break;
                }
            }
            if is_end {
                // Nothing more is kept for it.
                self.read = Vec::new();
                self.ahead.shrink_to_fit();
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Bytes that it keeps.
    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        self.ahead.capacity() + self.read.capacity()
    }
}

/// Up to `max` entries behind a position, of an open directory; others that list it with the same open wait.
pub(super) fn list(
    listing: &Mutex<Option<Listing>>,
    directory: &FolderFile,
    root: Key,
    after: u64,
    max: usize,
) -> FileResult<Vec<Entry>> {
    if kind(&beneath::stat(&directory.fd)?) != Kind::Directory {
        return Err(NtStatus::NOT_A_DIRECTORY);
    }
    let mut listing = listing.lock().unwrap_or_else(PoisonError::into_inner);
    entries(&mut listing, directory.fd.as_fd(), (root, directory.key), after, max)
}

/// Up to `max` entries behind a position: files and directories that can be told.
fn entries(
    listing: &mut Option<Listing>,
    directory: BorrowedFd<'_>,
    (root, own): (Key, Key),
    after: u64,
    max: usize,
) -> FileResult<Vec<Entry>> {
    let mut entries = Vec::new();
    for (name, position) in DOTS.into_iter().zip(1..) {
        if position > after && entries.len() < max {
            let stat = if name == ".." && own != root {
                beneath::stat_entry(directory, c"..").map_err(status::of)?
            } else {
                beneath::stat(directory)?
            };
            entries.push(Entry { name: name.into(), attributes: attributes(&stat, root, false), position });
        }
    }
    // From the beginning, or from where no name is known any more.
    if after == 0 || listing.as_ref().is_none_or(|listing| after < listing.reach) {
        *listing = Some(Listing::new(directory)?);
    }
    let Some(listing) = listing else { return Ok(entries) };
    // Names stay until a request comes from behind them: what had no room is asked for again.
    listing.pass(after);
    let (mut at, mut position) = (0, listing.first);
    while entries.len() < max {
        if at >= listing.ahead.len() && !listing.next(directory)? {
            if listing.ahead.is_empty() || !entries.is_empty() {
                break;
            }
            // All names for which there was room are seen by nobody.
            listing.pass_all();
        }
        if listing.ahead.is_empty() {
            (at, position) = (0, listing.first);
            continue;
        }
        let Ok(name) = CStr::from_bytes_until_nul(listing.ahead.get(at..).unwrap_or_default()) else { break };
        at = at.saturating_add(name.count_bytes()).saturating_add(1);
        if let Some((name, stat)) = shown(directory, name) {
            entries.push(Entry { name, attributes: attributes(&stat, root, false), position });
        }
        position = position.saturating_add(1);
    }
    Ok(entries)
}

/// What clients see of an entry, if they see it, and it has not gone in the meantime.
fn shown(directory: impl AsFd, name: &CStr) -> Option<(String, Statx)> {
    let shown = names::to_share(name.to_bytes())?;
    let stat = beneath::stat_entry(directory, name).ok()?;
    (kind(&stat) != Kind::Other).then_some((shown, stat))
}
