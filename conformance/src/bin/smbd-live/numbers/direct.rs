//! Reads and writes past the cache of this host.

use std::fs::File;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use rustix::fs::OFlags;
use smbd_core::Instant;
use smbd_verbs::Clock;

use super::report::{Cell, Verb};
use crate::case::Failure;

/// Direct I/O takes memory and offsets of whole pages; cifs.ko 6.12 hangs with memory that begins inside of one.
const PAGE: usize = 4096;
/// Bytes that a file is written with before it is measured.
const CHUNK: usize = 1 << 20;

/// What was moved, also before the time began.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Moved {
    /// MiB (2^20 bytes) for each second.
    pub(super) rate: f64,
    /// MiB in all, those of the beginning included.
    pub(super) mebibytes: f64,
}

/// What one thread has done.
struct Done {
    operations: u32,
    time: Duration,
}

/// Writes a file of `len` bytes, so that each later read finds data.
pub(super) fn prepare(file: &Path, len: usize) -> Result<(), Failure> {
    let mut memory = Memory::new(CHUNK);
    memory.bytes().fill(0x5a);
    let file = open(file, true)?;
    for start in (0..len).step_by(CHUNK) {
        file.write_all_at(memory.bytes(), start as u64)?;
    }
    Ok(file.sync_all()?)
}

/// Keeps as many operations under way as the cell says, for `time` at least. Each thread has a part of the file of its own.
pub(super) fn run(file: &Path, cell: &Cell, time: Duration) -> Result<Moved, Failure> {
    let barrier = Barrier::new(cell.at_once.into());
    let done: Vec<Result<Done, String>> = thread::scope(|scope| {
        let work = |number: u32| {
            let barrier = &barrier;
            scope.spawn(move || work(file, cell, number, barrier, time).map_err(|error| error.to_string()))
        };
        let threads: Vec<_> = (0..cell.at_once.into()).map(work).collect();
        threads.into_iter().map(|one| one.join().unwrap_or(Err("a thread panicked".into()))).collect()
    });
    let done = done.into_iter().collect::<Result<Vec<_>, _>>()?;
    let each = f64::from(cell.size) / f64::from(1 << 20);
    let operations: u32 = done.iter().map(|done| done.operations).sum();
    let longest = done.iter().map(|done| done.time).max().unwrap_or_default();
    let measured = f64::from(operations) * each;
    // One of each thread came before the time.
    let mebibytes = f64::from(operations.saturating_add(cell.at_once.into())) * each;
    Ok(Moved { rate: measured / longest.as_secs_f64(), mebibytes })
}

fn work(
    file: &Path,
    cell: &Cell,
    number: u32,
    barrier: &Barrier,
    time: Duration,
) -> Result<Done, std::io::Error> {
    let mut memory = Memory::new(cell.size as usize);
    let offset = u64::from(number) * u64::from(cell.size);
    let operation = |file: &File, memory: &mut Memory| match cell.verb {
        Verb::Read => file.read_exact_at(memory.bytes(), offset),
        Verb::Write => file.write_all_at(memory.bytes(), offset),
    };
    let first = open(file, false).and_then(|file| operation(&file, &mut memory).map(|()| file));
    // All of them, or the others would wait for ever.
    barrier.wait();
    let file = first?;
    let clock = Clock::start();
    let (mut operations, mut passed) = (0, Duration::ZERO);
    while passed < time {
        operation(&file, &mut memory)?;
        operations += 1;
        passed = clock.now().saturating_since(Instant::ORIGIN);
    }
    Ok(Done { operations, time: passed })
}

fn open(file: &Path, create: bool) -> std::io::Result<File> {
    let direct = OFlags::DIRECT.bits().cast_signed();
    File::options().read(true).write(true).create(create).custom_flags(direct).open(file)
}

/// Memory that begins with a page.
struct Memory {
    all: Vec<u8>,
    len: usize,
}

impl Memory {
    fn new(len: usize) -> Self {
        Self { all: vec![0; len + PAGE], len }
    }

    fn bytes(&mut self) -> &mut [u8] {
        let start = self.all.as_ptr().align_offset(PAGE);
        &mut self.all[start..start + self.len]
    }
}

#[cfg(test)]
mod tests {
    use super::{Memory, PAGE};

    #[test]
    fn memory_for_direct_io_begins_with_a_page() {
        for len in [1, PAGE, 4 << 20] {
            let mut memory = Memory::new(len);
            assert_eq!(memory.bytes().len(), len);
            assert!(memory.bytes().as_ptr().addr().is_multiple_of(PAGE));
        }
    }
}
