//! Parts that fail: the other side is told, the mount comes back by itself, and nothing is lost that was acknowledged.

use std::fs::{self, File};
use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use smbd_tools::exercise::pattern;

use super::lab;
use super::service::{Service, UNCACHED, await_that, behind};
use super::sizes::equal;
use crate::case::{Case, Context, Failure, Outcome, Skipped, Target};
use crate::cifs::Mounted;
use crate::expect::{holds, same};

const fn case(name: &'static str, about: &'static str, run: fn(&Context) -> Outcome) -> Case {
    Case { name, target: Target::SambaFailure, about, run }
}

pub(super) const CASES: &[Case] = &[
    case(
        "samba::failure::process_killed",
        "the process of Samba that serves the client is killed",
        process_killed,
    ),
    case("samba::failure::samba_killed", "all of Samba is killed, and started again", samba_killed),
    case("samba::failure::gateway_killed", "the gateway is killed, and started again", gateway_killed),
    case("samba::failure::link_down", "the network below the device goes down, and comes back", link_down),
    case("samba::failure::mounts", "200 mounts and unmounts leave nothing behind", mounts),
];

/// How often a part fails.
const FAULTS: u64 = 3;
/// Files that are acknowledged between two faults, at least.
const BETWEEN: u64 = 10;

const fn len(number: u64) -> usize {
    1000 + (number * 50_021 % 200_000) as usize
}

/// Writes files one after the other until it is told to stop; how many attempts failed.
fn write_files(mounted: &Mounted, done: &AtomicU64, stop: &AtomicBool) -> u64 {
    let mut retries = 0;
    while !stop.load(Ordering::Relaxed) {
        let number = done.load(Ordering::Relaxed);
        let write = || -> std::io::Result<()> {
            let mut file = File::create(mounted.file(&format!("file-{number}")))?;
            file.write_all(&pattern(number, len(number)))?;
            file.sync_all()
        };
        match write() {
            Ok(()) => done.store(number + 1, Ordering::Relaxed),
            // It is not acknowledged, so it is written again.
            Err(_) => retries += 1,
        }
    }
    retries
}

/// Has files written while `fault` happens several times; in the end each that was acknowledged has to be there.
fn survives(
    service: &mut Service,
    mut fault: impl FnMut(&mut Service) -> Result<(), Failure>,
) -> Result<String, Failure> {
    let mounted = service.mount(UNCACHED)?;
    let (done, stop) = (AtomicU64::new(0), AtomicBool::new(false));
    let come = |count: u64| await_that("more files", || Ok(done.load(Ordering::Relaxed) >= count));
    let (retries, longest) = thread::scope(|scope| -> Result<_, Failure> {
        let writer = scope.spawn(|| write_files(&mounted, &done, &stop));
        let mut happen = || -> Result<_, Failure> {
            let mut longest = come(BETWEEN)?;
            for _ in 0..FAULTS {
                fault(service)?;
                longest = longest.max(come(done.load(Ordering::Relaxed) + BETWEEN)?);
            }
            Ok(longest)
        };
        let happened = happen();
        stop.store(true, Ordering::Relaxed);
        if happened.is_err() {
            // Otherwise a writer that hangs would keep the test from saying so.
            lab::shell("umount -f -l /mnt/one")?;
        }
        let retries = writer.join().map_err(|_| "the writer ended by a panic")?;
        Ok((retries, happened?))
    })?;
    let count = done.load(Ordering::Relaxed);
    for number in 0..count {
        let name = format!("file-{number}");
        equal(&name, &fs::read(behind(&name))?, &pattern(number, len(number)))?;
    }
    let mark = service.gateway().mark();
    mounted.unmount()?;
    service.ended(mark)?;
    Ok(format!(
        "{FAULTS} times; {count} files acknowledged, {retries} attempts failed, {BETWEEN} more files within {:.1} s",
        longest.as_secs_f32()
    ))
}

/// The gateway's port towards Samba, of the client that has connected last.
fn server_port(service: &Service) -> Result<String, Failure> {
    let connected = service.gateway().lines(&["client connected "]);
    let port = connected.last().and_then(|line| line.split_once(" server_port="));
    let (_, rest) = port.ok_or("no client has connected")?;
    Ok(rest.split(' ').next().unwrap_or_default().to_owned())
}

fn process_killed(context: &Context) -> Outcome {
    let mut service = Service::begin(context, "process-killed")?;
    let mut told = Vec::new();
    let how = survives(&mut service, |service| {
        let port = server_port(service)?;
        let mark = service.gateway().mark();
        lab::shell(&format!(r#"kill -KILL "$(samba_of {port})""#))?;
        let ended = service.ended(mark)?;
        told.push(ended.field("why").unwrap_or_default().to_owned());
        Ok(())
    })?;
    told.dedup();
    Ok(format!("{how}; the gateway says: {}", told.join(", ")))
}

fn samba_killed(context: &Context) -> Outcome {
    let mut service = Service::begin(context, "samba-killed")?;
    survives(&mut service, Service::replace_samba)
}

fn gateway_killed(context: &Context) -> Outcome {
    let mut service = Service::begin(context, "gateway-killed")?;
    survives(&mut service, Service::replace_gateway)
}

fn link_down(context: &Context) -> Outcome {
    if std::env::var("RDMA_KIND").is_ok_and(|kind| kind == "rxe") {
        return Err(Skipped::because("the connection manager of rxe does not survive it"));
    }
    let mut service = Service::begin(context, "link-down")?;
    survives(&mut service, |service| {
        let mark = service.gateway().mark();
        lab::shell(r#"ip link set "$NETDEV" down"#)?;
        let ended = service.ended(mark);
        lab::shell(r#"ip link set "$NETDEV" up && await "$patience" port_is_active "$RDMA_DEVICE""#)?;
        ended.map(drop)
    })
}

fn mounts(context: &Context) -> Outcome {
    const WARM: u32 = 5;
    const COUNT: u32 = 200;
    /// What memory may have grown: heap that was given back and is kept.
    const GROWTH: u64 = 8 << 20;
    let service = Service::begin(context, "mounts")?;
    let contents = pattern(1, 100_000);
    let mount = || -> Result<(), Failure> {
        let mounted = service.mount(UNCACHED)?;
        fs::write(mounted.file("file"), &contents)?;
        equal("read again", &fs::read(mounted.file("file"))?, &contents)?;
        mounted.unmount()
    };
    let processes = || lab::shell("pgrep -c -x smbd || true").map(|count| count.trim().to_owned());
    // Of the kernel's client, too.
    let counts = || lab::call("rdma_counts", &[]);
    for _ in 0..WARM {
        mount()?;
    }
    let before = service.gateway().settled()?;
    let (memory, idle) = (service.gateway().memory()?, processes()?);
    let objects = counts()?;
    for number in 0..COUNT {
        mount().map_err(|error| format!("mount {number}: {error}"))?;
    }
    service.gateway().holds(&before)?;
    await_that("the processes of Samba are as many as before", || Ok(processes()? == idle))?;
    await_that("the device has what it had before", || Ok(counts()? == objects))?;
    let after = service.gateway().memory()?;
    let most = memory.resident + GROWTH;
    holds(after.resident <= most, || {
        format!("{} bytes of memory, {} before", after.resident, memory.resident)
    })?;
    let ended = service.gateway().count(0, &["client ended ", "the client has left"]);
    same("connections that the client has ended", ended, (WARM + COUNT) as usize)?;
    Ok(format!(
        "{COUNT} mounts; memory {} KiB before, {} KiB after; {}",
        memory.resident >> 10,
        after.resident >> 10,
        objects.trim()
    ))
}
