//! What SET_INFO changes (MS-FSA 2.1.5.15).

use rustix::fs::{RenameFlags, Statx, Timespec, fchmod, ftruncate, renameat_with};
use rustix::io::Errno;
use smbd_smb2::server::{BasicChange, Change, FileResult, SharePath, TimeChange};
use smbd_smb2::wire::{FileAttributes, NtStatus};

use super::attributes::{Kind, Times, again, is_read_only, kind, timespec, with_read_only};
use super::beneath::{Key, Place, stat};
use super::lookup::LookedUp;
use super::open::{by_name, may_delete};
use super::removal::was_moved;
use super::{Folder, FolderFile, status};

pub(super) fn change(folder: &mut Folder, file: &FolderFile, change: &Change) -> FileResult<()> {
    if folder.options.read_only {
        return Err(NtStatus::ACCESS_DENIED);
    }
    match change {
        Change::Basic(change) => basic(folder, file, change),
        Change::EndOfFile(size) => {
            is_file(file)?;
            truncate(folder, file, *size)
        }
        Change::Allocation(size) => {
            // What is to be reserved is not.
            if *size < is_file(file)?.stx_size { truncate(folder, file, *size) } else { Ok(()) }
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

/// Gives a file this length. Times that its open holds stay.
fn truncate(folder: &Folder, file: &FolderFile, size: u64) -> FileResult<()> {
    ftruncate(&file.fd, size).map_err(status::of)?;
    let held = Times { access: None, ..folder.table.opened(file.key, file.open)?.held };
    // The length has changed, whether the time could be set again or not.
    let _ = held.set(&file.fd);
    Ok(())
}

/// Sets times, and notes which of them the open holds (MS-FSA 2.1.5.15.2).
fn times(folder: &mut Folder, file: &FolderFile, change: &BasicChange) -> FileResult<()> {
    let set = |change: Option<TimeChange>| change.and_then(TimeChange::set).map(timespec);
    let set = Times { access: set(change.last_access_time), write: set(change.last_write_time) };
    set.set(&file.fd).map_err(status::of)?;
    let now = stat(&file.fd)?;
    let is_held = |change: Option<TimeChange>, held: Option<Timespec>, now| match change {
        None => held,
        Some(change) => change.holds().then(|| again(now)),
    };
    let held = &mut folder.table.opened_mut(file.key, file.open)?.held;
    held.access = is_held(change.last_access_time, held.access, now.stx_atime);
    held.write = is_held(change.last_write_time, held.write, now.stx_mtime);
    folder.table.times_were_set(file.key, &set);
    Ok(())
}

/// Times that the host can set, and whether a file can be written. All else is not kept.
fn basic(folder: &mut Folder, file: &FolderFile, change: &BasicChange) -> FileResult<()> {
    if change.last_access_time.is_some() || change.last_write_time.is_some() {
        times(folder, file, change)?;
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
    by_name(folder, path, |folder, looked_up| rename_at(folder, file, (path, looked_up), replace))
}

/// Gives a file the name that was looked up. None if the name has changed meanwhile, and has to be looked up again.
pub(super) fn rename_at(
    folder: &mut Folder,
    file: &FolderFile,
    (path, looked_up): (&SharePath, LookedUp),
    replace: bool,
) -> FileResult<Option<()>> {
    if folder.options.read_only {
        return Err(NtStatus::ACCESS_DENIED);
    }
    let node = folder.table.node(file.key)?;
    let opened = folder.table.opened(file.key, file.open)?;
    let (from, from_path) = (opened.place.clone(), opened.path.clone());
    let Some(from) = from.filter(|_| node.pending.is_none()) else { return Err(NtStatus::ACCESS_DENIED) };
    // Nothing that is open gets another path (MS-FSA 2.1.5.15.11).
    if folder.table.is_open_beneath(&from_path) {
        return Err(NtStatus::ACCESS_DENIED);
    }
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
        // Its own name in other capitals. Another link is another name, as of another file.
        Some(there) if Key::of(&there) == file.key && found.is(&from) => exact,
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
    if to.is(&from) {
        return Ok(Some(()));
    }
    // Nothing comes into a directory that somebody may delete.
    if to.parent_key != file.key && folder.table.may_go(to.parent_key) {
        return Err(NtStatus::SHARING_VIOLATION);
    }
    move_to(&from, &to, replace)?;
    if !was_moved(&from, &to, file.key) {
        return Err(NtStatus::OBJECT_NAME_NOT_FOUND);
    }
    let to_path = folder.path(path);
    folder.table.renamed(file.key, (&from, &from_path), (&to, &to_path));
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
