//! Files of all sizes at which something else happens, in both directions.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::fs::FileExt;

use smbd_tools::exercise::pattern;

use super::debug_data;
use super::service::{Service, UNCACHED, await_that, behind};
use crate::case::{Case, Context, Failure, Outcome, Target};
use crate::cifs::Mounted;
use crate::expect::{holds, same};

const fn case(name: &'static str, about: &'static str, run: fn(&Context) -> Outcome) -> Case {
    Case { name, target: Target::Samba, about, run }
}

const fn long(name: &'static str, about: &'static str, run: fn(&Context) -> Outcome) -> Case {
    Case { name, target: Target::SambaFiles, about, run }
}

pub(super) const CASES: &[Case] = &[
    long(
        "samba::sizes::of_3_0",
        "files of all sizes with dialect 3.0, whose channel does not invalidate",
        of_3_0,
    ),
    long("samba::sizes::of_3_0_2", "the same with dialect 3.0.2, whose channel does", of_3_0_2),
    case(
        "samba::sizes::of_3_1_1",
        "the same with dialect 3.1.1, whose keys depend on each byte of its NEGOTIATE",
        of_3_1_1,
    ),
    case(
        "samba::sizes::ends_of_files",
        "reads at the end of a file, beyond it, and where it has just been cut",
        ends_of_files,
    ),
];

/// From this size on cifs uses RDMA.
const THRESHOLD: usize = 4096;
/// The longest message that cifs receives.
const FRAGMENTED_MAX: usize = 173_910;
/// At these, and one below and above, something else happens: the way, the credits, the number of requests, the longest of them.
const BOUNDARIES: [usize; 5] = [THRESHOLD, 64 << 10, FRAGMENTED_MAX, 1 << 20, 4 << 20];

fn sizes() -> Vec<usize> {
    let around = BOUNDARIES.into_iter().flat_map(|size| [size - 1, size, size + 1]);
    [0, 1].into_iter().chain(around).chain([16 << 20]).collect()
}

pub(super) fn of_3_0(context: &Context) -> Outcome {
    files(context, "3.0", "3.0")
}

pub(super) fn of_3_0_2(context: &Context) -> Outcome {
    files(context, "3.0.2", "3.0.2")
}

pub(super) fn of_3_1_1(context: &Context) -> Outcome {
    files(context, "3.1.1", "3.1.1")
}

/// Files are written on one side and read on the other, and the other way round; what cifs read it also reads again from the file
/// that it has written.
fn files(context: &Context, version: &'static str, dialect: &str) -> Outcome {
    let service = Service::begin(context, version)?;
    // Of two versions the last one counts.
    let mounted = service.mount(&format!("{UNCACHED},vers={version}"))?;
    let (mut small, mut large) = (0, 0);
    for (number, size) in sizes().into_iter().enumerate() {
        round(&mounted, number as u64, size).map_err(|error| format!("file of {size} bytes: {error}"))?;
        if size < THRESHOLD {
            small += size
        } else {
            large += size
        };
    }
    let connections = debug_data::no_region_is_left()?;
    let mark = service.gateway().mark();
    mounted.unmount()?;
    let ended = service.ended(mark)?;
    ended.is("dialect", dialect)?;
    if service.is_gateway() {
        ended.is("session", "rdma")?;
    }
    let (read, written) = (ended.number("rdma_in")?, ended.number("rdma_out")?);
    // What is left of a file behind its last whole request may be too short for RDMA.
    let least = (large - BOUNDARIES.len() * THRESHOLD) as u64;
    holds(read >= least && read <= large as u64, || format!("{read} bytes by RDMA Read, of {large}"))?;
    holds(written >= 2 * least && written <= 2 * large as u64, || {
        format!("{written} bytes by RDMA Write, of {}", 2 * large)
    })?;
    Ok(format!(
        "{} files, {read} bytes by RDMA Read and {written} by RDMA Write, {small} too short for it each way; {} registrations ready",
        sizes().len(),
        connections.iter().map(|one| one.ready).sum::<u32>()
    ))
}

/// A file of this size in both directions.
fn round(mounted: &Mounted, seed: u64, size: usize) -> Result<(), Failure> {
    let contents = pattern(seed, size);
    // A name that was used before could come with the length that the client remembers.
    let (up, down) = (format!("up-{size}"), format!("down-{size}"));
    let mut file = File::create(mounted.file(&up))?;
    file.write_all(&contents)?;
    // What the server has only begun to write is not told before.
    file.sync_all()?;
    drop(file);
    equal("behind the share", &fs::read(behind(&up))?, &contents)?;
    equal("what was written, read again", &read(mounted, &up)?, &contents)?;
    let contents = pattern(!seed, size);
    fs::write(behind(&down), &contents)?;
    equal("what the server has", &read(mounted, &down)?, &contents)?;
    fs::remove_file(mounted.file(&up))?;
    fs::remove_file(behind(&down))?;
    Ok(())
}

/// All of a file.
fn read(mounted: &Mounted, name: &str) -> Result<Vec<u8>, Failure> {
    let mut contents = Vec::new();
    File::open(mounted.file(name))?.read_to_end(&mut contents)?;
    Ok(contents)
}

/// Demands the same bytes, and says which are not, and what they are instead.
pub(super) fn equal(what: &str, seen: &[u8], expected: &[u8]) -> Result<(), Failure> {
    same(&format!("{what}: length"), seen.len(), expected.len())?;
    let wrong = |at: &usize| seen[*at] != expected[*at];
    let Some(first) = (0..seen.len()).find(wrong) else { return Ok(()) };
    let last = (0..seen.len()).rev().find(wrong).unwrap_or(first);
    // Eight bytes of a pattern are at one place only.
    let sample = &seen[first..seen.len().min(first + 8)];
    let place = if sample.iter().all(|byte| *byte == 0) {
        "zeros".to_owned()
    } else {
        let place = expected.windows(sample.len()).position(|part| part == sample);
        place.map_or("none of its bytes".to_owned(), |at| format!("what belongs to {at}"))
    };
    let count = (first..=last).filter(wrong).count();
    Err(format!("{what}: of {} bytes {first} to {last} are wrong ({count}), and {place}", seen.len()).into())
}

pub(super) fn ends_of_files(context: &Context) -> Outcome {
    const LENGTH: usize = 300_000;
    const CUT: usize = 100_000;
    let service = Service::begin(context, "ends")?;
    let mounted = service.mount(UNCACHED)?;
    let contents = pattern(7, LENGTH);
    fs::write(behind("file"), &contents)?;
    let file = File::open(mounted.file("file"))?;
    let mut buffer = vec![0; 1 << 20];
    let mut read_at = |offset: usize, len: usize| -> Result<Vec<u8>, Failure> {
        let got = file.read_at(&mut buffer[..len], offset as u64)?;
        Ok(buffer[..got].to_vec())
    };
    for len in [1, THRESHOLD - 1, THRESHOLD, 64 << 10, 1 << 20] {
        for before_end in [0, 1, THRESHOLD - 1, THRESHOLD, THRESHOLD + 1, LENGTH] {
            let offset = LENGTH - before_end;
            let expected = &contents[offset..LENGTH.min(offset + len)];
            equal(&format!("{len} bytes at {offset}"), &read_at(offset, len)?, expected)?;
        }
        same("bytes behind the end", read_at(LENGTH + 1, len)?.len(), 0)?;
    }
    // The client remembers another length, so that it is the server that says where the end is.
    File::options().write(true).open(behind("file"))?.set_len(CUT as u64)?;
    let seen = read_at(CUT - 50_000, 100_000)?;
    equal(
        "what is left of a file that was cut",
        &seen[..seen.len().min(50_000)],
        &contents[CUT - 50_000..CUT],
    )?;
    holds(seen[50_000..].iter().all(|byte| *byte == 0), || "bytes behind the end are not zero".into())?;
    let beyond = read_at(CUT + 50_000, 64 << 10)?;
    holds(beyond.iter().all(|byte| *byte == 0), || "bytes beyond the end are not zero".into())?;
    drop(file);
    // Linux 7.3 keeps a file that was closed for a second, with its length.
    await_that("the length of a file that was cut", || {
        Ok(fs::metadata(mounted.file("file"))?.len() == CUT as u64)
    })?;
    equal("what is left", &read(&mounted, "file")?, &contents[..CUT])?;
    debug_data::no_region_is_left()?;
    let mark = service.gateway().mark();
    same("connections that have ended", service.gateway().count(0, &["client ended "]), 0)?;
    mounted.unmount()?;
    let ended = service.ended(mark)?;
    if service.is_gateway() {
        ended.is("session", "rdma")?;
    }
    Ok(format!("{} bytes at the place of the cut, {} beyond it", seen.len(), beyond.len()))
}
