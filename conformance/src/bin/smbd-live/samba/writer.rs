//! A program that writes files on a mount while parts fail, in a process of its own: cifs.ko may keep one from its end.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use smbd_tools::exercise::pattern;

use super::lab;
use super::service::{Service, await_that, behind};
use super::sizes::equal;
use crate::case::Failure;
use crate::cifs::Mounted;
use crate::process::Process;

/// A connection of its own, and each write is one of the server.
pub(super) const OPTIONS: &str = "vers=3.1.1,cache=none,rsize=1044480,wsize=1044480,nosharesock";

/// What the program says of a file that is acknowledged, and of an attempt that failed.
const WRITTEN: &str = "written ";
const FAILED: &str = "failed ";

/// How long a file is.
const fn len(number: u64) -> usize {
    1000 + (number * 50_021 % 200_000) as usize
}

fn name(number: u64) -> String {
    format!("file-{number}")
}

/// The program: writes files one after the other until it is killed. What is not acknowledged is written again.
pub(crate) fn run(folder: &Path, first: u64) -> Result<(), Failure> {
    for number in first.. {
        let write = || -> std::io::Result<()> {
            let mut file = File::create(folder.join(name(number)))?;
            file.write_all(&pattern(number, len(number)))?;
            file.sync_all()
        };
        while let Err(error) = write() {
            println!("{FAILED}{number}: {error}");
        }
        println!("{WRITTEN}{number}");
    }
    Ok(())
}

/// The program at work on a mount of its own. Dropped, it is killed.
#[derive(Debug)]
pub(super) struct Writer {
    /// `None` for a moment: it is given up before there is another one, at the same place.
    mounted: Option<Mounted>,
    process: Process,
    /// Files that others before it have written, and attempts of theirs that failed.
    before: u64,
    failed: u64,
    /// How often cifs.ko hung.
    hangs: u64,
}

impl Writer {
    /// Mounts the share, and starts it.
    pub(super) fn start(service: &Service) -> Result<Self, Failure> {
        let (mounted, process) = start(service, 0)?;
        Ok(Self { mounted: Some(mounted), process, before: 0, failed: 0, hangs: 0 })
    }

    /// Files that were acknowledged so far.
    fn written(&self) -> u64 {
        self.before + self.process.count(0, &[WRITTEN]) as u64
    }

    fn attempts_failed(&self) -> u64 {
        self.failed + self.process.count(0, &[FAILED]) as u64
    }

    fn come(&self, files: u64) -> Result<(), Failure> {
        await_that("more files", || Ok(self.written() >= files)).map(drop)
    }

    /// Waits until it has gone on by so many files. If the kernel's client hangs instead, which is known of it, another one goes on with
    /// a new mount.
    pub(super) fn goes_on(&mut self, service: &Service, files: u64) -> Result<(), Failure> {
        let until = self.written() + files;
        let Err(why) = self.come(until) else { return Ok(()) };
        if !client_hangs()? {
            return Err(why);
        }
        // Of where it hangs, for the log of the guest's kernel.
        lab::shell("echo w >/proc/sysrq-trigger")?;
        self.hangs += 1;
        (self.before, self.failed) = (self.written(), self.attempts_failed());
        self.mounted.take().map_or(Ok(()), abandon)?;
        let (mounted, process) = start(service, self.before)?;
        self.mounted = Some(mounted);
        let hung = std::mem::replace(&mut self.process, process);
        // It may not end before the guest does.
        std::thread::spawn(move || drop(hung));
        self.come(until)
    }

    /// Ends it, and the mount. Each file that was acknowledged has to be there; what there was.
    pub(super) fn end(mut self, service: &Service) -> Result<String, Failure> {
        let (written, failed) = (self.written(), self.attempts_failed());
        self.process.kill()?;
        for number in 0..written {
            let name = name(number);
            equal(&name, &fs::read(behind(&name))?, &pattern(number, len(number)))?;
        }
        let done = format!("{written} files acknowledged, {failed} attempts failed");
        let mounted = self.mounted.take().ok_or("no mount")?;
        if self.hangs > 0 {
            // With rxe its unmounting hangs as well, because the other one does.
            abandon(mounted)?;
            return Ok(format!("{done}; (cifsd hung {} times, and a new mount went on)", self.hangs));
        }
        let mark = service.gateway().mark();
        mounted.unmount()?;
        service.ended(mark)?;
        Ok(done)
    }
}

/// The mount has a connection of its own: one that hangs is left alone.
fn start(service: &Service, first: u64) -> Result<(Mounted, Process), Failure> {
    let mounted = service.mount(OPTIONS)?;
    let folder = mounted.file("");
    let arguments = ["write", &folder.to_string_lossy(), &first.to_string()];
    let process = Process::start("smbd-live", format!("writer-{first}"), &arguments)?;
    Ok((mounted, process))
}

/// Takes away a mount that hangs. Who does that hangs as well, as soon as the folder is free.
fn abandon(mounted: Mounted) -> Result<(), Failure> {
    let folder = mounted.file("");
    // It would unmount it once more.
    std::mem::forget(mounted);
    let folder = folder.to_string_lossy();
    let folder = folder.trim_end_matches('/');
    lab::shell(&format!(
        "umount --lazy --internal-only --no-canonicalize {folder} </dev/null >/dev/null 2>&1 &"
    ))?;
    await_that("a folder without a mount", || {
        Ok(!fs::read_to_string("/proc/mounts")?.contains(&format!(" {folder} ")))
    })
    .map(drop)
}

/// Whether the thread of a connection sleeps and cannot be woken, as is known of cifs.ko 6.12 when a connection ends under a writer.
fn client_hangs() -> Result<bool, Failure> {
    let threads = lab::shell("ps -eo stat=,comm= | grep -c '^D.*cifsd' || true")?;
    Ok(threads.trim() != "0")
}
