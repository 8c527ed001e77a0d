//! Opening, making, replacing and closing (MS-FSA 2.1.5.1, 2.1.5.5).

use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::fs::{Mode, OFlags, Statx, fchmod, ftruncate, mkdirat};
use rustix::io::Errno;
use smbd_smb2::server::{FileResult, OpenParameters, SharePath, Use};
use smbd_smb2::wire::{AccessMask, CreateAction, CreateDisposition, CreateOptions, FileAttributes, NtStatus};

use super::attributes::{Kind, Times, is_read_only, kind, with_read_only};
use super::beneath::{self, Key, Place, stat};
use super::claim::{Claim, NameKey};
use super::lookup::LookedUp;
use super::removal::mark;
use super::reserve::{Claimed, Reserved, release};
use super::table::{Opened, Table};
use super::{Act, Folder, FolderFile, TRIES, status};
use crate::brief::may_wait;

/// What reads and what writes.
const READS: u32 = AccessMask::READ_DATA.0 | AccessMask::EXECUTE.0;
const WRITES: u32 = AccessMask::WRITE_DATA.0 | AccessMask::APPEND_DATA.0;
/// Modes of what is made, less what the process masks.
const FILE_MODE: Mode = Mode::from_raw_mode(0o666);
const DIRECTORY_MODE: Mode = Mode::from_raw_mode(0o777);

/// Opens or makes a file. None if a large directory has to be read, and is not to be.
pub(super) fn open(
    folder: &Folder,
    how: &OpenParameters,
    reads: bool,
) -> FileResult<Option<(FolderFile, CreateAction)>> {
    by_name(folder, (&how.path, reads), |looked_up| open_at(folder, how, looked_up))
}

/// Looks a name up until `act` finds that it is still what it was. None if a large directory has to be read for it, and `reads` is false.
pub(super) fn by_name<T>(
    folder: &Folder,
    (path, reads): (&SharePath, bool),
    mut act: impl FnMut(LookedUp) -> FileResult<Option<T>>,
) -> FileResult<Option<T>> {
    for _ in 0..TRIES {
        let Some(looked_up) = folder.lookup().look_up(path, reads)? else {
            // One that is to be read is read.
            return if reads { Err(NtStatus::INTERNAL_ERROR) } else { Ok(None) };
        };
        if let Some(done) = act(looked_up)? {
            return Ok(Some(done));
        }
    }
    Err(NtStatus::SHARING_VIOLATION)
}

/// Opens what was looked up. None if the name has changed meanwhile, and has to be looked up again.
fn open_at(
    folder: &Folder,
    how: &OpenParameters,
    looked_up: LookedUp,
) -> FileResult<Option<(FolderFile, CreateAction)>> {
    if folder.options.read_only
        && (how.disposition != CreateDisposition::OPEN || how.access.0 & (WRITES | AccessMask::DELETE.0) != 0)
    {
        return Err(NtStatus::ACCESS_DENIED);
    }
    let found = match &looked_up.place {
        None => Some(stat(&folder.root)?),
        Some(place) => place.stat()?,
    };
    match (found, looked_up.place) {
        (Some(found), place) => existing(folder, place.as_ref(), &found, how),
        (None, Some(place)) => make(folder, &place, looked_up.made, how),
        (None, None) => Err(NtStatus::OBJECT_NAME_NOT_FOUND),
    }
}

/// Who opens a file, for the table.
fn opener(path: String, place: Option<&Place>, how: &OpenParameters, access: AccessMask) -> Opened {
    let deletes = how.options.contains(CreateOptions::DELETE_ON_CLOSE);
    let needs_place = deletes || how.access.contains(AccessMask::DELETE);
    Opened {
        usage: Use { access, share: how.share_access },
        path,
        place: place.filter(|_| needs_place).cloned(),
        delete_on_close: false,
        listing: Arc::default(),
        held: Times::default(),
        has_nowait: true,
    }
}

fn replaces(how: &OpenParameters) -> bool {
    how.disposition != CreateDisposition::OPEN
        && how.disposition != CreateDisposition::OPEN_IF
        && how.disposition != CreateDisposition::CREATE
}

fn existing(
    folder: &Folder,
    place: Option<&Place>,
    found: &Statx,
    how: &OpenParameters,
) -> FileResult<Option<(FolderFile, CreateAction)>> {
    let key = Key::of(found);
    if folder.table.lock().is_pending(key) {
        return Err(NtStatus::DELETE_PENDING);
    }
    if how.disposition == CreateDisposition::CREATE {
        return Err(NtStatus::OBJECT_NAME_COLLISION);
    }
    let replaces = replaces(how);
    match kind(found) {
        // Links are not followed, and nothing else is a file.
        Kind::Other => return Err(NtStatus::ACCESS_DENIED),
        Kind::Directory if replaces || how.options.contains(CreateOptions::NON_DIRECTORY_FILE) => {
            return Err(NtStatus::FILE_IS_A_DIRECTORY);
        }
        Kind::File if how.options.contains(CreateOptions::DIRECTORY_FILE) => {
            return Err(NtStatus::NOT_A_DIRECTORY);
        }
        Kind::Directory | Kind::File => {}
    }
    let granted = if is_read_only(found) { how.read_only_access } else { how.access };
    // What replaces writes, whatever it was opened for.
    let access = if replaces { granted | AccessMask::WRITE_DATA } else { granted };
    if is_read_only(found) && access.0 & WRITES != 0 {
        return Err(NtStatus::ACCESS_DENIED);
    }
    let Some(reserved) = reserve(folder, (key, place), how, (granted, access))? else { return Ok(None) };
    folder.acts(Act::Open);
    let opened = match place {
        None => beneath::open(&folder.root, ".", OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()),
        Some(place) if kind(found) == Kind::Directory => {
            place.open(OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty())
        }
        Some(place) => open_file(place, access),
    };
    let fd = match opened {
        Ok(fd) => fd,
        Err(Errno::NOENT | Errno::LOOP | Errno::NOTDIR) => return Ok(None),
        Err(error) => return Err(status::of(error)),
    };
    let opened = stat(&fd)?;
    if Key::of(&opened) != key || kind(&opened) != kind(found) {
        return Ok(None);
    }
    let action = if replaces { replace(folder, (&fd, &opened), how)? } else { CreateAction::OPENED };
    Ok(Some((reserved.confirm((fd, &opened), place, how)?, action)))
}

/// Opens a file in the table, with what it is `granted`, if it goes with those who have it open as it is opened: by `access`. None: the name
/// was being made, or the path has changed.
fn reserve<'a>(
    folder: &'a Folder,
    (key, place): (Key, Option<&Place>),
    how: &OpenParameters,
    (granted, access): (AccessMask, AccessMask),
) -> FileResult<Option<Reserved<'a>>> {
    let path = folder.path(&how.path);
    let opener = opener(path, place, how, granted);
    let (mut table, has_waited) = folder.table.lock_unless(|table| table.is_claimed(place, &opener.path));
    if has_waited {
        return Ok(None);
    }
    if table.is_pending(key) {
        return Err(NtStatus::DELETE_PENDING);
    }
    table.check(key, &Use { access, share: how.share_access })?;
    let open = table.add(key, opener);
    Ok(Some(Reserved::new(folder, key, open)))
}

/// Empties a file.
fn replace(
    folder: &Folder,
    (fd, stat): (&OwnedFd, &Statx),
    how: &OpenParameters,
) -> FileResult<CreateAction> {
    folder.acts(Act::Truncate);
    if makes_read_only(how)? {
        fchmod(fd, with_read_only(stat, true)).map_err(status::of)?;
    }
    ftruncate(fd, 0).map_err(status::of)?;
    let superseded = how.disposition == CreateDisposition::SUPERSEDE;
    Ok(if superseded { CreateAction::SUPERSEDED } else { CreateAction::OVERWRITTEN })
}

/// Whether what gets its attributes by this is READONLY. Then it cannot go when it is closed.
fn makes_read_only(how: &OpenParameters) -> FileResult<bool> {
    let read_only = how.file_attributes.contains(FileAttributes::READONLY);
    if read_only && how.options.contains(CreateOptions::DELETE_ON_CLOSE) {
        return Err(NtStatus::CANNOT_DELETE);
    }
    Ok(read_only)
}

/// How a file is opened on the host.
const fn flags(access: AccessMask) -> OFlags {
    match (access.0 & READS != 0, access.0 & WRITES != 0) {
        (true, true) => OFlags::RDWR,
        (false, true) => OFlags::WRONLY,
        (_, false) => OFlags::RDONLY,
    }
}

fn open_file(place: &Place, access: AccessMask) -> Result<OwnedFd, Errno> {
    let only_looks = access.0 & (READS | WRITES) == 0;
    match place.open(flags(access), Mode::empty()) {
        // Who only looks at attributes need not be let read.
        Err(Errno::ACCESS) if only_looks => match place.open(OFlags::WRONLY, Mode::empty()) {
            Err(Errno::ACCESS) => place.open(OFlags::PATH, Mode::empty()),
            opened => opened,
        },
        opened => opened,
    }
}

/// Makes what was not there when `made` names had been made.
fn make(
    folder: &Folder,
    place: &Place,
    made: u64,
    how: &OpenParameters,
) -> FileResult<Option<(FolderFile, CreateAction)>> {
    if how.disposition == CreateDisposition::OPEN || how.disposition == CreateDisposition::OVERWRITE {
        return Err(NtStatus::OBJECT_NAME_NOT_FOUND);
    }
    let (path, name) = (folder.path(&how.path), place.key());
    let (table, has_waited) = folder.table.lock_unless(|table| table.is_claimed(Some(place), &path));
    let is_other = |made: &NameKey| *made == name;
    if has_waited || (!folder.options.case_sensitive && table.was_made_since(made, is_other)) {
        return Ok(None);
    }
    // Nothing comes into a directory that goes.
    if table.is_pending(place.parent_key) {
        return Err(NtStatus::DELETE_PENDING);
    }
    let read_only = makes_read_only(how)?;
    let claimed = Claimed::new(&folder.table, table, Claim { name, path: path.clone(), moves: None });
    folder.acts(Act::Open);
    let opened = if how.options.contains(CreateOptions::DIRECTORY_FILE) {
        mkdirat(&place.parent, place.name.as_os_str(), DIRECTORY_MODE)
            .and_then(|()| place.open(OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()))
    } else {
        let mode = if read_only { FILE_MODE - Mode::from_raw_mode(0o222) } else { FILE_MODE };
        place.open(flags(how.access) | OFlags::CREATE | OFlags::EXCL, mode)
    };
    let fd = match opened {
        Ok(fd) => fd,
        Err(Errno::EXIST | Errno::LOOP) => return Ok(None),
        // The directory has gone.
        Err(Errno::NOENT) => return Err(NtStatus::OBJECT_PATH_NOT_FOUND),
        Err(error) => return Err(status::of(error)),
    };
    let stat = stat(&fd)?;
    let (key, opener) = (Key::of(&stat), opener(path, Some(place), how, how.access));
    let reserved = Reserved::new(folder, key, claimed.end(|table| table.add(key, opener)));
    Ok(Some((reserved.confirm((fd, &stat), Some(place), how)?, CreateAction::CREATED)))
}

/// Closes a file. What is to be deleted goes with the last who has it open.
pub(super) fn close(folder: &Folder, file: &FolderFile) {
    may_wait();
    let deletes = |table: &Table| table.opened(file.key, file.open).is_ok_and(|open| open.delete_on_close);
    if deletes(&folder.table.lock()) {
        // What cannot go stays.
        let _ = mark(folder, file);
    }
    release(folder, file.key, file.open);
}
