//! What is looked at beside all else: what is known of files, entries of directories, the volume.

use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::fs::fstatvfs;
use smbd_smb2::server::{Attributes, Entry, FileResult, Volume};
use smbd_smb2::wire::NtStatus;

use super::attributes::{Kind, attributes, kind};
use super::beneath::{self, Key};
use super::listing::{self, Listing};

/// Bytes of a sector, of which a unit of allocation has several.
const SECTOR: u64 = 512;

/// What is known of an open file. It keeps the file of the host open.
#[derive(Debug)]
pub struct Looking {
    pub(super) fd: Arc<OwnedFd>,
    pub(super) root: Key,
    pub(super) is_pending: bool,
}

impl Looking {
    /// What is known now, besides deletion, which is as it was. It waits for the disk.
    ///
    /// # Errors
    /// Whatever keeps that from being found out.
    pub fn attributes(&self) -> FileResult<Attributes> {
        Ok(attributes(&beneath::stat(&self.fd)?, self.root, self.is_pending))
    }
}

/// Entries of an open directory. It keeps the directory of the host open.
#[derive(Debug)]
pub struct Entries {
    pub(super) fd: Arc<OwnedFd>,
    /// Of the root, and its own.
    pub(super) keys: (Key, Key),
    pub(super) listing: Arc<Mutex<Option<Listing>>>,
}

impl Entries {
    /// Up to `max` entries behind a position. It waits for the disk, and for others that list this open file.
    ///
    /// # Errors
    /// STATUS_NOT_A_DIRECTORY, or whatever keeps it from being read.
    pub fn list(&self, after: u64, max: usize) -> FileResult<Vec<Entry>> {
        if kind(&beneath::stat(&self.fd)?) != Kind::Directory {
            return Err(NtStatus::NOT_A_DIRECTORY);
        }
        let mut listing = self.listing.lock().unwrap_or_else(PoisonError::into_inner);
        listing::entries(&mut listing, self.fd.as_fd(), self.keys, after, max)
    }
}

/// The volume.
#[derive(Debug)]
pub struct Space {
    pub(super) root: Arc<OwnedFd>,
    pub(super) key: Key,
    pub(super) label: String,
}

impl Space {
    /// What is known of it. It waits for the disk.
    #[must_use]
    pub fn volume(&self) -> Volume {
        let born =
            beneath::stat(&self.root).map_or(0, |stat| attributes(&stat, self.key, false).creation_time);
        let (mut unit, mut total, mut free, mut serial) = (SECTOR, 0, 0, 0);
        if let Ok(known) = fstatvfs(&self.root) {
            // A unit consists of sectors, and its length is told in 32 bits.
            let units = known.f_frsize.max(1);
            let fits = units.is_multiple_of(SECTOR) && u32::try_from(units).is_ok();
            unit = if fits { units } else { SECTOR };
            let scaled =
                |blocks: u64| u64::try_from(u128::from(blocks) * u128::from(units) / u128::from(unit));
            total = scaled(known.f_blocks).unwrap_or(u64::MAX);
            free = scaled(known.f_bavail).unwrap_or(u64::MAX);
            serial = known.f_fsid;
        }
        Volume {
            label: self.label.clone(),
            serial: (serial ^ (serial >> 32)) as u32,
            creation_time: born,
            unit: u32::try_from(unit).unwrap_or(4096),
            total_units: total,
            free_units: free,
        }
    }
}
