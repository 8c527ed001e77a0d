//! A file system in memory.

mod change;
mod data;
mod open;
mod tree;

use alloc::string::ToString;
use alloc::vec::Vec;

use self::data::Store;
use self::tree::Body;
use super::action::{Change, OpenParameters};
use super::file::{Attributes, Entry, Volume};
use super::files::{FileResult, FileSystem};
use crate::wire::{CreateAction, FileAttributes, LockElement, LockFlags, NtStatus};

/// Bytes of a unit of allocation.
const UNIT: u32 = 4096;
/// What it can hold unless something else is said, in bytes.
const CAPACITY: u64 = 256 << 20;

/// A file system in memory: for tests, and for whoever has nothing to keep.
///
/// It has a limit of bytes and of files. Names keep their capitals, and are found in any. There are no links and no streams.
#[derive(Debug)]
pub struct Memory {
    store: Store,
}

/// A file of [`Memory`] that is open.
#[derive(Debug, PartialEq, Eq)]
pub struct MemoryFile(u64);

impl Memory {
    /// An empty one of 256 MiB. `now` is a FILETIME.
    #[must_use]
    pub fn new(label: &str, now: u64) -> Self {
        Self::with_capacity(label, now, CAPACITY)
    }

    /// An empty one that holds so many bytes of data.
    #[must_use]
    pub fn with_capacity(label: &str, now: u64, capacity: u64) -> Self {
        Self { store: Store::new(label.to_string(), now, capacity) }
    }

    /// Bytes of data in all files.
    #[must_use]
    pub const fn used(&self) -> u64 {
        self.store.used
    }
}

impl FileSystem for Memory {
    type File = MemoryFile;

    fn open(&mut self, parameters: &OpenParameters, now: u64) -> FileResult<(MemoryFile, CreateAction)> {
        open::open(&mut self.store, parameters, now).map(|(id, action)| (MemoryFile(id), action))
    }

    fn close(&mut self, file: MemoryFile, now: u64) {
        open::close(&mut self.store, file.0, now);
    }

    fn attributes(&self, file: &MemoryFile) -> FileResult<Attributes> {
        let (id, node) = self.store.node_of(file.0)?;
        Ok(self.store.attributes(id, node))
    }

    fn read(&mut self, file: &MemoryFile, offset: u64, into: &mut [u8]) -> FileResult<usize> {
        let (_, node) = self.store.node_of(file.0)?;
        let Body::File { data, locks } = &node.body else { return Err(NtStatus::INVALID_DEVICE_REQUEST) };
        if !locks.may_read(file.0, offset, into.len() as u64) {
            return Err(NtStatus::FILE_LOCK_CONFLICT);
        }
        let offset = usize::try_from(offset).unwrap_or(usize::MAX);
        let data = data.get(offset..).unwrap_or_default();
        into.iter_mut().zip(data).for_each(|(to, from)| *to = *from);
        Ok(data.len().min(into.len()))
    }

    fn write(&mut self, file: &MemoryFile, offset: u64, data: &[u8], _: bool, now: u64) -> FileResult<()> {
        let (_, node) = self.store.node_of(file.0)?;
        let Body::File { data: old, locks } = &node.body else {
            return Err(NtStatus::INVALID_DEVICE_REQUEST);
        };
        let end = offset.checked_add(data.len() as u64).ok_or(NtStatus::DISK_FULL)?;
        if !locks.may_write(offset, data.len() as u64, file.0) {
            return Err(NtStatus::FILE_LOCK_CONFLICT);
        }
        if end > old.len() as u64 && !data.is_empty() {
            change::resize(&mut self.store, file.0, end)?;
        }
        let node = self.store.node_of_mut(file.0)?;
        if let Body::File { data: old, .. } = &mut node.body {
            let at = usize::try_from(offset).unwrap_or(usize::MAX);
            let room = old.get_mut(at..).unwrap_or_default();
            room.iter_mut().zip(data).for_each(|(to, from)| *to = *from);
        }
        self.store.written(file.0, now)
    }

    fn flush(&mut self, _: &MemoryFile) -> FileResult<()> {
        Ok(())
    }

    fn list(&mut self, file: &MemoryFile, after: u64, max: usize) -> FileResult<Vec<Entry>> {
        let (id, node) = self.store.node_of(file.0)?;
        let Body::Directory(directory) = &node.body else { return Err(NtStatus::NOT_A_DIRECTORY) };
        // `.` is at 1, `..` at 2, and all others are behind them, in the order in which they were made.
        let dots =
            [(".", id, 1), ("..", node.parent, 2)].into_iter().filter(|(.., position)| *position > after);
        let dots = dots.map(|(name, id, position)| (name.to_string(), id, position));
        let first = after.saturating_sub(2).saturating_add(1);
        let names = directory.by_id.range(first..);
        let names = names.map(|(id, name)| (name.clone(), *id, id.saturating_add(2)));
        let all = dots.chain(names).take(max);
        let entries = all.filter_map(|(name, id, position)| {
            let attributes = self.store.attributes(id, self.store.nodes.get(&id)?);
            Some(Entry { name, attributes, position })
        });
        Ok(entries.collect())
    }

    fn change(&mut self, file: &MemoryFile, change: &Change, now: u64) -> FileResult<()> {
        change::change(&mut self.store, file.0, change, now)
    }

    fn lock(&mut self, file: &MemoryFile, range: &LockElement) -> FileResult<()> {
        let Body::File { locks, .. } = &mut self.store.node_of_mut(file.0)?.body else {
            return Err(NtStatus::INVALID_PARAMETER);
        };
        locks.lock(file.0, range.offset, range.length, range.flags.contains(LockFlags::EXCLUSIVE_LOCK))
    }

    fn unlock(&mut self, file: &MemoryFile, range: &LockElement) -> FileResult<()> {
        let Body::File { locks, .. } = &mut self.store.node_of_mut(file.0)?.body else {
            return Err(NtStatus::INVALID_PARAMETER);
        };
        locks.unlock(file.0, range.offset, range.length)
    }

    fn volume(&self) -> Volume {
        let units = |bytes: u64| bytes.checked_div(UNIT.into()).unwrap_or(0);
        Volume {
            label: self.store.label.clone(),
            serial: 0x5B_2D_01_00,
            creation_time: self.store.created,
            unit: UNIT,
            total_units: units(self.store.capacity),
            free_units: units(self.store.capacity.saturating_sub(self.store.used)),
        }
    }
}

/// What a new file has of the attributes that a client gave it.
const fn kept(attributes: FileAttributes) -> FileAttributes {
    attributes.with(FileAttributes(FileAttributes::NORMAL.0 | FileAttributes::DIRECTORY.0), false)
}
