//! Requests that the server refuses: the registration of each has to be given back like that of one that succeeded.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::os::unix::fs::FileExt;

use smbd_tools::exercise::pattern;

use super::ends::ends_well;
use super::lab;
use super::service::{Service, UNCACHED, behind, let_all_write};
use super::sizes::equal;
use crate::case::{Case, Context, Failure, Outcome, Target};
use crate::cifs::Mounted;
use crate::expect::{holds, same};

const fn case(name: &'static str, about: &'static str, run: fn(&Context) -> Outcome) -> Case {
    Case { name, target: Target::SambaErrors, about, run }
}

pub(super) const CASES: &[Case] = &[
    case("samba::errors::read_only", "a share that cannot be written, then 10,000 operations", read_only),
    case("samba::errors::full_disk", "writes to a full disk are refused, then 10,000 operations", full_disk),
    case(
        "samba::errors::locked",
        "reads and writes of what another mount has locked, then 10,000 operations",
        locked,
    ),
    case(
        "samba::errors::removed",
        "a file that is removed and cut behind its reader, then 10,000 operations",
        removed,
    ),
];

const PIECE: usize = 64 << 10;

/// 10,000 reads and writes of 4096 bytes and more, each of them by RDMA.
pub(super) fn goes_on(mounted: &Mounted, count: u64) -> Result<(), Failure> {
    const LENGTH: usize = 1 << 20;
    let path = mounted.file("goes-on");
    fs::write(&path, pattern(1, LENGTH))?;
    let mut model = pattern(1, LENGTH).to_vec();
    let file = File::options().read(true).write(true).open(&path)?;
    let mut seen = vec![0; 8192];
    for number in 0..count {
        // 4099 is prime: each place comes in its turn.
        let offset = (number as usize * 4099) % (LENGTH - seen.len());
        let len = 4096 + number as usize % 4096;
        let place = offset..offset + len;
        if number % 5 == 0 {
            model[place.clone()].copy_from_slice(&pattern(number, len));
            file.write_all_at(&model[place], offset as u64)?;
        } else {
            file.read_exact_at(&mut seen[..len], offset as u64)?;
            equal(&format!("operation {number}"), &seen[..len], &model[place])?;
        }
    }
    drop(file);
    equal("all of it", &fs::read(&path)?, &model)
}

/// The kind of an error that has to come.
fn refused<T>(what: &str, result: std::io::Result<T>, kinds: &[ErrorKind]) -> Result<String, Failure> {
    match result {
        Err(error) if kinds.contains(&error.kind()) => Ok(error.to_string()),
        Err(error) => Err(format!("{what}: {error}").into()),
        Ok(_) => Err(format!("{what} was not refused").into()),
    }
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
        said = loop {
            match file.write_all_at(&piece, written as u64) {
                Ok(()) => written += piece.len(),
                other => break refused("a write", other, &[ErrorKind::StorageFull])?,
            }
            holds(written < 16 << 20, || "the disk is not full".into())?;
        };
        drop(file);
        fs::remove_file(small.file("large"))?;
        fs::write(small.file("fits"), pattern(round, 500_000))?;
        equal("what fits", &fs::read("/run/small/fits")?, &pattern(round, 500_000))?;
        fs::remove_file(small.file("fits"))?;
    }
    small.unmount()?;
    goes_on(&mounted, 10_000)?;
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
        let kinds = [ErrorKind::PermissionDenied, ErrorKind::ResourceBusy, ErrorKind::WouldBlock];
        said = refused("a write", wanting.write_at(&pattern(round, PIECE), 0), &kinds)?;
        refused("a read", wanting.read_at(&mut buffer, PIECE as u64), &kinds)?;
        holder.unlock()?;
        wanting.write_all_at(&pattern(round, PIECE), 0)?;
        wanting.read_exact_at(&mut buffer, 0)?;
        equal("what was written without a lock", &buffer, &pattern(round, PIECE))?;
    }
    drop((holder, wanting));
    goes_on(&mounted, 10_000)?;
    let mark = service.gateway().mark();
    other.unmount()?;
    service.ended(mark)?;
    Ok(format!("{said}, 400 times; {}", ends_well(&service, mounted)?))
}

fn removed(context: &Context) -> Outcome {
    let service = Service::begin(context, "removed")?;
    let mounted = service.mount(&format!("{UNCACHED},actimeo=0"))?;
    let mut buffer = vec![0; PIECE];
    for round in 0..100 {
        fs::write(behind("file"), pattern(round, 4 * PIECE))?;
        let_all_write(&behind("file"))?;
        let file = File::options().read(true).write(true).open(mounted.file("file"))?;
        // Behind the end that the client remembers, and the server does not.
        File::options().write(true).open(behind("file"))?.set_len(PIECE as u64)?;
        let got = file.read_at(&mut buffer, 2 * PIECE as u64)?;
        holds(buffer[..got].iter().all(|byte| *byte == 0), || "bytes behind the end".into())?;
        fs::remove_file(behind("file"))?;
        // The server has it open, and serves it.
        file.read_exact_at(&mut buffer, 0)?;
        equal("a file without a name", &buffer, &pattern(round, PIECE))?;
        file.write_all_at(&pattern(!round, PIECE), 0)?;
        drop(file);
        let gone = File::open(mounted.file("file"));
        refused("an open", gone, &[ErrorKind::NotFound])?;
    }
    same("files that are left", fs::read_dir(behind(""))?.count(), 0)?;
    goes_on(&mounted, 10_000)?;
    ends_well(&service, mounted)
}
