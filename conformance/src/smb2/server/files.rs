//! The files of the share: one folder of files, in memory.

use std::collections::BTreeMap;

use thiserror::Error;

/// Files that a share has at most, the folder not counted.
pub const FILES_MAX: usize = 4096;
/// Bytes that all files together have in memory at most: 256 MiB. Files can be longer; what was never written takes none.
pub const STORED_MAX: u64 = 256 << 20;
/// Length of a file at most, in bytes: what a signed number of 64 bits holds (MS-FSCC 2.4.13).
pub const LEN_MAX: u64 = i64::MAX as u64;
/// Length of a name at most, in UTF-16 units.
pub const NAME_MAX: usize = 255;

/// Where the folder is.
pub(super) const ROOT: u64 = 1;
/// Characters that are no part of a name (MS-FSCC 2.1.5).
const NOT_IN_NAMES: [char; 9] = ['"', '\\', '/', ':', '|', '<', '>', '*', '?'];

/// Why a file cannot be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum FileError {
    /// It would be more than [`FILES_MAX`], [`STORED_MAX`] or [`LEN_MAX`].
    #[error(
        "the share has room for {FILES_MAX} files of {LEN_MAX} bytes each and {STORED_MAX} written bytes together"
    )]
    Full,
    /// It has the name of a folder's entry that exists.
    #[error("a file of this name exists")]
    Exists,
    /// No file has this name, or it has gone.
    #[error("there is no such file")]
    Missing,
    /// The name is empty, too long, or has characters that no name has.
    #[error("a name has 1 to {NAME_MAX} UTF-16 units, no control characters and none of \" \\ / : | < > * ?")]
    Name,
}

/// Times of a file, in units of 100 ns since 1601-01-01 UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Times {
    pub(super) created: u64,
    pub(super) accessed: u64,
    pub(super) written: u64,
    pub(super) changed: u64,
}

/// What a file is besides its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Facts {
    /// The file's number, which no other ever has.
    pub(super) number: u64,
    /// Bytes.
    pub(super) len: u64,
    pub(super) times: Times,
    /// Names.
    pub(super) links: u32,
    pub(super) is_folder: bool,
}

#[derive(Clone, Debug)]
struct Node {
    /// At most as long as the file; the rest is zeros.
    data: Vec<u8>,
    len: u64,
    times: Times,
    links: u32,
}

/// A folder of files in memory.
///
/// A file can be longer than what was written of it: the rest is zeros and takes no memory.
#[derive(Clone, Debug)]
pub struct Files {
    nodes: BTreeMap<u64, Node>,
    names: BTreeMap<String, u64>,
    next: u64,
    now: u64,
}

impl Default for Files {
    fn default() -> Self {
        // 2026-01-01.
        let now = 134_116_992_000_000_000;
        let times = Times { created: now, accessed: now, written: now, changed: now };
        let root = Node { data: Vec::new(), len: 0, times, links: 1 };
        Self { nodes: BTreeMap::from([(ROOT, root)]), names: BTreeMap::new(), next: ROOT + 1, now }
    }
}

impl Files {
    /// An empty folder.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a file with these contents, or gives the file of this name these contents.
    ///
    /// # Errors
    /// The name is none, or there is no room.
    pub fn put(&mut self, name: &str, contents: &[u8]) -> Result<(), FileError> {
        let number = self.find_or_create(name)?;
        self.set_len(number, 0)?;
        self.write(number, 0, contents)
    }

    /// Adds a file of `len` zeros, which takes no memory, or makes the file of this name one.
    ///
    /// # Errors
    /// The name is none, or there is no room for another file.
    pub fn put_zeros(&mut self, name: &str, len: u64) -> Result<(), FileError> {
        let number = self.find_or_create(name)?;
        self.set_len(number, 0)?;
        self.set_len(number, len)
    }

    /// What was written of a file. It may be longer: what is behind is zeros.
    #[must_use]
    pub fn written(&self, name: &str) -> Option<&[u8]> {
        Some(&self.nodes.get(self.names.get(name)?)?.data)
    }

    /// The length of a file in bytes.
    #[must_use]
    pub fn len_of(&self, name: &str) -> Option<u64> {
        Some(self.nodes.get(self.names.get(name)?)?.len)
    }

    /// The names of all files, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.keys().map(String::as_str)
    }

    /// The time: it moves by one unit with each change, since nothing here has a clock.
    pub(super) const fn now(&self) -> u64 {
        self.now
    }

    const fn tick(&mut self) -> u64 {
        self.now = self.now.wrapping_add(1);
        self.now
    }

    fn find_or_create(&mut self, name: &str) -> Result<u64, FileError> {
        match self.find(name) {
            Some(number) => Ok(number),
            None => self.create(name),
        }
    }

    /// The file or folder of a name; the folder's is empty.
    pub(super) fn find(&self, name: &str) -> Option<u64> {
        if name.is_empty() { Some(ROOT) } else { self.names.get(name).copied() }
    }

    /// A new, empty file.
    pub(super) fn create(&mut self, name: &str) -> Result<u64, FileError> {
        self.can_be_named(name)?;
        if self.nodes.len() > FILES_MAX {
            return Err(FileError::Full);
        }
        let now = self.tick();
        let number = self.next;
        self.next = number.checked_add(1).ok_or(FileError::Full)?;
        let times = Times { created: now, accessed: now, written: now, changed: now };
        self.nodes.insert(number, Node { data: Vec::new(), len: 0, times, links: 1 });
        self.names.insert(name.to_owned(), number);
        Ok(number)
    }

    fn can_be_named(&self, name: &str) -> Result<(), FileError> {
        let units = name.encode_utf16().count();
        let is_bad = |c: char| c.is_control() || NOT_IN_NAMES.contains(&c);
        if !(1..=NAME_MAX).contains(&units) || [".", ".."].contains(&name) || name.contains(is_bad) {
            return Err(FileError::Name);
        }
        match self.names.get(name) {
            Some(_) => Err(FileError::Exists),
            None if self.names.len() >= FILES_MAX => Err(FileError::Full),
            None => Ok(()),
        }
    }

    /// Another name for a file.
    pub(super) fn link(&mut self, number: u64, name: &str, replace: bool) -> Result<(), FileError> {
        if self.names.get(name) == Some(&number) {
            return Ok(());
        }
        match self.can_be_named(name) {
            Err(FileError::Exists) if replace => self.unlink(name),
            other => other?,
        }
        let now = self.tick();
        let node = self.nodes.get_mut(&number).ok_or(FileError::Missing)?;
        node.links = node.links.saturating_add(1);
        node.times.changed = now;
        self.names.insert(name.to_owned(), number);
        Ok(())
    }

    /// Takes a name away. The file stays until [`forget`](Self::forget).
    pub(super) fn unlink(&mut self, name: &str) {
        let now = self.tick();
        if let Some(number) = self.names.remove(name)
            && let Some(node) = self.nodes.get_mut(&number)
        {
            node.links = node.links.saturating_sub(1);
            node.times.changed = now;
        }
    }

    /// Gives the memory of a file back that has no name any more.
    pub(super) fn forget(&mut self, number: u64) {
        if self.nodes.get(&number).is_some_and(|node| node.links == 0) {
            self.nodes.remove(&number);
        }
    }

    pub(super) fn facts(&self, number: u64) -> Option<Facts> {
        let node = self.nodes.get(&number)?;
        let is_folder = number == ROOT;
        Some(Facts { number, len: node.len, times: node.times, links: node.links, is_folder })
    }

    /// Times that are not 0 are set; the time of the change is now.
    pub(super) fn set_times(&mut self, number: u64, times: Times) -> Result<(), FileError> {
        let now = self.tick();
        let own = &mut self.nodes.get_mut(&number).ok_or(FileError::Missing)?.times;
        // MS-FSCC 2.4.7: 0 changes nothing, and neither do -1 and -2 here.
        let set = |own: &mut u64, new: u64| {
            if new != 0 && new <= LEN_MAX {
                *own = new;
            }
        };
        set(&mut own.created, times.created);
        set(&mut own.accessed, times.accessed);
        set(&mut own.written, times.written);
        own.changed = now;
        Ok(())
    }

    /// Cuts or lengthens a file.
    pub(super) fn set_len(&mut self, number: u64, len: u64) -> Result<(), FileError> {
        if len > LEN_MAX || number == ROOT {
            return Err(FileError::Full);
        }
        let now = self.tick();
        let node = self.nodes.get_mut(&number).ok_or(FileError::Missing)?;
        node.len = len;
        node.data.truncate(usize::try_from(len).unwrap_or(usize::MAX));
        (node.times.written, node.times.changed) = (now, now);
        Ok(())
    }

    /// Makes a file at least so long.
    pub(super) fn reach(&mut self, number: u64, end: u64) -> Result<(), FileError> {
        let len = self.nodes.get(&number).ok_or(FileError::Missing)?.len;
        self.set_len(number, len.max(end))
    }

    /// At most `len` bytes from `offset` on; none behind the end.
    pub(super) fn read(&self, number: u64, offset: u64, len: u32) -> Result<Vec<u8>, FileError> {
        let node = self.nodes.get(&number).ok_or(FileError::Missing)?;
        let left = node.len.saturating_sub(offset).min(u64::from(len));
        let left = usize::try_from(left).unwrap_or(usize::MAX);
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        let written = node.data.get(start..).unwrap_or_default();
        let mut bytes = written.get(..left).unwrap_or(written).to_vec();
        bytes.resize(left, 0);
        Ok(bytes)
    }

    pub(super) fn write(&mut self, number: u64, offset: u64, bytes: &[u8]) -> Result<(), FileError> {
        let end = offset.checked_add(bytes.len() as u64).ok_or(FileError::Full)?;
        let stored: u64 = self.nodes.values().map(|node| node.data.len() as u64).sum();
        let node = self.nodes.get_mut(&number).filter(|_| number != ROOT).ok_or(FileError::Missing)?;
        let more = end.saturating_sub(node.data.len() as u64);
        if end > LEN_MAX || stored.saturating_add(more) > STORED_MAX {
            return Err(FileError::Full);
        }
        let start = usize::try_from(offset).map_err(|_| FileError::Full)?;
        let stop = usize::try_from(end).map_err(|_| FileError::Full)?;
        if node.data.len() < stop {
            node.data.resize(stop, 0);
        }
        if let Some(place) = node.data.get_mut(start..stop) {
            place.copy_from_slice(bytes);
        }
        self.reach(number, end)
    }
}
