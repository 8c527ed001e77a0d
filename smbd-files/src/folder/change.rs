//! What SET_INFO changes (MS-FSA 2.1.5.15).

use rustix::fs::{
    RenameFlags, Statx, Timespec, Timestamps, UTIME_OMIT, fchmod, ftruncate, futimens, renameat_with,
};
use rustix::io::Errno;
use smbd_smb2::server::{BasicChange, Change, FileResult, SharePath};
use smbd_smb2::wire::{FileAttributes, NtStatus};

use super::attributes::{Kind, is_read_only, kind, timespec, with_read_only};
use super::beneath::{Key, Place, stat};
use super::lookup::LookedUp;
use super::open::{TRIES, may_delete};
use super::removal::was_moved;
use super::{Folder, FolderFile, status};

pub(super) fn change(folder: &mut Folder, file: &FolderFile, change: &Change) -> FileResult<()> {
    if folder.options.read_only {
        return Err(NtStatus::ACCESS_DENIED);
    }
    match change {
        Change::Basic(change) => basic(file, change),
        Change::EndOfFile(size) => {
            is_file(file)?;
            ftruncate(&file.fd, *size).map_err(status::of)
        }
        Change::Allocation(size) => {
            // What is to be reserved is not.
            if *size < is_file(file)?.stx_size {
                ftruncate(&file.fd, *size).map_err(status::of)
            } else {
                Ok(())
            }
        }
        Change::Delete(true) => {
            let place = folder.table.opened(file.key, file.open)?.place.clone();
            may_delete(&stat(&file.fd)?, place.as_ref(), &file.fd)?;
            folder.table.node_mut(file.key)?.pending = place;
            Ok(())
        }
        Change::Delete(false) => {
            folder.table.node_mut(file.key)?.pending = None;
            Ok(())
        }
        Change::Rename { path, replace } => rename(folder, file, path, *replace),
    }
}

fn is_file(file: &FolderFile) -> FileResult<Statx> {
    let stat = stat(&file.fd)?;
    if kind(&stat) == Kind::File { Ok(stat) } else { Err(NtStatus::INVALID_PARAMETER) }
}

/// Times that the host can set, and whether a file can be written. All else is not kept.
fn basic(file: &FolderFile, change: &BasicChange) -> FileResult<()> {
    const STAYS: Timespec = Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT };
    if change.last_access_time.is_some() || change.last_write_time.is_some() {
        let times = Timestamps {
            last_access: change.last_access_time.map_or(STAYS, timespec),
            last_modification: change.last_write_time.map_or(STAYS, timespec),
        };
        futimens(&file.fd, &times).map_err(status::of)?;
    }
    let Some(attributes) = change.file_attributes else { return Ok(()) };
    let stat = stat(&file.fd)?;
    let read_only = attributes.contains(FileAttributes::READONLY);
    if kind(&stat) == Kind::File && is_read_only(&stat) != read_only {
        fchmod(&file.fd, with_read_only(&stat, read_only)).map_err(status::of)?;
    }
    Ok(())
}

fn rename(folder: &mut Folder, file: &FolderFile, path: &SharePath, replace: bool) -> FileResult<()> {
    for _ in 0..TRIES {
        if let Some(looked_up) = folder.lookup().look_up(path, true)?
            && let Some(()) = rename_at(folder, file, looked_up, replace)?
        {
            return Ok(());
        }
    }
    Err(NtStatus::SHARING_VIOLATION)
}

/// Gives a file the name that was looked up. None if the name has changed meanwhile, and has to be looked up again.
pub(super) fn rename_at(
    folder: &mut Folder,
    file: &FolderFile,
    looked_up: LookedUp,
    replace: bool,
) -> FileResult<Option<()>> {
    if folder.options.read_only {
        return Err(NtStatus::ACCESS_DENIED);
    }
    let node = folder.table.node(file.key)?;
    let from = folder.table.opened(file.key, file.open)?.place.clone();
    let Some(from) = from.filter(|_| node.pending.is_none()) else { return Err(NtStatus::ACCESS_DENIED) };
    // What has its name by now may be something else.
    if from.stat()?.is_none_or(|found| Key::of(&found) != file.key) {
        return Err(NtStatus::OBJECT_NAME_NOT_FOUND);
    }
    let LookedUp { place, exact, made } = looked_up;
    let found = place.ok_or(NtStatus::INVALID_PARAMETER)?;
    let exact = Place { name: exact, ..found.clone() };
    if folder.table.is_pending(exact.parent_key) {
        return Err(NtStatus::DELETE_PENDING);
    }
    let to = match found.stat()? {
        // Its own name in other capitals.
        Some(there) if Key::of(&there) == file.key => exact,
        None if !folder.options.case_sensitive && folder.table.was_made_since(made, &exact) => {
            return Ok(None);
        }
        // Nothing is there.
        None => exact,
        Some(_) if !replace => return Err(NtStatus::OBJECT_NAME_COLLISION),
        Some(there) => {
            let stays = kind(&there) != Kind::File || is_read_only(&there);
            if stays || folder.table.is_open(Key::of(&there)) {
                return Err(NtStatus::ACCESS_DENIED);
            }
            found
        }
    };
    if !to.is(&from) {
        move_to(&from, &to, replace)?;
        if !was_moved(&from, &to, file.key) {
            return Err(NtStatus::OBJECT_NAME_NOT_FOUND);
        }
        folder.table.renamed(file.key, &from, &to);
    }
    Ok(Some(()))
}

fn move_to(from: &Place, to: &Place, replace: bool) -> FileResult<()> {
    let flags = if replace { RenameFlags::empty() } else { RenameFlags::NOREPLACE };
    match renameat_with(&from.parent, from.name.as_os_str(), &to.parent, to.name.as_os_str(), flags) {
        Ok(()) => Ok(()),
        // Into itself.
        Err(Errno::INVAL) => Err(NtStatus::ACCESS_DENIED),
        // To another file system below the share.
        Err(Errno::XDEV) => Err(NtStatus::NOT_SUPPORTED),
        Err(Errno::NOENT) => Err(NtStatus::OBJECT_PATH_NOT_FOUND),
        Err(error) => Err(status::of(error)),
    }
}
