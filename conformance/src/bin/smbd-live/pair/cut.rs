//! The network of one host goes down in the middle of transfers, and comes back.

use std::fs;
use std::net::SocketAddr;
use std::process::Command;
use std::thread;
use std::time::Duration;

use bytes::Bytes;
use smbd_core::{Config, Keepalive, Params};
use smbd_verbs::{Clock, ListenOptions};

use super::link::{Side, connect, serve, side};
use crate::case::{Case, Context, Failure, Outcome, Target};
use crate::expect::same;
use crate::ours::client::Client;
use crate::ours::crashes::{end_at, until_it_ends};
use crate::ours::resources::Leaks;
use crate::ours::serving::Serving;
use crate::ours::traffic::Traffic;
use crate::patience::PATIENCE;
use crate::settings;

pub(super) const CASES: &[Case] = &[
    Case {
        name: "pair::cut::link_down",
        target: Target::Pair,
        about: "the link of side b goes down in the middle of transfers: both sides end, nothing is left",
        run: link_down,
    },
    Case {
        name: "pair::cut::link_up",
        target: Target::Pair,
        about: "when it is up again, the next connection is served",
        run: link_up,
    },
];

const DOWN: u16 = 20_006;
const UP: u16 = 20_007;
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// Whoever hears nothing for so long asks, and waits for an answer: longer than a busy host keeps a guest from running.
const SILENCE: Duration = Duration::from_secs(1);
const ANSWER: Duration = Duration::from_secs(3);

fn params() -> Params {
    Params { keepalive: Some(Keepalive { interval: SILENCE, answer_timeout: ANSWER }), ..settings::windows() }
}

fn link_down(context: &Context) -> Outcome {
    let leaks = Leaks::watch(context)?;
    if side()? == Side::A {
        let at = SocketAddr::new(context.address, DOWN);
        let serving = Serving::start(at, &Config::try_from(params())?, ListenOptions::default())?;
        let how = end_at(&serving)?;
        serving.stop()?;
        leaks.none(context)?;
        return Ok(format!("'{how}'"));
    }
    let link = Link::of_the_lab()?;
    let mut traffic = Traffic::over(Client::over(connect(context, DOWN, params())?))?;
    (0..3).try_for_each(|_| traffic.round())?;
    link.set("down")?;
    let reason = until_it_ends(traffic);
    link.set("up")?;
    link.is_back()?;
    let reason = reason?;
    leaks.is_as_before()?;
    Ok(format!("'{reason}'"))
}

fn link_up(context: &Context) -> Outcome {
    if side()? == Side::A {
        return Ok(format!("returned {} message", serve(context, UP, settings::windows())?.returned));
    }
    let mut connection = connect(context, UP, settings::windows())?;
    let message = Bytes::from_static(b"as before");
    connection.send(message.clone())?;
    same("what came back", connection.recv(PATIENCE)?, message)?;
    connection.close(PATIENCE)?;
    Ok("a message and back".into())
}

/// A network interface, and the RDMA device over it.
struct Link {
    netdev: String,
    device: String,
    address6: Option<String>,
}

impl Link {
    fn of_the_lab() -> Result<Self, Failure> {
        let get = |name| std::env::var(name).map_err(|_| format!("{name} is not set: run this in the lab"));
        let address6 = get("ADDRESS6").ok().filter(|address| !address.is_empty());
        Ok(Self { netdev: get("NETDEV")?, device: get("RDMA_DEVICE")?, address6 })
    }

    fn set(&self, state: &str) -> Result<(), Failure> {
        run("ip", &["link", "set", &self.netdev, state])
    }

    /// Waits for the device; gives the interface its IPv6 address again, which it loses when it goes down.
    fn is_back(&self) -> Result<(), Failure> {
        if let Some(address) = &self.address6 {
            run("ip", &["address", "replace", &format!("{address}/64"), "dev", &self.netdev, "nodad"])?;
        }
        let state = format!("/sys/class/infiniband/{}/ports/1/state", self.device);
        let clock = Clock::start();
        let until = clock.now().saturating_add(PATIENCE);
        while !fs::read_to_string(&state)?.contains("ACTIVE") {
            if clock.now() >= until {
                return Err(format!("{} is not active again", self.device).into());
            }
            thread::sleep(POLL_INTERVAL);
        }
        Ok(())
    }
}

fn run(program: &str, arguments: &[&str]) -> Result<(), Failure> {
    let status = Command::new(program).args(arguments).status()?;
    if status.success() { Ok(()) } else { Err(format!("{program} {}: {status}", arguments.join(" ")).into()) }
}
