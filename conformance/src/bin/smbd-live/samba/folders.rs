//! What programs do with files besides reading and writing: many of them, names, locks, mappings.

use std::collections::BTreeSet;
use std::fs::{self, File, TryLockError};
use std::io::ErrorKind;
use std::path::Path;

use smbd_tools::exercise::pattern;

use super::ends::ends_well;
use super::mapping::Mapping;
use super::service::{Service, UNCACHED, behind, let_all_write};
use super::sizes::equal;
use crate::case::{Case, Context, Failure, Outcome, Target};
use crate::expect::{holds, same};

const fn case(name: &'static str, about: &'static str, run: fn(&Context) -> Outcome) -> Case {
    Case { name, target: Target::SambaFiles, about, run }
}

pub(super) const CASES: &[Case] = &[
    case(
        "samba::folders::small_files",
        "1000 files of 0 to 10,000 bytes: written, read, removed",
        small_files,
    ),
    case(
        "samba::folders::names",
        "files and folders are renamed, also over others, and seen so on both sides",
        names,
    ),
    case("samba::folders::large_folder", "a folder of 5000 entries is listed, each once", large_folder),
    case("samba::folders::locks", "a lock of one mount is held against another one", locks),
    case("samba::folders::mapped", "files are read and written through memory", mapped),
];

/// How long the contents of a small file are.
const fn length(number: u64) -> usize {
    (number * number % 10_001) as usize
}

pub(super) fn small_files(context: &Context) -> Outcome {
    const COUNT: u64 = 1000;
    let service = Service::begin(context, "small-files")?;
    let mounted = service.mount("vers=3.1.1")?;
    let name = |number: u64| format!("file-{number}");
    for number in 0..COUNT {
        fs::write(mounted.file(&name(number)), pattern(number, length(number)))?;
    }
    for number in 0..COUNT {
        let expected = pattern(number, length(number));
        equal(&name(number), &fs::read(behind(&name(number)))?, &expected)?;
        equal(&name(number), &fs::read(mounted.file(&name(number)))?, &expected)?;
    }
    for number in 0..COUNT {
        fs::remove_file(mounted.file(&name(number)))?;
    }
    same("files that are left", fs::read_dir(behind(""))?.count(), 0)?;
    ends_well(&service, mounted)
}

pub(super) fn names(context: &Context) -> Outcome {
    let service = Service::begin(context, "names")?;
    let mounted = service.mount(&format!("{UNCACHED},iocharset=utf8"))?;
    let contents = pattern(1, 20_000);
    fs::create_dir_all(mounted.file("a/b"))?;
    for number in 0..200 {
        let (from, to) = (format!("a/from-{number}"), format!("a/b/to-{number}"));
        fs::write(mounted.file(&from), &contents[number..])?;
        fs::rename(mounted.file(&from), mounted.file(&to))?;
        equal(&to, &fs::read(behind(&to))?, &contents[number..])?;
    }
    // Over another file, and with a folder that has files in it.
    fs::rename(mounted.file("a/b/to-0"), mounted.file("a/b/to-1"))?;
    equal("the file that took a name", &fs::read(behind("a/b/to-1"))?, &contents)?;
    fs::rename(mounted.file("a"), mounted.file("ä и 漢"))?;
    same("entries", fs::read_dir(behind("ä и 漢/b"))?.count(), 199)?;
    equal("a file of the folder", &fs::read(mounted.file("ä и 漢/b/to-9"))?, &contents[9..])?;
    let over = fs::rename(mounted.file("ä и 漢/b"), mounted.file("ä и 漢/b/c"));
    holds(over.is_err(), || "a folder was moved into itself".into())?;
    fs::remove_dir_all(mounted.file("ä и 漢"))?;
    same("files that are left", fs::read_dir(behind(""))?.count(), 0)?;
    ends_well(&service, mounted)
}

pub(super) fn large_folder(context: &Context) -> Outcome {
    const COUNT: usize = 5000;
    let service = Service::begin(context, "large-folder")?;
    let mounted = service.mount("vers=3.1.1")?;
    fs::create_dir(behind("folder"))?;
    let name = |number| format!("a-name-that-is-not-so-short-{number:05}");
    for number in 0..COUNT {
        File::create(behind("folder").join(name(number)))?;
    }
    let list = |folder: &Path| -> Result<Vec<String>, Failure> {
        let entries = fs::read_dir(folder)?;
        entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
    };
    let seen = list(&mounted.file("folder"))?;
    same("entries", seen.len(), COUNT)?;
    let names: BTreeSet<_> = seen.into_iter().collect();
    holds(names == (0..COUNT).map(name).collect(), || "other names".into())?;
    ends_well(&service, mounted)
}

/// cifs makes of `flock` a lock of the server.
pub(super) fn locks(context: &Context) -> Outcome {
    let service = Service::begin(context, "locks")?;
    let one = service.mount(UNCACHED)?;
    let other = service.mount_beside("share", &format!("{UNCACHED},nosharesock"))?;
    fs::write(behind("file"), pattern(3, 100_000))?;
    let_all_write(&behind("file"))?;
    let open = |path| File::options().read(true).write(true).open(path);
    let (held, wanted) = (open(one.file("file"))?, open(other.file("file"))?);
    held.lock()?;
    let said = is_locked(&wanted)?;
    held.unlock()?;
    wanted.lock()?;
    is_locked(&held)?;
    // The lock of who has gone has gone as well.
    drop(wanted);
    held.lock()?;
    drop(held);
    let mark = service.gateway().mark();
    other.unmount()?;
    service.ended(mark)?;
    Ok(format!("{said}; {}", ends_well(&service, one)?))
}

/// Demands that a file cannot be locked because another has locked it. cifs.ko 6.12 says that there is no permission, not that it would
/// have to wait.
fn is_locked(file: &File) -> Result<String, Failure> {
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Ok("it would block".into()),
        Err(TryLockError::Error(error)) if error.kind() == ErrorKind::PermissionDenied => {
            Ok(error.to_string())
        }
        Err(TryLockError::Error(error)) => Err(format!("a second lock: {error}").into()),
        Ok(()) => Err("two locks at once".into()),
    }
}

pub(super) fn mapped(context: &Context) -> Outcome {
    const LENGTH: usize = 1_000_000;
    let service = Service::begin(context, "mapped")?;
    let mounted = service.mount("vers=3.1.1")?;
    let mut contents = pattern(4, LENGTH).to_vec();
    fs::write(behind("file"), &contents)?;
    let_all_write(&behind("file"))?;
    let mut mapping = Mapping::of(&mounted.file("file"))?;
    for (offset, len) in [(0, 1), (4095, 2), (65_535, 70_000), (LENGTH - 5000, 5000)] {
        let seen = mapping.read(offset, len)?;
        equal("what was mapped", &seen, &contents[offset..offset + len])?;
    }
    for (seed, (offset, len)) in (5..).zip([(0, 10), (4090, 12), (200_000, 300_000), (LENGTH - 1, 1)]) {
        let new = pattern(seed, len);
        mapping.write(offset, &new)?;
        contents[offset..offset + len].copy_from_slice(&new);
    }
    mapping.end()?;
    equal("behind the share", &fs::read(behind("file"))?, &contents)?;
    equal("read again", &fs::read(mounted.file("file"))?, &contents)?;
    ends_well(&service, mounted)
}
