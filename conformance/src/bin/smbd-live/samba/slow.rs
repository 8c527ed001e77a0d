//! A slow disk: Samba says STATUS_PENDING to what takes longer than half a millisecond, and answers later. And processes that are
//! killed while they wait.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::process::{Child, Command, Stdio};
use std::thread;

use smbd_tools::exercise::pattern;

use super::debug_data;
use super::ends::ends_well;
use super::lab;
use super::service::{Service, UNCACHED, await_that};
use super::sizes::equal;
use super::traffic::goes_on;
use crate::case::{Case, Context, Failure, Outcome, Target};
use crate::cifs::Mounted;
use crate::expect::holds;
use crate::patience::PATIENCE;

const fn case(name: &'static str, about: &'static str, run: fn(&Context) -> Outcome) -> Case {
    Case { name, target: Target::SambaErrors, about, run }
}

pub(super) const CASES: &[Case] = &[
    case("samba::slow::disk", "eight readers and writers of a disk that takes 20 ms for each request", disk),
    case(
        "samba::slow::killed",
        "processes are killed in the middle of reads and writes, of a slow disk too",
        killed,
    ),
];

/// Where the disk is mounted.
const FOLDER: &str = "/run/slow";
/// Each write is on the disk before it is answered.
const SETTINGS: [&str; 5] =
    ["[slow]", "path = /run/slow", "read only = no", "strict sync = yes", "sync always = yes"];

fn disk(context: &Context) -> Outcome {
    const WRITERS: u64 = 8;
    const PIECES: usize = 8;
    const PIECE: usize = 100_000;
    lab::call("disk", &["slow", "64", "20"])?;
    let service = Service::begin_with(context, "slow-disk", &SETTINGS, &[])?;
    let mounted = service.begin_mount("slow", 0, UNCACHED)?.mounted(PATIENCE)?;
    let name = |writer| format!("file-{writer}");
    let write = |writer: u64| -> Result<(), Failure> {
        let file = File::create(mounted.file(&name(writer)))?;
        let contents = pattern(writer, PIECES * PIECE);
        for piece in 0..PIECES {
            file.write_all_at(&contents[piece * PIECE..][..PIECE], (piece * PIECE) as u64)?;
        }
        Ok(())
    };
    let read = |writer: u64| -> Result<(), Failure> {
        let file = File::open(mounted.file(&name(writer)))?;
        let contents = pattern(writer, PIECES * PIECE);
        let mut seen = vec![0; PIECE];
        for piece in 0..PIECES {
            file.read_exact_at(&mut seen, (piece * PIECE) as u64)?;
            equal(&name(writer), &seen, &contents[piece * PIECE..][..PIECE])?;
        }
        Ok(())
    };
    all_at_once(WRITERS, &write)?;
    // Otherwise nothing would be asked of the disk.
    lab::shell("echo 3 >/proc/sys/vm/drop_caches")?;
    all_at_once(WRITERS, &read)?;
    for writer in 0..WRITERS {
        let seen = fs::read(format!("{FOLDER}/{}", name(writer)))?;
        equal("behind the share", &seen, &pattern(writer, PIECES * PIECE))?;
    }
    ends_well(&service, mounted)
}

/// Does this for each number below `count`, at the same time.
fn all_at_once(count: u64, work: &(impl Fn(u64) -> Result<(), Failure> + Sync)) -> Result<(), Failure> {
    thread::scope(|scope| {
        let running: Vec<_> = (0..count).map(|number| scope.spawn(move || work(number))).collect();
        let ended = running.into_iter().map(|one| one.join().map_err(|_| "a thread ended by a panic")?);
        ended.collect()
    })
}

fn killed(context: &Context) -> Outcome {
    const ROUNDS: u64 = 20;
    lab::call("disk", &["slow", "64", "20"])?;
    let service = Service::begin_with(context, "killed", &SETTINGS, &[])?;
    let mounted = service.mount(UNCACHED)?;
    let slow = service.mount_beside("slow", UNCACHED)?;
    fs::write(mounted.file("source"), pattern(1, 8 << 20))?;
    fs::write(slow.file("source"), pattern(1, 8 << 20))?;
    for round in 0..ROUNDS {
        let share = if round % 2 == 0 { &mounted } else { &slow };
        lab::shell("echo 3 >/proc/sys/vm/drop_caches")?;
        let children = [
            dd(share, "if=/dev/zero", "of=written", "oflag=dsync")?,
            dd(share, "if=source", "of=/dev/null", "iflag=nocache")?,
        ];
        // In the middle, whatever they do just then.
        await_that("a beginning", || {
            Ok(fs::metadata(share.file("written")).is_ok_and(|seen| seen.len() > 0))
        })?;
        for mut child in children {
            child.kill()?;
            child.wait()?;
        }
        fs::remove_file(share.file("written"))?;
    }
    slow.unmount()?;
    goes_on(&mounted, 1000)?;
    let connected = service.gateway().count(0, &["client connected "]);
    let connections = debug_data::no_region_is_left()?;
    holds(connections.len() == 1, || format!("{connections:?}"))?;
    let how = ends_well(&service, mounted)?;
    Ok(format!("{} killed, {connected} connections in all; {how}", 2 * ROUNDS))
}

/// A program that copies far more than it comes to.
fn dd(share: &Mounted, from: &str, to: &str, flag: &str) -> Result<Child, Failure> {
    let mut command = Command::new("dd");
    command.args([from, to, flag, "bs=256k", "count=4000"]).current_dir(share.file(""));
    Ok(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?)
}
