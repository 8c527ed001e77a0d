//! Parts that fail: the other side is told, the mount comes back by itself, and nothing is lost that was acknowledged.

use std::fs;
use std::time::Duration;

use smbd_core::Instant;
use smbd_tools::exercise::pattern;
use smbd_verbs::Clock;

use super::lab;
use super::service::{Service, await_that};
use super::sizes::equal;
use super::traffic::again;
use super::writer::{OPTIONS, Writer};
use crate::case::{Case, Context, Failure, Outcome, Skipped, Target};
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
    case(
        "samba::failure::client_lost",
        "the connection below the client's queue pair is reset, and the server's ends",
        client_lost,
    ),
    case("samba::failure::samba_killed", "all of Samba is killed, and started again", samba_killed),
    case("samba::failure::gateway_killed", "the gateway is killed, and started again", gateway_killed),
    case("samba::failure::idle", "300 s without a request, with and without ECHOs", idle),
    case("samba::failure::mounts", "200 mounts and unmounts leave nothing behind", mounts),
];

/// How often a part fails.
const FAULTS: u64 = 3;
/// Files that are acknowledged between two faults, at least.
const BETWEEN: u64 = 10;

/// Has files written while `fault` happens several times; in the end each that was acknowledged has to be there.
fn survives(
    service: &mut Service,
    mut fault: impl FnMut(&mut Service) -> Result<(), Failure>,
) -> Result<String, Failure> {
    let mut writer = Writer::start(service)?;
    writer.goes_on(service, BETWEEN)?;
    let mut longest = Duration::ZERO;
    for _ in 0..FAULTS {
        fault(service)?;
        let clock = Clock::start();
        writer.goes_on(service, BETWEEN)?;
        longest = longest.max(clock.now().saturating_since(Instant::ORIGIN));
    }
    let written = writer.end(service)?;
    Ok(format!("{FAULTS} times; {written}; {BETWEEN} more files within {:.1} s", longest.as_secs_f32()))
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
    let (mut told, mut times) = (Vec::new(), Vec::new());
    let how = survives(&mut service, |service| {
        let port = server_port(service)?;
        let process = lab::call("samba_of", &[&port])?;
        let (clock, mark) = (Clock::start(), service.gateway().mark());
        lab::shell(&format!("kill -KILL {process}"))?;
        let ended = service.ended(mark)?;
        times.push(clock.now().saturating_since(Instant::ORIGIN));
        told.push(ended.field("why").unwrap_or_default().to_owned());
        Ok(())
    })?;
    told.dedup();
    Ok(format!("{how}; the gateway says: {}; {}", told.join(", "), in_a_second(&times)?))
}

/// Demands that an end was handed on within a second, once at least: a machine that has other work delays the others.
fn in_a_second(times: &[Duration]) -> Result<String, Failure> {
    let best = times.iter().min().ok_or("no times")?;
    holds(*best < Duration::from_secs(1), || format!("the other side ended {times:?} later"))?;
    Ok(format!("the other side ended {:.2} s later at best", best.as_secs_f32()))
}

fn client_lost(context: &Context) -> Outcome {
    if std::env::var("RDMA_KIND").is_ok_and(|kind| kind == "rxe") {
        return Err(Skipped::because("the connections of rxe are none of the kernel's sockets"));
    }
    let service = Service::begin(context, "client-lost")?;
    let mounted = service.mount(OPTIONS)?;
    let mut times = Vec::new();
    for round in 0..FAULTS {
        // cifs.ko 6.12 may hang for good when this happens in the middle of a write.
        let contents = pattern(round, 100_000);
        fs::write(mounted.file("file"), &contents)?;
        let port = server_port(&service)?;
        let count = || lab::shell(&format!("ss -Htn state established 'sport = :{port}' | wc -l"));
        let (clock, mark) = (Clock::start(), service.gateway().mark());
        lab::shell("ss -K state established 'sport = :5445' >/dev/null")?;
        await_that("the end of the server's connection", || Ok(count()?.trim() == "0"))?;
        times.push(clock.now().saturating_since(Instant::ORIGIN));
        service.ended(mark)?;
        equal("what is read after it", &again(|| fs::read(mounted.file("file")))?, &contents)?;
    }
    mounted.unmount()?;
    Ok(format!("{FAULTS} times; {}", in_a_second(&times)?))
}

fn samba_killed(context: &Context) -> Outcome {
    let mut service = Service::begin(context, "samba-killed")?;
    survives(&mut service, Service::replace_samba)
}

fn gateway_killed(context: &Context) -> Outcome {
    let mut service = Service::begin(context, "gateway-killed")?;
    survives(&mut service, Service::replace_gateway)
}

fn idle(context: &Context) -> Outcome {
    const TIME: Duration = Duration::from_secs(300);
    let service = Service::begin(context, "idle")?;
    // cifs sends an ECHO each 60 s, or the longest time that it can be told.
    let mounts =
        [service.mount(OPTIONS)?, service.mount_beside("share", &format!("{},echo_interval=600", OPTIONS))?];
    let contents = pattern(9, 100_000);
    for (number, mounted) in mounts.iter().enumerate() {
        fs::write(mounted.file(&format!("file-{number}")), &contents)?;
    }
    std::thread::sleep(TIME);
    for (number, mounted) in mounts.iter().enumerate() {
        equal("read again", &fs::read(mounted.file(&format!("file-{number}")))?, &contents)?;
    }
    let gateway = service.gateway();
    let lines = gateway.lines(&["client ended "]);
    holds(lines.is_empty(), || lines.join("; "))?;
    same("connections", gateway.count(0, &["client connected "]), 2)?;
    for mounted in mounts {
        let mark = gateway.mark();
        mounted.unmount()?;
        service.ended(mark)?;
    }
    Ok("two connections, for all of it".into())
}

fn mounts(context: &Context) -> Outcome {
    const WARM: u32 = 5;
    const COUNT: u32 = 200;
    /// What memory may have grown: heap that was given back and is kept.
    const GROWTH: u64 = 8 << 20;
    let service = Service::begin(context, "mounts")?;
    let contents = pattern(1, 100_000);
    let mount = || -> Result<(), Failure> {
        let mounted = service.mount(OPTIONS)?;
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
