//! The bytes of an open file.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::fs::{fdatasync, fsync};
use rustix::io::{Errno, pread, pwrite};
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
        may_wait();
        let mut len = 0;
        while let Some(rest) = into.get_mut(len..).filter(|rest| !rest.is_empty()) {
            let at = offset.saturating_add(len as u64);
            // There are no files as long as that.
            if i64::try_from(at).is_err() {
                break;
            }
            match pread(&self.fd, rest, at) {
                Ok(0) => break,
                Ok(more) => len = len.saturating_add(more),
                Err(Errno::INTR) => {}
                Err(Errno::ISDIR) => return Err(NtStatus::INVALID_DEVICE_REQUEST),
                Err(error) => return Err(status::of(error)),
            }
        }
        // They are read, whether the time could be set again or not.
        let _ = self.held.set(&self.fd);
        Ok(len)
    }

    /// Writes all of it from `offset` on. `through`: it is on disk then.
    ///
    /// # Errors
    /// STATUS_DISK_FULL, or whatever keeps it from being written. Some of it may be written then.
    pub(super) fn write(&self, offset: u64, mut data: &[u8], through: bool) -> FileResult<()> {
        may_wait();
        let mut at = offset;
        while !data.is_empty() {
            if i64::try_from(at).is_err() {
                return Err(NtStatus::DISK_FULL);
            }
            match pwrite(&self.fd, data, at) {
                Ok(0) => return Err(NtStatus::DISK_FULL),
                Ok(len) => {
                    at = at.saturating_add(len as u64);
                    data = data.get(len..).unwrap_or_default();
                }
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
