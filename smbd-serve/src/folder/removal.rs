//! A name is looked at and then acted on. Programs of the host may give it to another file in between.
//!
//! Linux deletes and renames names, not files. So what is to be deleted gets a name first that nobody else knows, and is looked at there:
//! another file gets its name back.

use std::ffi::OsString;
use std::os::fd::OwnedFd;

use rustix::fs::{AtFlags, RenameFlags, Statx, renameat_with, unlinkat};
use rustix::io::Errno;
use smbd_smb2::server::FileResult;
use smbd_smb2::wire::NtStatus;

use super::attributes::{Kind, is_read_only, kind};
use super::beneath::{self, Key, Place};
use super::claim::NameKey;
use super::{Folder, FolderFile, TRIES, status};
use crate::brief::may_wait;

/// What a name begins with that a file has while it is deleted.
const GOING: &str = ".smbd-deleted-";

/// Whether a file or directory can be deleted.
pub(super) fn may_delete(stat: &Statx, place: Option<&Place>, fd: &OwnedFd) -> FileResult<()> {
    if place.is_none() || is_read_only(stat) {
        return Err(NtStatus::CANNOT_DELETE);
    }
    if kind(stat) != Kind::Directory {
        return Ok(());
    }
    for entry in beneath::entries(fd)? {
        if !matches!(entry.map_err(status::of)?.file_name().to_bytes(), b"." | b"..") {
            return Err(NtStatus::DIRECTORY_NOT_EMPTY);
        }
    }
    Ok(())
}

/// Marks a file to be deleted when the last open is closed. Nothing comes into a directory between the look at it and the mark.
pub(super) fn mark(folder: &Folder, file: &FolderFile) -> FileResult<()> {
    let stat = beneath::stat(&file.fd)?;
    for _ in 0..TRIES {
        let (place, made) = {
            let table = folder.table.lock();
            (table.opened(file.key, file.open)?.place.clone(), table.made_count())
        };
        may_delete(&stat, place.as_ref(), &file.fd)?;
        let (mut table, _) = folder.table.lock_unless(|table| table.is_filling(file.key));
        let comes_in = |name: &NameKey| name.parent == file.key;
        if kind(&stat) == Kind::Directory && table.was_made_since(made, comes_in) {
            continue;
        }
        // Its name may be another one by now.
        let place = table.opened(file.key, file.open)?.place.clone();
        table.node_mut(file.key)?.pending = place;
        return Ok(());
    }
    Err(NtStatus::DIRECTORY_NOT_EMPTY)
}

/// Deletes what has a name, if it is this file or directory. A directory in which something is stays. Nobody is there to be told.
pub(super) fn remove(place: &Place, key: Key) {
    remove_when(place, key, || {});
}

/// `moment` is called between the look at the name and what is done to it.
pub(super) fn remove_when(place: &Place, key: Key, moment: impl FnOnce()) {
    let is_it = |place: &Place| place.stat().ok().flatten().filter(|found| Key::of(found) == key);
    let Some(found) = is_it(place) else { return };
    let flags = if kind(&found) == Kind::Directory { AtFlags::REMOVEDIR } else { AtFlags::empty() };
    let unlink = |place: &Place| unlinkat(&place.parent, place.name.as_os_str(), flags);
    moment();
    let Some(private) = private(place) else { return };
    match give(place, &private) {
        Ok(()) if is_it(&private).is_some() && unlink(&private).is_ok() => {}
        // If the name was taken meanwhile, the file stays where it is.
        Ok(()) => drop(give(&private, place)),
        // The file system has no such rename.
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => drop(unlink(place)),
        Err(_) => {}
    }
}

/// Whether a file that was renamed is the one that was meant. Another one gets its name back.
pub(super) fn was_moved(from: &Place, to: &Place, key: Key) -> bool {
    let is_other = to.stat().is_ok_and(|found| found.is_some_and(|found| Key::of(&found) != key));
    if is_other {
        let _ = give(to, from);
    }
    !is_other
}

/// Gives a file another name, which nothing has.
fn give(from: &Place, to: &Place) -> Result<(), Errno> {
    may_wait();
    let (old, new) = (from.name.as_os_str(), to.name.as_os_str());
    renameat_with(&from.parent, old, &to.parent, new, RenameFlags::NOREPLACE)
}

/// A name in the same directory that nobody else knows.
fn private(place: &Place) -> Option<Place> {
    let mut number = [0; 16];
    getrandom::fill(&mut number).ok()?;
    let name = OsString::from(format!("{GOING}{:032x}", u128::from_le_bytes(number)));
    Some(Place { name, ..place.clone() })
}
