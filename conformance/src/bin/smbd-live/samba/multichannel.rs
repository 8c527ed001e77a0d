//! A client with two connections for one session: Samba gives both to one of its processes.

use std::fs;
use std::time::Duration;

use smbd_core::Instant;
use smbd_tools::exercise::pattern;
use smbd_verbs::Clock;

use super::debug_data;
use super::lab;
use super::service::{Ended, Service, UNCACHED, await_that, behind};
use super::sizes::equal;
use super::traffic::{again, goes_on};
use crate::case::{Case, Context, Failure, Outcome, Target};
use crate::cifs::{Mount, Mounted};
use crate::expect::{holds, same};
use crate::linux::Linux;
use crate::patience::PATIENCE;

const fn case(name: &'static str, about: &'static str, run: fn(&Context) -> Outcome) -> Case {
    Case { name, target: Target::SambaMultichannel, about, run }
}

pub(super) const CASES: &[Case] = &[
    case(
        "samba::multichannel::one_process",
        "two connections, one process of Samba, data by both",
        one_process,
    ),
    case(
        "samba::multichannel::lease_breaks",
        "what another client writes is seen, however it is told",
        lease_breaks,
    ),
    case(
        "samba::multichannel::one_lost",
        "one connection is cut again and again, and the mount goes on",
        one_lost,
    ),
];

/// Samba, the gateway, and a mount with two channels.
fn begin(context: &Context, name: &'static str, options: &str) -> Result<(Service, Mounted), Failure> {
    let interface =
        format!(r#"interfaces = lo "{};capability=RDMA,capability=RSS,speed=10000000000""#, context.address);
    let service = Service::begin_with(context, name, &[&interface], &[])?;
    let mounted = service.mount(&format!("multichannel,max_channels=2,{options}"))?;
    // A kernel without CONFIG_CIFS_DFS_UPCALL makes the second one not before it connects again.
    if let [port] = ports(&service)?.as_slice() {
        cut(&service, port)?;
    }
    await_two(&service, &mounted)?;
    Ok((service, mounted))
}

/// Ends a connection by its port towards Samba, and waits until the gateway has ended it towards the client.
fn cut(service: &Service, port: &str) -> Result<Duration, Failure> {
    let (clock, mark) = (Clock::start(), service.gateway().mark());
    lab::shell(&format!("ss -K 'sport = :{port}' >/dev/null"))?;
    service.ended(mark)?;
    Ok(clock.now().saturating_since(Instant::ORIGIN))
}

/// Waits until the mount has two connections. The client makes them when it is used.
fn await_two(service: &Service, mounted: &Mounted) -> Result<Duration, Failure> {
    await_that("two connections", || {
        // As long as there is none this may fail.
        let _ = fs::metadata(mounted.file("."));
        Ok(ports(service)?.len() == 2)
    })
}

/// The gateway's ports towards Samba.
fn ports(service: &Service) -> Result<Vec<String>, Failure> {
    let pid = service.gateway().id();
    let lines = lab::shell(&format!(
        r#"ss -Htnp state established "dport = :445" | grep "pid={pid}," | awk '{{ print $3 }}'"#
    ))?;
    let ports = lines.lines().filter_map(|line| line.rsplit_once(':').map(|(_, port)| port.to_owned()));
    Ok(ports.collect())
}

fn one_process(context: &Context) -> Outcome {
    let (service, mounted) = begin(context, "one-process", UNCACHED)?;
    let mut processes = Vec::new();
    for port in ports(&service)? {
        processes.push(lab::call("samba_of", &[&port])?.trim().to_owned());
    }
    holds(processes.len() == 2 && processes[0] == processes[1] && !processes[0].is_empty(), || {
        format!("served by the processes {processes:?}")
    })?;
    let contents = pattern(1, 16 << 20);
    fs::write(mounted.file("file"), &contents)?;
    equal("behind the share", &fs::read(behind("file"))?, &contents)?;
    equal("read again", &fs::read(mounted.file("file"))?, &contents)?;
    goes_on(&mounted, 1000)?;
    debug_data::no_region_is_left()?;
    let mark = service.gateway().mark();
    mounted.unmount()?;
    await_that("both have ended", || Ok(service.gateway().count(mark, &["client ended "]) == 2))?;
    let ended = service.gateway().lines(&["client ended "]);
    let used: Vec<_> = ended.into_iter().map(Ended::from).collect();
    let written: Vec<_> =
        used.iter().rev().take(2).map(|one| one.number("rdma_in")).collect::<Result<_, _>>()?;
    holds(written.iter().all(|bytes| *bytes > 0), || format!("bytes by RDMA Read: {written:?}"))?;
    Ok(format!("{written:?} bytes by RDMA Read"))
}

fn lease_breaks(context: &Context) -> Outcome {
    const ROUNDS: u64 = 30;
    let (service, mounted) = begin(context, "lease-breaks", "vers=3.1.1,actimeo=60")?;
    let mark = service.gateway().mark();
    let other = Mount::begin_at("//127.0.0.1/share", "/mnt/two".as_ref(), "vers=3.1.1,nosharesock")?
        .mounted(PATIENCE)?;
    let (mut cuts, mut stale) = (0, 0);
    for round in 0..ROUNDS {
        if round % 10 == 9 {
            // Breaks come by the connection that is left, and then by the new one.
            let ports = ports(&service)?;
            cut(&service, ports.get(cuts % ports.len().max(1)).ok_or("no connection")?)?;
            cuts += 1;
        }
        // Always as long as before: cifs.ko 6.12 reads zeros behind the length that it remembers, over TCP as well.
        let name = format!("file-{}", round % 3);
        let may_be_stale = cuts > 0 && Linux::running()?.cifs().reads_stale_pages;
        for (writer, reader, what, seed) in [
            (&mounted, &other, "what the second reads", round),
            (&other, &mounted, "what the first reads", !round),
        ] {
            let contents = pattern(seed, 100_000);
            again(|| fs::write(writer.file(&name), &contents))?;
            let path = reader.file(&name);
            let seen = again(|| fs::read(&path))?;
            if may_be_stale && seen != contents {
                stale += 1;
                equal("behind the share", &fs::read(behind(&name))?, &contents)?;
                await_that(what, || Ok(again(|| fs::read(&path))? == contents))?;
            } else {
                equal(what, &seen, &contents)?;
            }
        }
    }
    other.unmount()?;
    // Samba hands a new connection to the process of its client, which now and then cannot take it (`getpeername() failed` in its log):
    // that one ends without a session, and the client makes another.
    let ended = |what: &[&str]| service.gateway().count(mark, what);
    let with_session = ended(&["client ended "]) - ended(&["client ended ", "session=none"]);
    same("connections that have ended", with_session, cuts)?;
    mounted.unmount()?;
    let stale = if stale > 0 { format!(", {stale} of them not at once") } else { String::new() };
    Ok(format!(
        "{} writes of one were read by the other{stale}, {cuts} connections cut meanwhile",
        2 * ROUNDS
    ))
}

fn one_lost(context: &Context) -> Outcome {
    const ROUNDS: usize = 6;
    let (service, mounted) = begin(context, "one-lost", UNCACHED)?;
    let mut longest = Duration::ZERO;
    for round in 0..ROUNDS {
        let ports = ports(&service)?;
        let port = ports.get(round % ports.len().max(1)).ok_or("no connection")?;
        cut(&service, port)?;
        goes_on(&mounted, 300)?;
        longest = longest.max(await_two(&service, &mounted)?);
    }
    mounted.unmount()?;
    let count = service.gateway().count(0, &["client connected "]);
    Ok(format!("{ROUNDS} connections cut, {count} in all, two again within {:.1} s", longest.as_secs_f32()))
}
