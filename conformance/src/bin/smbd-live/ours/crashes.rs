//! Peers that die and links that go down in the middle of a transfer.

use std::fs;
use std::net::SocketAddr;
use std::process::Command;
use std::thread;
use std::time::Duration;

use smbd_core::Config;
use smbd_core::error::CloseReason;
use smbd_verbs::{Clock, ListenOptions};

use super::access::end_of;
use super::pair::PATIENCE;
use super::ports;
use super::resources::Leaks;
use super::serving::{How, Serving};
use super::traffic::{self, Traffic};
use super::victim::{Part, Victim};
use crate::case::{Context, Failure, Outcome};

const GLANCE: Duration = Duration::from_millis(50);

pub(super) fn acceptor_killed(context: &Context) -> Outcome {
    let leaks = Leaks::watch(context)?;
    let at = ports::fresh(context);
    let victim = Victim::start(Part::Server, at)?;
    let mut traffic = Traffic::begin(at, &traffic::config()?)?;
    (0..3).try_for_each(|_| traffic.round())?;
    let killer = thread::spawn(move || victim.kill().map_err(|failure| failure.to_string()));
    let reason = until_it_ends(traffic)?;
    killer.join().map_err(|_| "the killer panicked")??;
    leaks.none(context)?;
    Ok(format!("'{reason}'"))
}

pub(super) fn initiator_killed(context: &Context) -> Outcome {
    let leaks = Leaks::watch(context)?;
    let at = ports::fresh(context);
    let serving = Serving::start(at, &traffic::config()?, ListenOptions::default())?;
    Victim::start(Part::Client, at)?.kill()?;
    let how = end_at(&serving)?;
    // It serves the next one.
    let mut traffic = Traffic::begin(at, &traffic::config()?)?;
    traffic.round()?;
    traffic.client.close()?;
    serving.stop()?;
    leaks.none(context)?;
    Ok(format!("'{how}'"))
}

/// Works until the connection ends; how it did.
fn until_it_ends(mut traffic: Traffic) -> Result<CloseReason, Failure> {
    let clock = Clock::start();
    let until = clock.now().saturating_add(PATIENCE);
    while traffic.round().is_ok() {
        if clock.now() >= until {
            return Err("the peer is gone and the traffic goes on".into());
        }
    }
    let reason = end_of(traffic.client.connection)?;
    check(reason)?;
    Ok(reason)
}

/// How a connection ended at the server.
fn end_at(serving: &Serving) -> Result<CloseReason, Failure> {
    match serving.ended(PATIENCE)?.how {
        Some(How::Closed(reason)) => check(reason).map(|()| reason),
        other => Err(format!("the server says {other:?}").into()),
    }
}

fn check(reason: CloseReason) -> Result<(), Failure> {
    match reason {
        CloseReason::Lost | CloseReason::Transport { .. } => Ok(()),
        other => Err(format!("the connection ended with '{other}'").into()),
    }
}

/// The interface below the device goes down and comes up again.
pub(super) fn link_down(context: &Context) -> Outcome {
    let leaks = Leaks::watch(context)?;
    let link = Link::of(context)?;
    let at = ports::fresh(context);
    let config: Config = traffic::config()?;
    let serving = Serving::start(at, &config, ListenOptions::default())?;
    let mut traffic = Traffic::begin(at, &config)?;
    (0..3).try_for_each(|_| traffic.round())?;
    link.set("down")?;
    let ends = until_it_ends(traffic).and_then(|reason| Ok((reason, end_at(&serving)?)));
    link.set("up")?;
    link.is_back()?;
    let (client, server) = ends?;
    serving.stop()?;
    leaks.none(context)?;
    Ok(format!("client '{client}', server '{server}'"))
}

/// A network interface, and the RDMA device over it.
struct Link {
    netdev: String,
    state: String,
    address6: Option<SocketAddr>,
}

impl Link {
    fn of(_context: &Context) -> Result<Self, Failure> {
        let get = |name| std::env::var(name).map_err(|_| format!("{name} is not set: run this in the lab"));
        let (netdev, device) = (get("NETDEV")?, get("RDMA_DEVICE")?);
        let address6 = get("ADDRESS6").ok().and_then(|text| format!("[{text}]:0").parse().ok());
        let state = format!("/sys/class/infiniband/{device}/ports/1/state");
        Ok(Self { netdev, state, address6 })
    }

    fn set(&self, state: &str) -> Result<(), Failure> {
        ip(&["link", "set", &self.netdev, state])
    }

    /// Waits for the device; gives the interface its IPv6 address again, which it loses when it goes down.
    fn is_back(&self) -> Result<(), Failure> {
        if let Some(address) = self.address6 {
            ip(&["address", "replace", &format!("{}/64", address.ip()), "dev", &self.netdev, "nodad"])?;
        }
        let clock = Clock::start();
        let until = clock.now().saturating_add(PATIENCE);
        while !fs::read_to_string(&self.state)?.contains("ACTIVE") {
            if clock.now() >= until {
                return Err(format!("{} is not active again", self.netdev).into());
            }
            thread::sleep(GLANCE);
        }
        Ok(())
    }
}

fn ip(arguments: &[&str]) -> Result<(), Failure> {
    let status = Command::new("ip").args(arguments).status()?;
    if status.success() { Ok(()) } else { Err(format!("ip {}: {status}", arguments.join(" ")).into()) }
}
