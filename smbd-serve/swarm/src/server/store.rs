//! A file system in memory as several threads use it, which compares data in files with data on their way by RDMA.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use smbd_link::transport::Memory;
use smbd_serve::Served;
use smbd_smb2::server::{
    Attributes, Change, Entry, FileResult, FileSystem, Memory as Files, MemoryFile, OpenParameters,
    ReadBuffer, Volume,
};
use smbd_smb2::wire::{CreateAction, LockElement, NtStatus};

use crate::memory::OfServer;
use crate::scene::scene;
use crate::shared::EPOCH;

/// Bytes of data that it holds.
const CAPACITY: u64 = 64 << 20;

/// A file system in memory; clones are the same one.
#[derive(Clone, Debug)]
pub struct Store {
    inner: Arc<Mutex<Inner>>,
    /// Its operations are carried out in the client's task, not by threads.
    is_quick: bool,
}

#[derive(Debug)]
struct Inner {
    files: Files,
    open: BTreeMap<u64, MemoryFile>,
    last: u64,
}

impl Inner {
    fn on<T>(
        &mut self,
        file: u64,
        call: impl FnOnce(&mut Files, &MemoryFile) -> FileResult<T>,
    ) -> FileResult<T> {
        call(&mut self.files, self.open.get(&file).ok_or(NtStatus::FILE_CLOSED)?)
    }
}

impl Store {
    pub fn new(is_quick: bool) -> Self {
        let files = Files::with_capacity("data", EPOCH, CAPACITY);
        Self { inner: Arc::new(Mutex::new(Inner { files, open: BTreeMap::new(), last: 0 })), is_quick }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads data to memory of a connection, and reports them to the watch of what crosses.
    fn read_memory(
        &mut self,
        file: u64,
        offset: u64,
        (memory, len): (&dyn Memory, u32),
    ) -> FileResult<usize> {
        let mut bytes = vec![0; len as usize];
        let count = self.read(&file, offset, &mut bytes)?;
        bytes.truncate(count);
        memory.fill(0, &bytes).map_err(|_| NtStatus::INTERNAL_ERROR)?;
        if let (Some(scene), Some(buffer)) = (scene(), OfServer::used_last()) {
            scene.crossing.borrow_mut().is_read(buffer, bytes);
        }
        Ok(count)
    }

    /// Files that are open.
    pub fn open_count(&self) -> usize {
        self.inner().open.len()
    }
}

impl FileSystem for Store {
    type File = u64;

    fn open(&mut self, parameters: &OpenParameters, now: u64) -> FileResult<(u64, CreateAction)> {
        let mut inner = self.inner();
        let (file, action) = inner.files.open(parameters, now)?;
        inner.last += 1;
        let number = inner.last;
        inner.open.insert(number, file);
        Ok((number, action))
    }

    fn close(&mut self, file: u64, now: u64) {
        let mut inner = self.inner();
        if let Some(file) = inner.open.remove(&file) {
            inner.files.close(file, now);
        }
    }

    fn attributes(&self, file: &u64) -> FileResult<Attributes> {
        self.inner().on(*file, |files, file| files.attributes(file))
    }

    fn read(&mut self, file: &u64, offset: u64, into: &mut [u8]) -> FileResult<usize> {
        self.inner().on(*file, |files, file| files.read(file, offset, into))
    }

    fn write(&mut self, file: &u64, offset: u64, data: &[u8], through: bool, now: u64) -> FileResult<()> {
        self.inner().on(*file, |files, file| files.write(file, offset, data, through, now))
    }

    fn flush(&mut self, file: &u64) -> FileResult<()> {
        self.inner().on(*file, |files, file| files.flush(file))
    }

    fn list(&mut self, file: &u64, after: u64, max: usize) -> FileResult<Vec<Entry>> {
        self.inner().on(*file, |files, file| files.list(file, after, max))
    }

    fn change(&mut self, file: &u64, change: &Change, now: u64) -> FileResult<()> {
        self.inner().on(*file, |files, file| files.change(file, change, now))
    }

    fn lock(&mut self, file: &u64, range: &LockElement) -> FileResult<()> {
        self.inner().on(*file, |files, file| files.lock(file, range))
    }

    fn unlock(&mut self, file: &u64, range: &LockElement) -> FileResult<()> {
        self.inner().on(*file, |files, file| files.unlock(file, range))
    }

    fn volume(&self) -> Volume {
        self.inner().files.volume()
    }
}

impl Served for Store {
    fn open_soon(
        &mut self,
        parameters: &OpenParameters,
        now: u64,
    ) -> FileResult<Option<(u64, CreateAction)>> {
        if takes_long() { Ok(None) } else { self.open(parameters, now).map(Some) }
    }

    fn rename_soon(
        &mut self,
        file: &u64,
        (path, replace): (&smbd_smb2::server::SharePath, bool),
        now: u64,
    ) -> FileResult<Option<()>> {
        if takes_long() {
            return Ok(None);
        }
        self.change(file, &Change::Rename { path: path.clone(), replace }, now).map(Some)
    }

    fn is_quick(&self) -> bool {
        if self.is_quick {
            at_once();
        }
        self.is_quick
    }

    fn read_soon(&mut self, file: &u64, offset: u64, into: &mut ReadBuffer) -> FileResult<Option<usize>> {
        if takes_long() {
            return Ok(None);
        }
        at_once();
        self.read(file, offset, into.space()).map(Some)
    }

    fn read_to_soon(&mut self, file: &u64, offset: u64, to: (&dyn Memory, u32)) -> FileResult<Option<usize>> {
        if takes_long() {
            return Ok(None);
        }
        at_once();
        self.read_memory(*file, offset, to).map(Some)
    }

    fn read_to(&mut self, file: &u64, offset: u64, to: (&dyn Memory, u32)) -> FileResult<usize> {
        self.read_memory(*file, offset, to)
    }

    fn write_from(
        &mut self,
        file: &u64,
        offset: u64,
        (memory, len): (&dyn Memory, u32),
        through: bool,
        now: u64,
    ) -> FileResult<()> {
        let mut bytes = Vec::new();
        memory.append_to(0, len, &mut bytes).map_err(|_| NtStatus::INTERNAL_ERROR)?;
        if let (Some(scene), Some(buffer)) = (scene(), OfServer::used_last()) {
            scene.crossing.borrow_mut().is_written(&scene.shared, buffer, &bytes);
        }
        self.write(file, offset, &bytes, through, now)
    }
}

/// Whether a name is to be looked for, or bytes are to be read, when a thread has time for it.
fn takes_long() -> bool {
    scene().is_some_and(|scene| scene.labour.takes_long())
}

/// An operation is carried out in the task of the client.
fn at_once() {
    if let Some(scene) = scene() {
        scene.labour.did([&scene.shared, &scene.second]);
    }
}
