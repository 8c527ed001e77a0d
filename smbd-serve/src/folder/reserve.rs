//! What a change reserves in the table before the host does it, and gives back if it is not done.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::fs::Statx;
use smbd_smb2::server::{FileResult, OpenParameters};
use smbd_smb2::wire::{CreateOptions, NtStatus};

use super::beneath::{Key, Place};
use super::claim::Claim;
use super::removal::{self, may_delete};
use super::table::Table;
use super::{Act, Folder, FolderFile};
use crate::brief::{Brief, Held};

/// An open that others see, before the client that makes it. Dropped, it is taken back.
pub(super) struct Reserved<'a> {
    folder: &'a Folder,
    key: Key,
    open: Option<u64>,
}

impl<'a> Reserved<'a> {
    pub(super) const fn new(folder: &'a Folder, key: Key, open: u64) -> Self {
        Self { folder, key, open: Some(open) }
    }

    /// The file that was opened. It may have to go when it is closed: then it is known whether it can.
    pub(super) fn confirm(
        mut self,
        (fd, stat): (OwnedFd, &Statx),
        place: Option<&Place>,
        how: &OpenParameters,
    ) -> FileResult<FolderFile> {
        let deletes = how.options.contains(CreateOptions::DELETE_ON_CLOSE);
        if deletes {
            match may_delete(stat, place, &fd) {
                // It stays when it is closed.
                Ok(()) | Err(NtStatus::DIRECTORY_NOT_EMPTY) => {}
                Err(status) => return Err(status),
            }
        }
        let open = self.open.ok_or(NtStatus::INTERNAL_ERROR)?;
        self.folder.table.lock().opened_mut(self.key, open)?.delete_on_close = deletes;
        self.open = None;
        Ok(FolderFile { open, key: self.key, fd: Arc::new(fd) })
    }
}

impl Drop for Reserved<'_> {
    fn drop(&mut self) {
        if let Some(open) = self.open {
            release(self.folder, self.key, open);
        }
    }
}

/// A [`Claim`] that is held. When it goes, its name counts as one that was made: it may be there.
pub(super) struct Claimed<'a> {
    table: &'a Brief<Table>,
    number: Option<u64>,
}

impl<'a> Claimed<'a> {
    pub(super) fn new(table: &'a Brief<Table>, mut held: Held<'a, Table>, claim: Claim) -> Self {
        Self { table, number: Some(held.claim(claim)) }
    }

    /// It is done: `what` is written down before others go on.
    pub(super) fn end<T>(mut self, what: impl FnOnce(&mut Table) -> T) -> T {
        self.over(what)
    }

    fn over<T>(&mut self, what: impl FnOnce(&mut Table) -> T) -> T {
        let mut table = self.table.lock();
        let done = what(&mut table);
        if let Some(number) = self.number.take() {
            table.end_claim(number);
            drop(table);
            self.table.changed();
        }
        done
    }
}

impl Drop for Claimed<'_> {
    fn drop(&mut self) {
        if self.number.is_some() {
            self.over(|_| {});
        }
    }
}

/// Takes an open out of the table. Who comes to a file while it is deleted gets STATUS_DELETE_PENDING, as if it were open still.
pub(super) fn release(folder: &Folder, key: Key, open: u64) {
    let (mut table, _) = folder.table.lock_unless(|table| table.is_moving(key));
    let (opened, going) = (table.remove(key, open), table.forget(key));
    // What is closed with it is closed without the lock.
    drop(table);
    drop(opened);
    if let Some(place) = going {
        folder.acts(Act::Delete);
        removal::remove(&place, key);
        folder.table.lock().gone(key);
    }
}
