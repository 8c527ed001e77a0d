//! What SET_INFO changes (MS-FSA 2.1.5.15).

use rustix::fs::{RenameFlags, Statx, Timespec, fchmod, ftruncate, renameat_with};
use rustix::io::Errno;
use smbd_smb2::server::{BasicChange, Change, FileResult, SharePath, TimeChange};
use smbd_smb2::wire::{FileAttributes, NtStatus};

use super::attributes::{Kind, Times, again, is_read_only, kind, timespec, with_read_only};
use super::beneath::{Key, Place, stat};
use super::claim::Claim;
use super::lookup::LookedUp;
use super::open::by_name;
use super::removal::{mark, was_moved};
use super::reserve::Claimed;
use super::table::Table;
use super::{Act, Folder, FolderFile, status};

pub(super) fn change(folder: &Folder, file: &FolderFile, change: &Change) -> FileResult<()> {
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
        Change::Delete(true) => mark(folder, file),
        Change::Delete(false) => {
            let mut table = folder.table.lock();
            // A file whose last open is closed is being deleted.
            table.opened(file.key, file.open)?;
            table.node_mut(file.key)?.pending = None;
            Ok(())
        }
        Change::Rename { path, replace } => {
            rename(folder, file, (path, *replace), true)?;
            Ok(())
        }
    }
}

fn is_file(file: &FolderFile) -> FileResult<Statx> {
    let stat = stat(&file.fd)?;
    if kind(&stat) == Kind::File { Ok(stat) } else { Err(NtStatus::INVALID_PARAMETER) }
}

/// Gives a file this length. Times that its open holds stay.
fn truncate(folder: &Folder, file: &FolderFile, size: u64) -> FileResult<()> {
    folder.acts(Act::Truncate);
    ftruncate(&file.fd, size).map_err(status::of)?;
    let held = Times { access: None, ..folder.table.lock().opened(file.key, file.open)?.held };
    // The length has changed, whether the time could be set again or not.
    let _ = held.set(&file.fd);
    Ok(())
}

/// Sets times, and notes which of them the open holds (MS-FSA 2.1.5.15.2).
fn times(folder: &Folder, file: &FolderFile, change: &BasicChange) -> FileResult<()> {
    let set = |change: Option<TimeChange>| change.and_then(TimeChange::set).map(timespec);
    let set = Times { access: set(change.last_access_time), write: set(change.last_write_time) };
    folder.acts(Act::Attributes);
    set.set(&file.fd).map_err(status::of)?;
    let now = stat(&file.fd)?;
    let is_held = |change: Option<TimeChange>, held: Option<Timespec>, now| match change {
        None => held,
        Some(change) => change.holds().then(|| again(now)),
    };
    let mut table = folder.table.lock();
    let held = &mut table.opened_mut(file.key, file.open)?.held;
    held.access = is_held(change.last_access_time, held.access, now.stx_atime);
    held.write = is_held(change.last_write_time, held.write, now.stx_mtime);
    table.times_were_set(file.key, &set);
    Ok(())
}

/// Times that the host can set, and whether a file can be written. All else is not kept.
fn basic(folder: &Folder, file: &FolderFile, change: &BasicChange) -> FileResult<()> {
    if change.last_access_time.is_some() || change.last_write_time.is_some() {
        times(folder, file, change)?;
    }
    let Some(attributes) = change.file_attributes else { return Ok(()) };
    let stat = stat(&file.fd)?;
    let read_only = attributes.contains(FileAttributes::READONLY);
    if kind(&stat) == Kind::File && is_read_only(&stat) != read_only {
        folder.acts(Act::Attributes);
        fchmod(&file.fd, with_read_only(&stat, read_only)).map_err(status::of)?;
    }
    Ok(())
}

/// Gives a file another name. None if a large directory has to be read, and is not to be.
pub(super) fn rename(
    folder: &Folder,
    file: &FolderFile,
    (path, replace): (&SharePath, bool),
    reads: bool,
) -> FileResult<Option<()>> {
    by_name(folder, (path, reads), |looked_up| rename_at(folder, file, (path, looked_up), replace))
}

/// Gives a file the name that was looked up. None if the name has changed meanwhile, and has to be looked up again.
fn rename_at(
    folder: &Folder,
    file: &FolderFile,
    (path, looked_up): (&SharePath, LookedUp),
    replace: bool,
) -> FileResult<Option<()>> {
    if folder.options.read_only {
        return Err(NtStatus::ACCESS_DENIED);
    }
    let from = may_move(&folder.table.lock(), file)?;
    // What has its name by now may be something else.
    if from.stat()?.is_none_or(|found| Key::of(&found) != file.key) {
        return Err(NtStatus::OBJECT_NAME_NOT_FOUND);
    }
    let LookedUp { place, exact, made } = looked_up;
    let found = place.ok_or(NtStatus::INVALID_PARAMETER)?;
    let exact = Place { name: exact, ..found.clone() };
    // Its own name in other capitals is no other file. Another link is another name, as of another file.
    let there = found.stat()?.filter(|there| !(Key::of(there) == file.key && found.is(&from)));
    let to = if there.is_some() { found.clone() } else { exact };
    let to_path = folder.path(path);

    let (table, has_waited) =
        folder.table.lock_unless(|table| table.is_moving(file.key) || table.is_claimed(Some(&to), &to_path));
    if has_waited || !may_move(&table, file)?.is(&from) {
        return Ok(None);
    }
    let own = found.is(&from);
    if !may_come(folder, &table, (file, own), (&to, there.as_ref(), made), replace)? {
        return Ok(None);
    }
    if to.is(&from) {
        return Ok(Some(()));
    }
    let from_path = table.opened(file.key, file.open)?.path.clone();
    let moves = Some((file.key, from_path.clone()));
    let claimed = Claimed::new(&folder.table, table, Claim { name: to.key(), path: to_path.clone(), moves });
    folder.acts(Act::Rename);
    move_to(&from, &to, replace)?;
    if !was_moved(&from, &to, file.key) {
        return Err(NtStatus::OBJECT_NAME_NOT_FOUND);
    }
    claimed.end(|table| table.renamed(file.key, (&from, &from_path), (&to, &to_path)));
    Ok(Some(()))
}

/// The name of a file, if it can get another.
fn may_move(table: &Table, file: &FolderFile) -> FileResult<Place> {
    let opened = table.opened(file.key, file.open)?;
    // Nothing that is open gets another path (MS-FSA 2.1.5.15.11).
    if table.is_pending(file.key) || table.is_open_beneath(&opened.path) {
        return Err(NtStatus::ACCESS_DENIED);
    }
    opened.place.clone().ok_or(NtStatus::ACCESS_DENIED)
}

/// Whether a file can have this name, at which `there` is. False: the name may have changed since the look.
fn may_come(
    folder: &Folder,
    table: &Table,
    (file, is_own): (&FolderFile, bool),
    (to, there, made): (&Place, Option<&Statx>, u64),
    replace: bool,
) -> FileResult<bool> {
    if table.is_pending(to.parent_key) {
        return Err(NtStatus::DELETE_PENDING);
    }
    if let Some(there) = there {
        if !replace {
            return Err(NtStatus::OBJECT_NAME_COLLISION);
        }
        let stays = kind(there) != Kind::File || is_read_only(there);
        if stays || table.is_open(Key::of(there)) {
            return Err(NtStatus::ACCESS_DENIED);
        }
    } else if !is_own && !folder.options.case_sensitive {
        let name = to.key();
        if table.was_made_since(made, |made| *made == name) {
            return Ok(false);
        }
    }
    // Nothing comes into a directory that somebody may delete.
    if to.parent_key != file.key && table.may_go(to.parent_key) {
        return Err(NtStatus::SHARING_VIOLATION);
    }
    Ok(true)
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
