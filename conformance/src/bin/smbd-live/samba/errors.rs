//! Requests that the server refuses: the registration of each has to be given back like that of one that succeeded.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::os::unix::fs::FileExt;

use smbd_tools::exercise::pattern;

use super::ends::ends_well;
use super::lab;
use super::service::{Service, UNCACHED, behind, let_all_write};
use super::sizes::equal;
use super::traffic::goes_on;
use crate::case::{Case, Context, Failure, Outcome, Target};
use crate::expect::{holds, same};
use crate::linux::Linux;

const fn case(name: &'static str, about: &'static str, run: fn(&Context) -> Outcome) -> Case {
    Case { name, target: Target::SambaErrors, about, run }
}

pub(super) const CASES: &[Case] = &[
    case("samba::errors::read_only", "a share that cannot be written, then 10,000 operations", read_only),
    case("samba::errors::full_disk", "writes to a full disk are refused, then 2500 operations", full_disk),
    case(
        "samba::errors::removed",
        "a file that is removed and cut behind its reader, then 2500 operations",
        removed,
    ),
    case(
        "samba::errors::locked",
        "reads and writes of what another mount has locked, then 2500 operations",
        locked,
    ),
];

const PIECE: usize = 64 << 10;

/// The kind of an error that has to come.
fn refused<T>(what: &str, result: std::io::Result<T>, kinds: &[ErrorKind]) -> Result<String, Failure> {
    match result {
        Err(error) if kinds.contains(&error.kind()) => Ok(error.to_string()),
        Err(error) => Err(format!("{what}: {error}").into()),
        Ok(_) => Err(format!("{what} was not refused").into()),
    }
}

/// Demands that a write is refused, twice; the error of the second. Of a refused write cifs.ko 6.12 says with `cache=none` that it
/// wrote 0 bytes, and gives the error with one of the next, over TCP as well.
fn write_refused(file: &File, bytes: &[u8], offset: u64) -> Result<std::io::Error, Failure> {
    let attempt = || match file.write_all_at(bytes, offset) {
        Err(error) => Ok(error),
        Ok(()) => Err("a write was not refused"),
    };
    attempt()?;
    Ok(attempt()?)
}

fn read_only(context: &Context) -> Outcome {
    let still = ["[still]", "path = /run/share", "read only = yes"];
    let service = Service::begin_with(context, "read-only", &still, &[])?;
    let mounted = service.mount(UNCACHED)?;
    let beside = service.mount_beside("still", UNCACHED)?;
    let contents = pattern(1, 200_000);
    fs::write(mounted.file("file"), &contents)?;
    let mut said = String::new();
    let kinds = [ErrorKind::PermissionDenied, ErrorKind::ReadOnlyFilesystem];
    for _ in 0..100 {
        said = refused("a new file", File::create(beside.file("new")), &kinds)?;
        refused("an open", File::options().write(true).open(beside.file("file")), &kinds)?;
        equal("what can be read", &fs::read(beside.file("file"))?, &contents)?;
    }
    beside.unmount()?;
    goes_on(&mounted, 10_000)?;
    Ok(format!("{said}; {}", ends_well(&service, mounted)?))
}

fn full_disk(context: &Context) -> Outcome {
    lab::call("disk", &["small", "8"])?;
    let service =
        Service::begin_with(context, "full-disk", &["[small]", "path = /run/small", "read only = no"], &[])?;
    let mounted = service.mount(UNCACHED)?;
    let small = service.mount_beside("small", UNCACHED)?;
    let (mut said, mut written) = (String::new(), 0);
    for round in 0..20 {
        let file = File::create(small.file("large"))?;
        let piece = pattern(round, PIECE << (round % 5));
        written = 0;
        while file.write_all_at(&piece, written as u64).is_ok() {
            written += piece.len();
            holds(written < 16 << 20, || "the disk is not full".into())?;
        }
        let error = write_refused(&file, &piece, written as u64)?;
        let is_known = matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::WriteZero);
        holds(is_known, || format!("a write to a full disk: {error}"))?;
        said = error.to_string();
        drop(file);
        fs::remove_file(small.file("large"))?;
        fs::write(small.file("fits"), pattern(round, 500_000))?;
        equal("what fits", &fs::read("/run/small/fits")?, &pattern(round, 500_000))?;
        fs::remove_file(small.file("fits"))?;
    }
    small.unmount()?;
    goes_on(&mounted, 2500)?;
    Ok(format!("{said} after {written} bytes, 20 times; {}", ends_well(&service, mounted)?))
}

fn locked(context: &Context) -> Outcome {
    let service = Service::begin(context, "locked")?;
    let mounted = service.mount(UNCACHED)?;
    let other = service.mount_beside("share", &format!("{UNCACHED},nosharesock"))?;
    fs::write(behind("file"), pattern(2, 4 * PIECE))?;
    let_all_write(&behind("file"))?;
    let open = |path| File::options().read(true).write(true).open(path);
    let (holder, wanting) = (open(other.file("file"))?, open(mounted.file("file"))?);
    let mut said = String::new();
    let mut buffer = vec![0; PIECE];
    for round in 0..200 {
        holder.lock()?;
        let before = fs::read(behind("file"))?;
        write_refused(&wanting, &pattern(round, PIECE), 0)?;
        let mut read = || wanting.read_at(&mut buffer, PIECE as u64);
        let mut seen = read();
        if round == 0 && seen.is_ok() && Linux::running()?.cifs().reads_past_a_lock {
            seen = read();
        }
        said = refused("a read", seen, &[ErrorKind::PermissionDenied])?;
        equal("what is locked", &fs::read(behind("file"))?, &before)?;
        holder.unlock()?;
        if wanting.write_all_at(&pattern(round, PIECE), 0).is_err() {
            // That was the error of the write before.
            wanting.write_all_at(&pattern(round, PIECE), 0)?;
        }
        wanting.read_exact_at(&mut buffer, 0)?;
        equal("what was written without a lock", &buffer, &pattern(round, PIECE))?;
    }
    drop((holder, wanting));
    goes_on(&mounted, 2500)?;
    let mark = service.gateway().mark();
    other.unmount()?;
    service.ended(mark)?;
    Ok(format!("{said}, 200 times; {}", ends_well(&service, mounted)?))
}

fn removed(context: &Context) -> Outcome {
    const ROUNDS: u64 = 100;
    let service = Service::begin(context, "removed")?;
    let mounted = service.mount(&format!("{UNCACHED},actimeo=0"))?;
    let mut buffer = vec![0; PIECE];
    for round in 0..ROUNDS {
        // cifs would take a name that it knows for the file it had.
        let name = format!("file-{round}");
        fs::write(behind(&name), pattern(round, 4 * PIECE))?;
        let_all_write(&behind(&name))?;
        let file = File::options().read(true).write(true).open(mounted.file(&name))?;
        // Behind the end that the client remembers, and the server does not.
        File::options().write(true).open(behind(&name))?.set_len(PIECE as u64)?;
        let got = file.read_at(&mut buffer, 2 * PIECE as u64)?;
        holds(buffer[..got].iter().all(|byte| *byte == 0), || "bytes behind the end".into())?;
        fs::remove_file(behind(&name))?;
        // The server has it open, and serves it.
        file.read_exact_at(&mut buffer, 0)?;
        equal("a file without a name", &buffer, &pattern(round, PIECE))?;
        file.write_all_at(&pattern(!round, PIECE), 0)?;
        file.read_exact_at(&mut buffer, 0)?;
        equal("what was written to it", &buffer, &pattern(!round, PIECE))?;
        drop(file);
        // The server says that it is not there, and cifs.ko 6.12 makes that of it, over TCP as well.
        let gone = File::open(mounted.file(&name));
        refused("an open", gone, &[ErrorKind::NotFound, ErrorKind::InvalidInput])?;
    }
    same("files that are left", fs::read_dir(behind(""))?.count(), 0)?;
    goes_on(&mounted, 2500)?;
    let how = ends_well(&service, mounted)?;
    Ok(format!("{ROUNDS} files; {how}"))
}
