//! The bytes of an open file.

use std::io::{self, IoSliceMut};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::sync::Arc;

use rustix::fs::{fdatasync, fsync};
use rustix::io::{Errno, ReadWriteFlags, pread, preadv2, pwrite};
use smbd_link::transport::{File, Memory};
use smbd_smb2::server::FileResult;
use smbd_smb2::wire::NtStatus;

use super::attributes::Times;
use super::{FolderFile, status};
use crate::brief::may_wait;

/// The bytes of an open file, for one operation. It keeps the file of the host open.
#[derive(Debug)]
pub(super) struct Data {
    fd: Arc<OwnedFd>,
    /// Times that stay.
    held: Times,
}

impl Data {
    pub(super) fn new(file: &FolderFile, held: Times) -> Self {
        Self { fd: Arc::clone(&file.fd), held }
    }

    /// Reads what is there from `offset` on. Returns the number of bytes; 0 at the end and behind it.
    ///
    /// # Errors
    /// STATUS_INVALID_DEVICE_REQUEST for a directory, or whatever keeps it from being read.
    pub(super) fn read(&self, offset: u64, into: &mut [u8]) -> FileResult<usize> {
        self.waited(|| read(self, offset, into))
    }

    /// The same, to the beginning of memory.
    pub(super) fn read_to(&self, offset: u64, to: (&dyn Memory, u32)) -> FileResult<usize> {
        self.waited(|| read_to(self, offset, to))
    }

    /// A read that may wait for the disk.
    fn waited(&self, read: impl FnOnce() -> Result<usize, Errno>) -> FileResult<usize> {
        may_wait();
        let count = read().map_err(|error| match error {
            Errno::ISDIR => NtStatus::INVALID_DEVICE_REQUEST,
            other => status::of(other),
        })?;
        // They are read, whether the time could be set again or not.
        let _ = self.held.set(&self.fd);
        Ok(count)
    }

    /// Writes all of it from `offset` on. `through`: it is on disk then.
    ///
    /// # Errors
    /// STATUS_DISK_FULL, or whatever keeps it from being written. Some of it may be written then.
    pub(super) fn write(&self, offset: u64, data: &[u8], through: bool) -> FileResult<()> {
        self.write_steps(offset, data.len(), through, |at, done| {
            pwrite(&self.fd, data.get(done..).unwrap_or_default(), at)
        })
    }

    /// The same, of what is at the beginning of memory.
    pub(super) fn write_from(
        &self,
        offset: u64,
        (memory, len): (&dyn Memory, u32),
        through: bool,
    ) -> FileResult<()> {
        self.write_steps(offset, len as usize, through, |at, done| {
            let (done, left) = rest(len, done);
            memory.write_file(self, at, done, left).map_err(|error| errno(&error))
        })
    }

    /// Writes `len` bytes in steps, as [`read_steps`] reads them.
    fn write_steps(
        &self,
        offset: u64,
        len: usize,
        through: bool,
        mut step: impl FnMut(u64, usize) -> Result<usize, Errno>,
    ) -> FileResult<()> {
        may_wait();
        let mut done = 0;
        while done < len {
            let at = offset.saturating_add(done as u64);
            if i64::try_from(at).is_err() {
                return Err(NtStatus::DISK_FULL);
            }
            match step(at, done) {
                Ok(0) => return Err(NtStatus::DISK_FULL),
                Ok(more) => done = done.saturating_add(more),
                Err(Errno::INTR) => {}
                // Too far, for this file system.
                Err(Errno::INVAL) => return Err(NtStatus::DISK_FULL),
                Err(error) => return Err(status::of(error)),
            }
        }
        // They are written, whether the time could be set again or not.
        let _ = self.held.set(&self.fd);
        if through { fdatasync(&self.fd).map_err(status::of) } else { Ok(()) }
    }

    /// Puts on disk what was written.
    ///
    /// # Errors
    /// Whatever is in the way of it.
    pub(super) fn flush(&self) -> FileResult<()> {
        may_wait();
        fsync(&self.fd).map_err(status::of)
    }
}

/// The bytes of an open file that the system has in memory: a read of others is `Errno::AGAIN`, and `Errno::OPNOTSUPP` where the file
/// system cannot tell. Times are not set again.
#[derive(Debug)]
pub(super) struct Cached<'a>(pub(super) &'a Data);

impl Cached<'_> {
    /// Reads as [`Data::read`] does.
    pub(super) fn read(&self, offset: u64, into: &mut [u8]) -> Result<usize, Errno> {
        read(self, offset, into)
    }

    /// Reads as [`Data::read_to`] does.
    pub(super) fn read_to(&self, offset: u64, to: (&dyn Memory, u32)) -> Result<usize, Errno> {
        read_to(self, offset, to)
    }
}

fn read(file: &dyn File, offset: u64, into: &mut [u8]) -> Result<usize, Errno> {
    read_steps(offset, into.len(), |at, done| file.read_at(at, into.get_mut(done..).unwrap_or_default()))
}

fn read_to(file: &dyn File, offset: u64, (memory, len): (&dyn Memory, u32)) -> Result<usize, Errno> {
    read_steps(offset, len as usize, |at, done| {
        let (done, left) = rest(len, done);
        memory.read_file(file, at, done, left)
    })
}

/// Reads `len` bytes in steps, each from a place in the file on, behind the bytes that are done.
fn read_steps(
    offset: u64,
    len: usize,
    mut step: impl FnMut(u64, usize) -> io::Result<usize>,
) -> Result<usize, Errno> {
    let mut done = 0;
    while done < len {
        let at = offset.saturating_add(done as u64);
        // There are no files as long as that.
        if i64::try_from(at).is_err() {
            break;
        }
        match step(at, done).map_err(|error| errno(&error)) {
            Ok(0) => break,
            Ok(more) => done = done.saturating_add(more),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(done)
}

/// What is done of a transfer of `len` bytes, and what is left of it.
fn rest(len: u32, done: usize) -> (u32, u32) {
    let done = u32::try_from(done).unwrap_or(len);
    (done, len.saturating_sub(done))
}

/// The error of the system; memory that does not have its range is told as a fault of this side.
fn errno(error: &io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::FAULT)
}

impl File for Data {
    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Some(self.fd.as_fd())
    }

    fn read_at(&self, at: u64, into: &mut [u8]) -> io::Result<usize> {
        Ok(pread(&self.fd, into, at)?)
    }

    fn write_at(&self, at: u64, bytes: &[u8]) -> io::Result<usize> {
        Ok(pwrite(&self.fd, bytes, at)?)
    }
}

impl File for Cached<'_> {
    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.0.descriptor()
    }

    fn is_nowait(&self) -> bool {
        true
    }

    fn read_at(&self, at: u64, into: &mut [u8]) -> io::Result<usize> {
        Ok(preadv2(&self.0.fd, &mut [IoSliceMut::new(into)], at, ReadWriteFlags::NOWAIT)?)
    }

    fn write_at(&self, at: u64, bytes: &[u8]) -> io::Result<usize> {
        self.0.write_at(at, bytes)
    }
}
