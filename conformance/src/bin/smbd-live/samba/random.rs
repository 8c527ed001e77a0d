//! Random operations on one file, held against a model of it, for a minute.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use smbd_core::Instant;
use smbd_sim::Rng;
use smbd_tools::exercise::pattern;
use smbd_verbs::Clock;

use super::ends::ends_well;
use super::mapping::Mapping;
use super::service::{Service, UNCACHED, behind};
use super::sizes::equal;
use crate::case::{Case, Context, Failure, Outcome, Target};
use crate::expect::same;

const fn case(name: &'static str, about: &'static str, run: fn(&Context) -> Outcome) -> Case {
    Case { name, target: Target::SambaFiles, about, run }
}

pub(super) const CASES: &[Case] = &[
    case(
        "samba::random::uncached",
        "a minute of reads, writes and cuts, each of them one of the server",
        uncached,
    ),
    case("samba::random::cached", "the same with the cache of the client, and through memory", cached),
];

const TIME: Duration = Duration::from_secs(60);
/// The greatest length of the file, and of one read or write.
const FILE_MAX: usize = 12 << 20;
const LEN_MAX: u64 = 3 << 20;
/// Operations that are told when one was wrong.
const TOLD: usize = 12;

pub(super) fn uncached(context: &Context) -> Outcome {
    let service = Service::begin(context, "random-uncached")?;
    run(&service, UNCACHED, 1, false)
}

pub(super) fn cached(context: &Context) -> Outcome {
    let service = Service::begin(context, "random-cached")?;
    run(&service, "vers=3.1.1", 2, true)
}

fn run(service: &Service, options: &str, seed: u64, maps: bool) -> Outcome {
    let mounted = service.mount(options)?;
    let path = mounted.file("file");
    File::create(&path)?;
    let mut exercise =
        Exercise { rng: Rng::new(seed), file: open(&path)?, path, model: Vec::new(), done: Vec::new(), maps };
    let clock = Clock::start();
    while clock.now().saturating_since(Instant::ORIGIN) < TIME {
        exercise.step().map_err(|error| exercise.told(&error))?;
    }
    exercise.check_server().map_err(|error| exercise.told(&error))?;
    let (count, len) = (exercise.done.len(), exercise.model.len());
    drop(exercise);
    let how = ends_well(service, mounted)?;
    Ok(format!("{count} operations, {len} bytes in the end; {how}"))
}

fn open(path: &Path) -> Result<File, Failure> {
    Ok(File::options().read(true).write(true).open(path)?)
}

/// One file, and what should be in it.
struct Exercise {
    rng: Rng,
    path: PathBuf,
    file: File,
    model: Vec<u8>,
    /// What was done, the last at the end.
    done: Vec<String>,
    maps: bool,
}

impl Exercise {
    /// An error with what came before it.
    fn told(&self, error: &Failure) -> Failure {
        let last = self.done.len().saturating_sub(TOLD);
        format!("operation {}: {error}; the last: {}", self.done.len(), self.done[last..].join(", ")).into()
    }

    /// A length: mostly near a size at which the way changes, otherwise any.
    fn len(&mut self) -> usize {
        let near = [1, 4096, 16 << 10, 64 << 10, 1 << 20];
        let most = match self.rng.below(8) {
            choice @ 0..5 => near[choice as usize] + self.rng.below(3) - 1,
            5 | 6 => self.rng.below(20_000),
            _ => self.rng.below(LEN_MAX),
        };
        most as usize
    }

    /// A place in the file, its end included.
    fn offset(&mut self) -> usize {
        self.rng.below(self.model.len() as u64 + 1) as usize
    }

    fn step(&mut self) -> Result<(), Failure> {
        let (offset, len) = (self.offset(), self.len());
        match self.rng.below(if self.maps { 18 } else { 14 }) {
            0..6 => self.read(offset, len),
            6..11 => self.write(offset, len),
            11 => self.cut(),
            12 => {
                self.done.push("close, open".into());
                self.file = open(&self.path)?;
                Ok(())
            }
            13 => self.check_server(),
            14..16 => self.read_mapped(offset, len),
            _ => self.write_mapped(offset, len),
        }
    }

    fn read(&mut self, offset: usize, len: usize) -> Result<(), Failure> {
        self.done.push(format!("read {len} at {offset}"));
        let mut seen = vec![0; len];
        let mut got = 0;
        while got < len {
            match self.file.read_at(&mut seen[got..], (offset + got) as u64)? {
                0 => break,
                more => got += more,
            }
        }
        let expected = &self.model[offset..self.model.len().min(offset + len)];
        equal("what was read", &seen[..got], expected)
    }

    fn write(&mut self, offset: usize, len: usize) -> Result<(), Failure> {
        // Now and then behind the end, which leaves a hole.
        let hole = if self.rng.chance(1, 8) { self.rng.below(100_000) as usize } else { 0 };
        let offset = (offset + hole).min(FILE_MAX);
        let len = len.min(FILE_MAX - offset);
        self.done.push(format!("write {len} at {offset}"));
        let new = pattern(self.done.len() as u64, len);
        self.file.write_all_at(&new, offset as u64)?;
        if len > 0 {
            self.model.resize(self.model.len().max(offset + len), 0);
            self.model[offset..offset + len].copy_from_slice(&new);
        }
        Ok(())
    }

    fn cut(&mut self) -> Result<(), Failure> {
        let most = (self.model.len() + 50_000).min(FILE_MAX);
        let len = self.rng.below(most as u64 + 1) as usize;
        self.done.push(format!("cut to {len}"));
        self.file.set_len(len as u64)?;
        self.model.resize(len, 0);
        Ok(())
    }

    fn check_server(&mut self) -> Result<(), Failure> {
        self.done.push("look behind the share".into());
        self.file.sync_all()?;
        equal("behind the share", &fs::read(behind("file"))?, &self.model)?;
        same("the length that the client sees", fs::metadata(&self.path)?.len(), self.model.len() as u64)
    }

    /// What is in the file of these bytes; `None` if nothing is.
    fn inside(&self, offset: usize, len: usize) -> Option<usize> {
        Some(len.min(self.model.len() - offset).min(200_000)).filter(|len| *len > 0)
    }

    fn read_mapped(&mut self, offset: usize, len: usize) -> Result<(), Failure> {
        let Some(len) = self.inside(offset, len) else { return Ok(()) };
        self.done.push(format!("read {len} at {offset} through memory"));
        let mut mapping = Mapping::of(&self.path)?;
        let seen = mapping.read(offset, len)?;
        mapping.end()?;
        equal("what was mapped", &seen, &self.model[offset..offset + len])
    }

    fn write_mapped(&mut self, offset: usize, len: usize) -> Result<(), Failure> {
        let Some(len) = self.inside(offset, len) else { return Ok(()) };
        self.done.push(format!("write {len} at {offset} through memory"));
        let new = pattern(self.done.len() as u64, len);
        let mut mapping = Mapping::of(&self.path)?;
        mapping.write(offset, &new)?;
        mapping.end()?;
        self.model[offset..offset + len].copy_from_slice(&new);
        Ok(())
    }
}
