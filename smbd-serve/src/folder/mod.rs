//! A folder of this host, as a file system that can be served.
//!
//! # What is in it
//!
//! Files and directories beneath the folder. Links are not followed, wherever they lead: [`Folder`] looks up no name but by `openat2`
//! with RESOLVE_BENEATH, RESOLVE_NO_MAGICLINKS and RESOLVE_NO_SYMLINKS. A link that is put in the way in the right moment leads
//! nowhere. A name is deleted or renamed if it is that of the file that is open. Linux has no call for that, and
//! programs of the host may give the name to another file in between. A file that is deleted gets a name `.smbd-deleted-` with 32 digits
//! first, and is looked at there; a file that was renamed is looked at under its new name. Another file gets its name back, unless that was
//! taken meanwhile: then it stays under the other name, as does a file if the server ends in between. What another file has replaced by a
//! rename is lost, and where the file system has no RENAME_NOREPLACE the other file is deleted. To follow links that stay
//! inside would gain little and make two places of one name. Links, devices, pipes and sockets are not shown, and cannot be opened.
//! File systems that are mounted below the folder are part of it.
//!
//! | subject | |
//! |---|---|
//! | capitals | a name is found as it is, and then in other capitals, as Windows does; [`Options::case_sensitive`] switches that off. Of a directory of more than 1024 entries, the names are read once for each change, and up to 32 MiB of names are kept; of more than 65,536 entries, others are not looked at |
//! | names | characters that Windows does not have in names are written as Linux and macOS write them over SMB; names that are not UTF-8 are not shown |
//! | attributes | READONLY is a mode without write bits; ARCHIVE is always set; others are not kept |
//! | times | of access and of writing are set, and stay through the next reads and writes of the same open (MS-FSA 2.1.5.15.2); those of creation and of change are the host's |
//! | rights | those of the process: all clients have the same. New files have mode 0666, directories 0777, less its umask |
//! | locks, sharing | among clients of this process. Programs of the host neither see nor heed them |
//! | deletion | when the last who has it open closes it; a name that has become another file's stays |
//! | space | what is free to the process; none is reserved |
//! | reads | bytes that the system has in memory are read in the task of the client (`RWF_NOWAIT`, if the file system has it), others in a thread |
//! | write through, flush | `fdatasync`, `fsync` |
//! | none | streams, extended attributes, access control lists, hard links by clients, reparse points, quotas |

mod attributes;
mod beneath;
mod capitals;
mod change;
mod claim;
mod data;
mod listing;
mod lookup;
mod names;
mod open;
mod removal;
mod reserve;
mod status;
mod table;
#[cfg(test)]
pub(crate) mod tests;
mod volume;

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use smbd_link::transport::Memory;
use smbd_smb2::security::capital;
use smbd_smb2::server::{
    Attributes, Change, Entry, FileResult, FileSystem, OpenParameters, ReadBuffer, SharePath, Volume,
};
use smbd_smb2::wire::{CreateAction, LockElement, LockFlags, NtStatus};

use self::attributes::Times;
use self::beneath::Key;
use self::capitals::Capitals;
use self::data::{Cached, Data};
use self::lookup::Lookup;
use self::table::{Opened, Table};
use crate::brief::{Brief, may_wait};
use crate::served::Served;

/// How a folder is served.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Names in other capitals are other names.
    pub case_sensitive: bool,
    /// Nothing in it is changed, whatever the server lets clients do.
    pub read_only: bool,
}

/// A folder of this host. [The module](self) says what clients see of it. Clones are the same folder: several threads use it at the same
/// time, and none of them waits for a call of the system that another makes.
#[derive(Clone, Debug)]
pub struct Folder {
    root: Arc<OwnedFd>,
    key: Key,
    label: Arc<str>,
    options: Options,
    capitals: Arc<Capitals>,
    table: Arc<Brief<Table>>,
    #[cfg(test)]
    pub(crate) slow: tests::Slow,
}

/// A file of a [`Folder`] that is open. It is closed with [`FileSystem::close`], once for all clones.
#[derive(Clone, Debug)]
pub struct FolderFile {
    open: u64,
    key: Key,
    fd: Arc<OwnedFd>,
}

impl Folder {
    /// Serves what is beneath a directory of this host. `label` is the name of the volume. The path is looked up once: links in it
    /// are followed, and later it may be renamed.
    ///
    /// # Errors
    /// It is no directory, or may not be read; or the system has no `openat2` (Linux before 5.6).
    pub fn open(path: &Path, label: &str, options: Options) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = rustix::fs::open(path, flags, Mode::empty())?;
        beneath::open(&root, ".", OFlags::PATH, Mode::empty())?;
        let stat = beneath::stat(&root).map_err(|status| io::Error::other(status.to_string()))?;
        Ok(Self {
            root: Arc::new(root),
            key: Key::of(&stat),
            label: label.into(),
            options,
            capitals: Arc::default(),
            table: Arc::default(),
            #[cfg(test)]
            slow: tests::Slow::default(),
        })
    }

    /// What looks up names, while others use the folder.
    fn lookup(&self) -> Lookup {
        let capitals = (!self.options.case_sensitive).then(|| Arc::clone(&self.capitals));
        let (root, since) = (Arc::clone(&self.root), self.capitals.begin());
        Lookup { root, capitals, since, made: self.table.lock().made_count() }
    }

    /// A path such that paths of the same names are equal.
    fn path(&self, path: &SharePath) -> String {
        if self.options.case_sensitive { path.as_str().to_owned() } else { capital(path.as_str()) }
    }

    /// What `file` reads from, if no lock keeps it from these bytes, and whether it may be read without waiting. A lock that is taken later
    /// is not looked at.
    fn may_read(&self, file: &FolderFile, offset: u64, len: u64) -> FileResult<(Data, bool)> {
        let table = self.table.lock();
        if !table.node(file.key)?.locks.may_read(file.open, offset, len) {
            return Err(NtStatus::FILE_LOCK_CONFLICT);
        }
        let Opened { held, has_nowait, .. } = table.opened(file.key, file.open)?;
        // To set a time is to wait for a disk.
        let is_soon = *has_nowait && held.access.is_none();
        Ok((Data::new(file, Times { write: None, ..*held }), is_soon))
    }

    /// What `file` reads from, as [`Self::may_read`] says.
    fn reading(&self, file: &FolderFile, offset: u64, len: u64) -> FileResult<Data> {
        self.may_read(file, offset, len).map(|(data, _)| data)
    }

    /// Reads what the system has in memory; `None` if that is not all, or if the file system cannot tell.
    fn soon(
        &self,
        file: &FolderFile,
        offset: u64,
        len: u64,
        read: impl FnOnce(&Cached<'_>) -> Result<usize, Errno>,
    ) -> FileResult<Option<usize>> {
        let (data, is_soon) = self.may_read(file, offset, len)?;
        if !is_soon {
            return Ok(None);
        }
        let read = read(&Cached(&data));
        if read == Err(Errno::OPNOTSUPP) {
            // Those that cannot are not asked again.
            self.table.lock().opened_mut(file.key, file.open)?.has_nowait = false;
        }
        // Any error but that comes again in the thread.
        Ok(read.ok())
    }

    /// What `file` writes to, if no lock keeps it from these bytes. A lock that is taken later is not looked at.
    fn writing(&self, file: &FolderFile, offset: u64, len: u64) -> FileResult<Data> {
        let table = self.table.lock();
        let node = table.node(file.key)?;
        if self.options.read_only {
            return Err(NtStatus::ACCESS_DENIED);
        }
        if !node.locks.may_write(offset, len, file.open) {
            return Err(NtStatus::FILE_LOCK_CONFLICT);
        }
        let held = table.opened(file.key, file.open)?.held;
        Ok(Data::new(file, Times { access: None, ..held }))
    }

    /// The host is about to change something: no lock is held.
    fn acts(&self, _what: Act) {
        may_wait();
        #[cfg(test)]
        self.slow.waits(_what);
    }
}

/// How often something else may have come to a name, or into a directory, between two looks at it.
const TRIES: usize = 16;

/// What the host changes for a client: it may take long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    Open,
    Truncate,
    Rename,
    Delete,
    Attributes,
}

impl FileSystem for Folder {
    type File = FolderFile;

    fn open(&mut self, parameters: &OpenParameters, _: u64) -> FileResult<(FolderFile, CreateAction)> {
        open::open(self, parameters, true)?.ok_or(NtStatus::INTERNAL_ERROR)
    }

    fn close(&mut self, file: FolderFile, _: u64) {
        open::close(self, &file);
    }

    fn attributes(&self, file: &FolderFile) -> FileResult<Attributes> {
        let is_pending = self.table.lock().is_pending(file.key);
        Ok(attributes::attributes(&beneath::stat(&file.fd)?, self.key, is_pending))
    }

    fn read(&mut self, file: &FolderFile, offset: u64, into: &mut [u8]) -> FileResult<usize> {
        self.reading(file, offset, into.len() as u64)?.read(offset, into)
    }

    fn write(
        &mut self,
        file: &FolderFile,
        offset: u64,
        data: &[u8],
        through: bool,
        _: u64,
    ) -> FileResult<()> {
        self.writing(file, offset, data.len() as u64)?.write(offset, data, through)
    }

    fn flush(&mut self, file: &FolderFile) -> FileResult<()> {
        Data::new(file, Times::default()).flush()
    }

    fn list(&mut self, file: &FolderFile, after: u64, max: usize) -> FileResult<Vec<Entry>> {
        let listing = Arc::clone(&self.table.lock().opened(file.key, file.open)?.listing);
        listing::list(&listing, file, self.key, after, max)
    }

    fn change(&mut self, file: &FolderFile, change: &Change, _: u64) -> FileResult<()> {
        change::change(self, file, change)
    }

    fn lock(&mut self, file: &FolderFile, range: &LockElement) -> FileResult<()> {
        let is_exclusive = range.flags.contains(LockFlags::EXCLUSIVE_LOCK);
        self.table.lock().node_mut(file.key)?.locks.lock(file.open, range.offset, range.length, is_exclusive)
    }

    fn unlock(&mut self, file: &FolderFile, range: &LockElement) -> FileResult<()> {
        self.table.lock().node_mut(file.key)?.locks.unlock(file.open, range.offset, range.length)
    }

    fn volume(&self) -> Volume {
        volume::volume(self)
    }
}

impl Served for Folder {
    fn read_soon(
        &mut self,
        file: &FolderFile,
        offset: u64,
        into: &mut ReadBuffer,
    ) -> FileResult<Option<usize>> {
        self.soon(file, offset, into.len() as u64, |cached| cached.read(offset, into.space()))
    }

    fn read_to_soon(
        &mut self,
        file: &FolderFile,
        offset: u64,
        to: (&dyn Memory, u32),
    ) -> FileResult<Option<usize>> {
        self.soon(file, offset, to.1.into(), |cached| cached.read_to(offset, to))
    }

    fn read_to(
        &mut self,
        file: &FolderFile,
        offset: u64,
        (memory, len): (&dyn Memory, u32),
    ) -> FileResult<usize> {
        self.reading(file, offset, len.into())?.read_to(offset, (memory, len))
    }

    fn write_from(
        &mut self,
        file: &FolderFile,
        offset: u64,
        (memory, len): (&dyn Memory, u32),
        through: bool,
        _: u64,
    ) -> FileResult<()> {
        self.writing(file, offset, len.into())?.write_from(offset, (memory, len), through)
    }

    fn open_soon(
        &mut self,
        parameters: &OpenParameters,
        _: u64,
    ) -> FileResult<Option<(FolderFile, CreateAction)>> {
        open::open(self, parameters, false)
    }

    fn rename_soon(&mut self, file: &FolderFile, to: (&SharePath, bool), _: u64) -> FileResult<Option<()>> {
        change::rename(self, file, to, false)
    }
}
