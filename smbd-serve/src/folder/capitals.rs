//! Names of large directories by their capitals: a directory is read once, not for each name that it does not have.

use std::ffi::OsString;
use std::hash::{BuildHasher as _, RandomState};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStringExt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::fs::Statx;
use rustix::time::{ClockId, clock_gettime};
use smbd_smb2::security::capital;
use smbd_smb2::server::FileResult;
use smbd_smb2::wire::NtStatus;

use super::beneath::{self, Key};
use super::{names, status};

/// The most entries of a directory that are looked at for a name in other capitals.
const ENTRIES_MAX: usize = 1 << 16;
/// Up to so many entries a directory is read for each name: that takes less than 1 ms.
const FEW: usize = 1024;
/// The most bytes of names that are kept, of all directories of a folder. Those of one directory are 17 MiB at most.
const BYTES_MAX: usize = 32 << 20;
/// A directory changes unseen in less than this after its last change, in seconds: that is how exact file systems have their times.
const UNSEEN: i64 = 2;

/// Why a name was not looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Miss {
    /// The status that the client gets.
    Status(NtStatus),
    /// A large directory has to be read.
    Unread,
}

impl From<NtStatus> for Miss {
    fn from(status: NtStatus) -> Self {
        Self::Status(status)
    }
}

/// Names of directories that were read. Those that were not used for the longest time go first.
#[derive(Debug)]
pub(super) struct Capitals {
    hasher: RandomState,
    /// The time of the host, in seconds since 1970.
    clock: fn() -> i64,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Number of the last look or reading.
    last: u64,
    /// The one that was used last is behind all others.
    directories: Vec<Directory>,
}

#[derive(Debug)]
struct Directory {
    key: Key,
    changed: Changed,
    /// A later change has a later time.
    is_settled: bool,
    /// Number of its reading.
    number: u64,
    names: Arc<Names>,
}

/// When a directory was changed last: mtime and ctime, in seconds and nanoseconds.
type Changed = [(i64, u32); 2];

impl Default for Capitals {
    fn default() -> Self {
        Self::with(|| clock_gettime(ClockId::Realtime).tv_sec)
    }
}

impl Capitals {
    /// With another clock than the host's.
    pub(super) fn with(clock: fn() -> i64) -> Self {
        Self { hasher: RandomState::new(), clock, state: Mutex::default() }
    }

    /// A number for a look. Whatever is read from now on has a higher one.
    pub(super) fn begin(&self) -> u64 {
        self.state().next()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The name of an entry that differs in its capitals only; the first of them by its bytes, if there are several. The look began with
    /// the number `since`: whatever was there then is found. A large directory is read only if `reads`.
    pub(super) fn find(
        &self,
        directory: impl AsFd + Copy,
        name: &str,
        since: u64,
        reads: bool,
    ) -> Result<Option<OsString>, Miss> {
        let stat = beneath::stat(directory)?;
        let known = self.state().known(&stat, since);
        let names = match known {
            Some(names) => names,
            None if reads => self.read(directory, &stat)?,
            None => {
                let found = Names::default().read(&self.hasher, directory, FEW)?;
                Arc::new(found.ok_or(Miss::Unread)?)
            }
        };
        let found = names.find(&self.hasher, name);
        // Its characters are those that clients may use, but it could still be shown to nobody.
        let is_shown = |name: &&[u8]| names::to_share(name).is_some();
        Ok(found.filter(is_shown).map(|name| OsString::from_vec(name.to_vec())))
    }

    /// Reads a directory, and keeps its names.
    fn read(&self, directory: impl AsFd, stat: &Statx) -> FileResult<Arc<Names>> {
        let (number, now) = (self.state().next(), (self.clock)());
        let names = Names::default().read(&self.hasher, directory, ENTRIES_MAX)?.unwrap_or_default();
        let names = Arc::new(names);
        let changed = changed(stat);
        let is_settled = changed.iter().all(|(seconds, _)| seconds.saturating_add(UNSEEN) < now);
        let read = Directory { key: Key::of(stat), changed, is_settled, number, names: Arc::clone(&names) };
        self.state().keep(read);
        Ok(names)
    }
}

impl State {
    const fn next(&mut self) -> u64 {
        self.last = self.last.saturating_add(1);
        self.last
    }

    /// The names of a directory, if they were read after the look began, or the directory was not changed since they were.
    fn known(&mut self, stat: &Statx, since: u64) -> Option<Arc<Names>> {
        let (key, changed) = (Key::of(stat), changed(stat));
        let is_it = |known: &Directory| {
            known.key == key && (known.number > since || (known.is_settled && known.changed == changed))
        };
        let at = self.directories.iter().position(is_it)?;
        let known = self.directories.remove(at);
        let names = Arc::clone(&known.names);
        self.directories.push(known);
        Some(names)
    }

    fn keep(&mut self, read: Directory) {
        self.directories.retain(|known| known.key != read.key || known.number > read.number);
        if self.directories.iter().all(|known| known.key != read.key) {
            self.directories.push(read);
        }
        while self.bytes() > BYTES_MAX {
            self.directories.remove(0);
        }
    }

    fn bytes(&self) -> usize {
        self.directories.iter().map(|known| known.names.bytes()).sum()
    }
}

fn changed(stat: &Statx) -> Changed {
    [stat.stx_mtime, stat.stx_ctime].map(|time| (time.tv_sec, time.tv_nsec))
}

/// Names of a directory.
#[derive(Debug, Default)]
struct Names {
    /// One after the other, each with a zero behind it.
    text: Vec<u8>,
    /// Hashes of capitals, which rise, with the places of their names.
    index: Vec<(u32, u32)>,
}

impl Names {
    /// Reads up to `max` entries. None: there are more.
    fn read(mut self, hasher: &RandomState, directory: impl AsFd, max: usize) -> FileResult<Option<Self>> {
        for (count, entry) in beneath::entries(directory)?.enumerate() {
            if count >= max {
                if max < ENTRIES_MAX {
                    return Ok(None);
                }
                break;
            }
            let entry = entry.map_err(status::of)?;
            let name = entry.file_name();
            if let Some(hash) = hash(hasher, name.to_bytes()) {
                self.index.push((hash, u32::try_from(self.text.len()).unwrap_or(u32::MAX)));
                self.text.extend_from_slice(name.to_bytes_with_nul());
            }
        }
        self.index.sort_unstable();
        self.index.shrink_to_fit();
        self.text.shrink_to_fit();
        Ok(Some(self))
    }

    fn find(&self, hasher: &RandomState, name: &str) -> Option<&[u8]> {
        let (capitals, hash) = (capital(name), hash(hasher, name.as_bytes())?);
        let first = self.index.partition_point(|(known, _)| *known < hash);
        let same = self.index.get(first..)?.iter().take_while(|(known, _)| *known == hash);
        let names = same.filter_map(|(_, at)| self.text.get(*at as usize..)?.split(|byte| *byte == 0).next());
        names.filter(|host| names::same_in_capitals(host, name, &capitals)).min()
    }

    fn bytes(&self) -> usize {
        self.text.capacity().saturating_add(self.index.capacity().saturating_mul(size_of::<(u32, u32)>()))
    }
}

/// The same for all names that differ in their capitals only. None for what is no text.
fn hash(hasher: &RandomState, name: &[u8]) -> Option<u32> {
    let hash = if name.is_ascii() {
        hasher.hash_one(name.to_ascii_uppercase())
    } else {
        hasher.hash_one(capital(std::str::from_utf8(name).ok()?).into_bytes())
    };
    Some(hash as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_were_not_used_for_the_longest_time_go_when_there_are_too_many() {
        let mut state = State::default();
        let (number, changed) = (1, Changed::default());
        for inode in 0..3 {
            let key = Key { device: (0, 0), inode };
            let names = Names { text: Vec::with_capacity(BYTES_MAX / 2 - 100), index: Vec::new() };
            state.keep(Directory { key, changed, is_settled: true, number, names: Arc::new(names) });
        }
        let kept: Vec<_> = state.directories.iter().map(|known| known.key.inode).collect();
        assert_eq!(kept, [1, 2]);
        assert!(state.bytes() <= BYTES_MAX);
    }
}
