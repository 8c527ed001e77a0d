//! Operations carried out at once, on anything that is a file system.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::action::{Change, Completion, Done, Handle, OpenParameters, Operation, OperationId, WriteData};
use super::file::{Attributes, Entry, Volume};
use super::status;
use crate::wire::{CreateAction, LockElement, LockFlags, NtStatus};

/// By which a driver tells its connections apart. Handles are unique within a connection only.
pub type ConnectionId = u64;

/// What came of it, or the status that the client gets.
pub type FileResult<T> = Result<T, NtStatus>;

/// Something that can be served. Everything in it is done at once: `now` is a FILETIME.
///
/// Clients of several connections use it at the same time, so it keeps what they owe each other: who shares a file (STATUS_SHARING_VIOLATION),
/// who has locked a range of it (STATUS_LOCK_NOT_GRANTED, STATUS_FILE_LOCK_CONFLICT), and which file goes when it is closed
/// (STATUS_DELETE_PENDING). Rights of the client were checked: a file that was not opened for it is neither read nor written.
pub trait FileSystem {
    /// A file that is open.
    type File;

    /// Opens or makes a file.
    ///
    /// # Errors
    /// The status of MS-FSA 2.1.5.1.
    fn open(&mut self, parameters: &OpenParameters, now: u64) -> FileResult<(Self::File, CreateAction)>;

    /// Closes a file: what it has locked is unlocked, and it goes if it is to be deleted.
    fn close(&mut self, file: Self::File, now: u64) {
        let _ = (file, now);
    }

    /// What is known of it.
    ///
    /// # Errors
    /// Whatever keeps that from being found out.
    fn attributes(&self, file: &Self::File) -> FileResult<Attributes>;

    /// Reads what is there, from `offset` bytes on. Returns the number of bytes; 0 at the end and behind it.
    ///
    /// # Errors
    /// STATUS_FILE_LOCK_CONFLICT, or whatever keeps it from being read.
    fn read(&mut self, file: &Self::File, offset: u64, into: &mut [u8]) -> FileResult<usize>;

    /// Writes all of it. `through`: it is on disk then. A file system that is only read leaves this method out.
    ///
    /// # Errors
    /// STATUS_FILE_LOCK_CONFLICT, STATUS_DISK_FULL, or whatever keeps it from being written.
    fn write(
        &mut self,
        file: &Self::File,
        offset: u64,
        data: &[u8],
        through: bool,
        now: u64,
    ) -> FileResult<()> {
        let _ = (file, offset, data, through, now);
        Err(NtStatus::MEDIA_WRITE_PROTECTED)
    }

    /// Puts on disk what was written. A file system without a disk leaves this method out.
    ///
    /// # Errors
    /// Whatever is in the way of it.
    fn flush(&mut self, file: &Self::File) -> FileResult<()> {
        let _ = file;
        Ok(())
    }

    /// Entries of a directory behind a position, `.` and `..` before all others. None behind the last. Positions rise.
    ///
    /// # Errors
    /// STATUS_NOT_A_DIRECTORY, or whatever keeps it from being read.
    fn list(&mut self, file: &Self::File, after: u64, max: usize) -> FileResult<Vec<Entry>>;

    /// Changes something. A file system that is only read leaves this method out.
    ///
    /// # Errors
    /// The status of MS-FSA 2.1.5.15.
    fn change(&mut self, file: &Self::File, change: &Change, now: u64) -> FileResult<()> {
        let _ = (file, change, now);
        Err(NtStatus::MEDIA_WRITE_PROTECTED)
    }

    /// Locks one range. A file system that knows no locks leaves this method out: each lock is granted, and keeps nobody from anything.
    ///
    /// # Errors
    /// STATUS_LOCK_NOT_GRANTED.
    fn lock(&mut self, file: &Self::File, range: &LockElement) -> FileResult<()> {
        let _ = (file, range);
        Ok(())
    }

    /// Unlocks one range.
    ///
    /// # Errors
    /// STATUS_RANGE_NOT_LOCKED.
    fn unlock(&mut self, file: &Self::File, range: &LockElement) -> FileResult<()> {
        let _ = (file, range);
        Ok(())
    }

    /// What is known of the volume.
    fn volume(&self) -> Volume;
}

/// Carries out the operations of all connections on the file systems of the shares.
#[derive(Debug)]
pub struct Files<F: FileSystem> {
    shares: Vec<F>,
    open: BTreeMap<(ConnectionId, Handle), (usize, F::File)>,
    /// Locks that could not be had yet, the oldest first.
    waiting: Vec<Waiting>,
}

#[derive(Debug)]
struct Waiting {
    connection: ConnectionId,
    id: OperationId,
    handle: Handle,
    range: LockElement,
}

impl<F: FileSystem> Files<F> {
    /// With the file systems of the shares, in the order of [`Params::shares`](super::Params::shares).
    #[must_use]
    pub const fn new(shares: Vec<F>) -> Self {
        Self { shares, open: BTreeMap::new(), waiting: Vec::new() }
    }

    /// The file systems.
    #[must_use]
    pub fn shares(&self) -> &[F] {
        &self.shares
    }

    /// How many files are open.
    #[must_use]
    pub fn open_count(&self) -> usize {
        self.open.len()
    }

    /// How many of them a connection has.
    #[must_use]
    pub fn open_count_of(&self, connection: ConnectionId) -> usize {
        self.open.range((connection, Handle(0))..=(connection, Handle(u64::MAX))).count()
    }

    /// Carries out an operation. `buffer` is that of the operation, if its data go by RDMA. Without a completion it waits for a lock:
    /// [`Connection::prolong`](super::Connection::prolong) is to be said then, and the completion comes from [`Self::retry`].
    pub fn carry_out(
        &mut self,
        connection: ConnectionId,
        id: OperationId,
        operation: Operation,
        buffer: Option<&mut Vec<u8>>,
        now: u64,
    ) -> Option<Completion> {
        Some(match operation {
            Operation::Open(handle, parameters) => self.open(connection, handle, &parameters, now),
            Operation::Close { handle, wants_attributes } => self
                .remove((connection, handle))
                .and_then(|(share, file)| close(share, file, wants_attributes, now)),
            Operation::Lock(handle, ranges) => match self.lock(connection, handle, &ranges) {
                Err(NtStatus::LOCK_NOT_GRANTED) => {
                    let waits = |range: &&LockElement| !range.flags.contains(LockFlags::FAIL_IMMEDIATELY);
                    let Some(range) = ranges.first().filter(waits) else {
                        return Some(Err(NtStatus::LOCK_NOT_GRANTED));
                    };
                    self.waiting.push(Waiting { connection, id, handle, range: *range });
                    return None;
                }
                other => other.map(|()| Done::Nothing),
            },
            Operation::Read { .. }
            | Operation::ReadChannel { .. }
            | Operation::Write { .. }
            | Operation::Flush(_)
            | Operation::Attributes(_)
            | Operation::Volume(_)
            | Operation::List { .. }
            | Operation::Change(..)
            | Operation::Unlock(..) => self
                .file((connection, operation.handle()))
                .and_then(|(share, file)| carry_out(share, file, operation, buffer, now)),
        })
    }

    fn open(
        &mut self,
        connection: ConnectionId,
        handle: Handle,
        parameters: &OpenParameters,
        now: u64,
    ) -> Completion {
        let number = parameters.share;
        let share = self.shares.get_mut(number).ok_or(NtStatus::BAD_NETWORK_NAME)?;
        let opened = share.open(parameters, now)?;
        let (file, done) = open_done(share, opened, now)?;
        self.insert((connection, handle), number, file);
        Ok(done)
    }

    /// Adds an open file of a share, from a driver that has opened it with [`FileSystem::open`] and [`open_done`] beside other operations.
    pub fn insert(&mut self, key: (ConnectionId, Handle), share: usize, file: F::File) {
        self.open.insert(key, (share, file));
    }

    /// Removes an open file, for a driver that closes it with [`close`] beside other operations.
    ///
    /// # Errors
    /// STATUS_FILE_CLOSED: there is none.
    pub fn remove(&mut self, key: (ConnectionId, Handle)) -> FileResult<(&mut F, F::File)> {
        let (share, file) = self.open.remove(&key).ok_or(NtStatus::FILE_CLOSED)?;
        Ok((self.shares.get_mut(share).ok_or(NtStatus::FILE_CLOSED)?, file))
    }

    /// Removes all open files of a connection, with their shares, and its locks that wait: as [`Self::end`], for a driver that closes files
    /// beside other operations.
    pub fn remove_all(&mut self, connection: ConnectionId) -> Vec<(usize, F::File)> {
        self.waiting.retain(|waiting| waiting.connection != connection);
        let range = (connection, Handle(0))..=(connection, Handle(u64::MAX));
        let keys: Vec<_> = self.open.range(range).map(|(key, _)| *key).collect();
        keys.iter().filter_map(|key| self.open.remove(key)).collect()
    }

    /// An open file with its file system.
    ///
    /// # Errors
    /// STATUS_FILE_CLOSED: there is none.
    pub fn file(&mut self, key: (ConnectionId, Handle)) -> FileResult<(&mut F, &F::File)> {
        let (share, file) = self.open.get(&key).ok_or(NtStatus::FILE_CLOSED)?;
        Ok((self.shares.get_mut(*share).ok_or(NtStatus::FILE_CLOSED)?, file))
    }

    /// Locks all ranges or none.
    fn lock(&mut self, connection: ConnectionId, handle: Handle, ranges: &[LockElement]) -> FileResult<()> {
        let (share, file) = self.file((connection, handle))?;
        for (at, range) in ranges.iter().enumerate() {
            if let Err(status) = share.lock(file, range) {
                // 3.3.5.14.2
                for locked in ranges.iter().take(at) {
                    share.unlock(file, locked)?;
                }
                return Err(status);
            }
        }
        Ok(())
    }

    /// Tries locks that wait, the oldest first; to be called when something was unlocked or closed. Returns those that have ended.
    pub fn retry(&mut self) -> Vec<(ConnectionId, OperationId, Completion)> {
        let mut ended = Vec::new();
        for waiting in core::mem::take(&mut self.waiting) {
            match self.lock(waiting.connection, waiting.handle, &[waiting.range]) {
                Err(NtStatus::LOCK_NOT_GRANTED) => self.waiting.push(waiting),
                other => ended.push((waiting.connection, waiting.id, other.map(|()| Done::Nothing))),
            }
        }
        ended
    }

    /// Ends a lock that waits ([`Action::Cancel`](super::Action::Cancel)), if it still does.
    pub fn cancel(&mut self, connection: ConnectionId, id: OperationId) -> Option<Completion> {
        let is_it = |waiting: &Waiting| waiting.connection == connection && waiting.id == id;
        let at = self.waiting.iter().position(is_it)?;
        self.waiting.remove(at);
        Some(Err(NtStatus::CANCELLED))
    }

    /// Closes all files of a connection ([`Action::Close`](super::Action::Close)).
    pub fn end(&mut self, connection: ConnectionId, now: u64) {
        for (share, file) in self.remove_all(connection) {
            if let Some(share) = self.shares.get_mut(share) {
                share.close(file, now);
            }
        }
    }
}

/// What a client gets for a file that was opened. One of which nothing can be known is closed.
///
/// # Errors
/// Whatever keeps its attributes from being found out.
pub fn open_done<F: FileSystem>(
    share: &mut F,
    (file, action): (F::File, CreateAction),
    now: u64,
) -> FileResult<(F::File, Done)> {
    match share.attributes(&file) {
        Ok(attributes) => Ok((file, Done::Opened { action, attributes })),
        Err(status) => {
            share.close(file, now);
            Err(status)
        }
    }
}

/// Closes a file, for [`Operation::Close`].
///
/// # Errors
/// Whatever keeps attributes that are wanted from being found out. It is closed nevertheless.
pub fn close<F: FileSystem>(share: &mut F, file: F::File, wants_attributes: bool, now: u64) -> Completion {
    let attributes = if wants_attributes { Some(share.attributes(&file)) } else { None };
    share.close(file, now);
    attributes.map_or(Ok(Done::Nothing), |attributes| attributes.map(Done::Attributes))
}

/// Carries out an operation of an open file that neither opens, closes nor locks. `buffer` is that of the operation, if its data go by RDMA.
///
/// # Errors
/// The status that the client gets.
pub fn carry_out<F: FileSystem>(
    share: &mut F,
    file: &F::File,
    operation: Operation,
    buffer: Option<&mut Vec<u8>>,
    now: u64,
) -> Completion {
    match operation {
        Operation::Read { offset, mut buffer, .. } => {
            let len = share.read(file, offset, buffer.space())?;
            buffer.truncate(len);
            Ok(Done::Read(buffer))
        }
        Operation::ReadChannel { offset, len, .. } => {
            let buffer = buffer.ok_or(NtStatus::INTERNAL_ERROR)?;
            buffer.clear();
            buffer.resize(len as usize, 0);
            let len = share.read(file, offset, buffer)?;
            buffer.truncate(len);
            u32::try_from(len).map(Done::Count).map_err(|_| NtStatus::INTERNAL_ERROR)
        }
        Operation::Write { offset, data, through, append_only, .. } => {
            if append_only && share.attributes(file)?.end_of_file > offset {
                return Err(NtStatus::ACCESS_DENIED);
            }
            let data = match (&data, &buffer) {
                (WriteData::Bytes(bytes), _) => Some(&bytes[..]),
                (WriteData::Channel(len), Some(buffer)) => buffer.get(..*len as usize),
                (WriteData::Channel(_), None) => None,
            };
            let data = data.ok_or(NtStatus::INTERNAL_ERROR)?;
            share.write(file, offset, data, through, now).map(|()| Done::Nothing)
        }
        Operation::Flush(_) => share.flush(file).map(|()| Done::Nothing),
        Operation::Attributes(_) => share.attributes(file).map(Done::Attributes),
        Operation::Volume(_) => Ok(Done::Volume(share.volume())),
        Operation::List { after, max, .. } => share.list(file, after, max).map(Done::Entries),
        Operation::Change(_, change) => share.change(file, &change, now).map(|()| Done::Nothing),
        Operation::Unlock(_, ranges) => {
            let unlock = |range: &LockElement| {
                // 3.3.5.14.1
                if range.flags != LockFlags::UNLOCK {
                    return Err(NtStatus::INVALID_PARAMETER);
                }
                status::check_range(range)?;
                share.unlock(file, range)
            };
            ranges.iter().try_for_each(unlock).map(|()| Done::Nothing)
        }
        Operation::Open(..) | Operation::Close { .. } | Operation::Lock(..) => Err(NtStatus::INTERNAL_ERROR),
    }
}
