//! A client with two connections for one session: Samba gives both to one of its processes.

use std::fs;

use smbd_tools::exercise::pattern;

use super::debug_data;
use super::errors::goes_on;
use super::lab;
use super::service::{Service, UNCACHED, await_that, behind};
use super::sizes::equal;
use crate::case::{Case, Context, Failure, Outcome, Target};
use crate::cifs::{Mount, Mounted};
use crate::expect::{holds, same};
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
    await_that("two connections", || Ok(ports(&service)?.len() == 2))?;
    Ok((service, mounted))
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
    mounted.unmount()?;
    await_that("both have ended", || Ok(service.gateway().count(0, &["client ended "]) == 2))?;
    let lines = service.gateway().lines(&["client ended "]);
    let used = lines.iter().filter(|line| !line.contains(" rdma_in=0 ")).count();
    same("connections with data by RDMA", used, 2)?;
    Ok(format!("process {}; {}", processes[0], lines.join("; ")))
}

fn lease_breaks(context: &Context) -> Outcome {
    const ROUNDS: u64 = 30;
    let (service, mounted) = begin(context, "lease-breaks", "vers=3.1.1,actimeo=60")?;
    let other = Mount::begin_at("//127.0.0.1/share", "/mnt/two".as_ref(), "vers=3.1.1,nosharesock")?
        .mounted(PATIENCE)?;
    for round in 0..ROUNDS {
        let name = format!("file-{}", round % 3);
        fs::write(mounted.file(&name), pattern(round, 100_000))?;
        equal("what the second reads", &fs::read(other.file(&name))?, &pattern(round, 100_000))?;
        fs::write(other.file(&name), pattern(!round, 90_000))?;
        equal("what the first reads", &fs::read(mounted.file(&name))?, &pattern(!round, 90_000))?;
    }
    other.unmount()?;
    same("connections that have ended", service.gateway().count(0, &["client ended "]), 0)?;
    mounted.unmount()?;
    Ok(format!("{} writes of one were read by the other", 2 * ROUNDS))
}

fn one_lost(context: &Context) -> Outcome {
    const ROUNDS: usize = 6;
    let (service, mounted) = begin(context, "one-lost", UNCACHED)?;
    for round in 0..ROUNDS {
        let ports = ports(&service)?;
        let port = ports.get(round % ports.len().max(1)).ok_or("no connection")?;
        let mark = service.gateway().mark();
        lab::shell(&format!("ss -K 'sport = :{port}' >/dev/null"))?;
        service.ended(mark)?;
        goes_on(&mounted, 300)?;
        await_that("two connections again", || Ok(self::ports(&service)?.len() == 2))?;
    }
    mounted.unmount()?;
    Ok(format!("{ROUNDS} connections cut, {} in all", service.gateway().count(0, &["client connected "])))
}
