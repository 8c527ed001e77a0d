//! Opening, making, replacing and closing (MS-FSA 2.1.5.1, 2.1.5.5).

use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::fs::{Mode, OFlags, Statx, fchmod, ftruncate, mkdirat};
use rustix::io::Errno;
use smbd_smb2::server::{FileResult, OpenParameters, SharePath, Use};
use smbd_smb2::wire::{AccessMask, CreateAction, CreateDisposition, CreateOptions, FileAttributes, NtStatus};

use super::attributes::{Kind, Times, is_read_only, kind, with_read_only};
use super::beneath::{self, Key, Place, stat};
use super::lookup::LookedUp;
use super::table::Opened;
use super::{Folder, FolderFile, removal, status};

/// What reads and what writes.
const READS: u32 = AccessMask::READ_DATA.0 | AccessMask::EXECUTE.0;
const WRITES: u32 = AccessMask::WRITE_DATA.0 | AccessMask::APPEND_DATA.0;
/// How often something else may have come to a name between two looks at it.
const TRIES: usize = 16;
/// Modes of what is made, less what the process masks.
const FILE_MODE: Mode = Mode::from_raw_mode(0o666);
const DIRECTORY_MODE: Mode = Mode::from_raw_mode(0o777);

/// What came of one look at a name.
enum Look {
    /// What is open now, and what it is.
    Open(OwnedFd, Box<Statx>, CreateAction),
    /// The name has changed meanwhile.
    Again,
}

pub(super) fn open(folder: &mut Folder, how: &OpenParameters) -> FileResult<(FolderFile, CreateAction)> {
    by_name(folder, &how.path, |folder, looked_up| open_at(folder, how, looked_up))
}

/// Looks a name up until `act` finds that it is still what it was.
pub(super) fn by_name<T>(
    folder: &mut Folder,
    path: &SharePath,
    mut act: impl FnMut(&mut Folder, LookedUp) -> FileResult<Option<T>>,
) -> FileResult<T> {
    for _ in 0..TRIES {
        if let Some(looked_up) = folder.lookup().look_up(path, true)?
            && let Some(done) = act(folder, looked_up)?
        {
            return Ok(done);
        }
    }
    Err(NtStatus::SHARING_VIOLATION)
}

/// Opens what was looked up. None if the name has changed meanwhile, and has to be looked up again.
pub(super) fn open_at(
    folder: &mut Folder,
    how: &OpenParameters,
    looked_up: LookedUp,
) -> FileResult<Option<(FolderFile, CreateAction)>> {
    let replaces = replaces(how);
    if folder.options.read_only
        && (how.disposition != CreateDisposition::OPEN || how.access.0 & (WRITES | AccessMask::DELETE.0) != 0)
    {
        return Err(NtStatus::ACCESS_DENIED);
    }
    if folder.misses(how, &looked_up) {
        return Ok(None);
    }
    let place = looked_up.place;
    let found = match &place {
        None => Some(stat(&folder.root)?),
        Some(place) => place.stat()?,
    };
    let granted = if found.as_ref().is_some_and(is_read_only) { how.read_only_access } else { how.access };
    // What replaces writes, whatever it was opened for.
    let access = if replaces { granted | AccessMask::WRITE_DATA } else { granted };
    let usage = Use { access, share: how.share_access };
    let looked = match (&found, &place) {
        (Some(found), _) => existing(folder, place.as_ref(), found, how, &usage)?,
        (None, Some(place)) => make(folder, place, how)?,
        (None, None) => return Err(NtStatus::OBJECT_NAME_NOT_FOUND),
    };
    let Look::Open(fd, stat, action) = looked else { return Ok(None) };
    if let (CreateAction::CREATED, Some(place)) = (action, &place) {
        folder.table.made(place);
    }
    let key = Key::of(&stat);
    let delete_on_close = how.options.contains(CreateOptions::DELETE_ON_CLOSE);
    if delete_on_close {
        match may_delete(&stat, place.as_ref(), &fd) {
            // It stays when it is closed.
            Ok(()) | Err(NtStatus::DIRECTORY_NOT_EMPTY) => {}
            Err(status) => return Err(status),
        }
    }
    let needs_place = delete_on_close || how.access.contains(AccessMask::DELETE);
    let usage = Use { access: granted, share: how.share_access };
    let place = place.filter(|_| needs_place);
    let path = folder.path(&how.path);
    let opened =
        Opened { usage, path, place, delete_on_close, listing: Arc::default(), held: Times::default() };
    let open = folder.table.add(key, opened);
    Ok(Some((FolderFile { open, key, fd: Arc::new(fd) }, action)))
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
    usage: &Use,
) -> FileResult<Look> {
    let key = Key::of(found);
    if folder.table.is_pending(key) {
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
    // What replaces writes.
    if is_read_only(found) && usage.access.0 & WRITES != 0 {
        return Err(NtStatus::ACCESS_DENIED);
    }
    folder.table.check(key, usage)?;
    let opened = match place {
        None => beneath::open(&folder.root, ".", OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()),
        Some(place) if kind(found) == Kind::Directory => {
            place.open(OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty())
        }
        Some(place) => open_file(place, usage.access),
    };
    let fd = match opened {
        Ok(fd) => fd,
        Err(Errno::NOENT | Errno::LOOP | Errno::NOTDIR) => return Ok(Look::Again),
        Err(error) => return Err(status::of(error)),
    };
    let opened = stat(&fd)?;
    if Key::of(&opened) != key || kind(&opened) != kind(found) {
        return Ok(Look::Again);
    }
    if !replaces {
        return Ok(Look::Open(fd, Box::new(opened), CreateAction::OPENED));
    }
    if makes_read_only(how)? {
        fchmod(&fd, with_read_only(&opened, true)).map_err(status::of)?;
    }
    ftruncate(&fd, 0).map_err(status::of)?;
    let superseded = how.disposition == CreateDisposition::SUPERSEDE;
    let action = if superseded { CreateAction::SUPERSEDED } else { CreateAction::OVERWRITTEN };
    Ok(Look::Open(fd, Box::new(opened), action))
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

fn make(folder: &Folder, place: &Place, how: &OpenParameters) -> FileResult<Look> {
    if how.disposition == CreateDisposition::OPEN || how.disposition == CreateDisposition::OVERWRITE {
        return Err(NtStatus::OBJECT_NAME_NOT_FOUND);
    }
    // Nothing comes into a directory that goes.
    if folder.table.is_pending(place.parent_key) {
        return Err(NtStatus::DELETE_PENDING);
    }
    let read_only = makes_read_only(how)?;
    let opened = if how.options.contains(CreateOptions::DIRECTORY_FILE) {
        mkdirat(&place.parent, place.name.as_os_str(), DIRECTORY_MODE)
            .and_then(|()| place.open(OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()))
    } else {
        let mode = if read_only { FILE_MODE - Mode::from_raw_mode(0o222) } else { FILE_MODE };
        place.open(flags(how.access) | OFlags::CREATE | OFlags::EXCL, mode)
    };
    match opened {
        Ok(fd) => {
            let made = stat(&fd)?;
            Ok(Look::Open(fd, Box::new(made), CreateAction::CREATED))
        }
        Err(Errno::EXIST | Errno::LOOP) => Ok(Look::Again),
        // The directory has gone.
        Err(Errno::NOENT) => Err(NtStatus::OBJECT_PATH_NOT_FOUND),
        Err(error) => Err(status::of(error)),
    }
}

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

/// Closes a file. What is to be deleted goes with the last who has it open.
pub(super) fn close(folder: &mut Folder, file: &FolderFile) {
    let Some(opened) = folder.table.remove(file.key, file.open) else { return };
    if opened.delete_on_close
        && let Ok(stat) = stat(&file.fd)
        && may_delete(&stat, opened.place.as_ref(), &file.fd).is_ok()
        && let Ok(node) = folder.table.node_mut(file.key)
    {
        node.pending = node.pending.take().or(opened.place);
    }
    let Some(place) = folder.table.forget(file.key) else { return };
    removal::remove(&place, file.key);
}
