//! Entries of a directory, a few at a time.

use std::collections::VecDeque;
use std::ffi::{CStr, CString};
use std::os::fd::AsFd;

use rustix::fs::{Dir, Statx};
use smbd_smb2::server::{Entry, FileResult};

use super::attributes::{Kind, attributes, kind};
use super::beneath::{self, Key};
use super::{names, status};

/// Positions of `.` and `..`. All others are behind them, in the order in which the host has them.
const DOTS: [&str; 2] = [".", ".."];

/// An enumeration of a directory. It holds what was read from the host and not yet passed by, and no more.
#[derive(Debug)]
pub(super) struct Listing {
    directory: Dir,
    /// Names with their positions, which rise.
    ahead: VecDeque<(u64, CString)>,
    /// Position of the last name that was read.
    last: u64,
}

impl Listing {
    pub(super) fn new(directory: impl AsFd) -> FileResult<Self> {
        let directory = beneath::entries(directory)?;
        Ok(Self { directory, ahead: VecDeque::new(), last: DOTS.len() as u64 })
    }

    /// Whether names from behind this position on can still be told.
    pub(super) fn reaches(&self, after: u64) -> bool {
        let first = self.ahead.front().map_or(self.last, |(position, _)| position.saturating_sub(1));
        after >= first
    }

    /// Forgets names up to a position.
    fn pass(&mut self, after: u64) {
        while self.ahead.front().is_some_and(|(position, _)| *position <= after) {
            self.ahead.pop_front();
        }
    }

    /// The name with this place among those ahead, with its position.
    fn name(&mut self, at: usize, after: u64) -> FileResult<Option<(u64, CString)>> {
        while self.ahead.len() <= at {
            let Some(entry) = self.directory.read() else { return Ok(None) };
            let name = entry.map_err(status::of)?.file_name().to_owned();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            self.last = self.last.saturating_add(1);
            if self.last > after {
                self.ahead.push_back((self.last, name));
            }
        }
        Ok(self.ahead.get(at).cloned())
    }

    /// Forgets a name that is not told.
    fn skip(&mut self, at: usize) {
        self.ahead.remove(at);
    }
}

/// Up to `max` entries behind a position: files and directories that can be told.
pub(super) fn entries(
    listing: &mut Option<Listing>,
    directory: impl AsFd + Copy,
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
    if after == 0 || listing.as_ref().is_none_or(|listing| !listing.reaches(after)) {
        *listing = Some(Listing::new(directory)?);
    }
    let Some(listing) = listing else { return Ok(entries) };
    // Names stay until a request comes from behind them: what had no room is asked for again.
    listing.pass(after);
    let mut at = 0_usize;
    while entries.len() < max {
        let Some((position, name)) = listing.name(at, after)? else { break };
        match shown(directory, &name) {
            Some((name, stat)) => {
                entries.push(Entry { name, attributes: attributes(&stat, root, false), position });
                at = at.saturating_add(1);
            }
            None => listing.skip(at),
        }
    }
    Ok(entries)
}

/// What clients see of an entry, if they see it, and it has not gone in the meantime.
fn shown(directory: impl AsFd, name: &CStr) -> Option<(String, Statx)> {
    let shown = names::to_share(name.to_bytes())?;
    let stat = beneath::stat_entry(directory, name).ok()?;
    (kind(&stat) != Kind::Other).then_some((shown, stat))
}
