//! Peers that do not answer.

use std::fs;
use std::process::Command;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use smbd_core::backend::{Backend, BackendOp, BufferLookup, kit};
use smbd_core::error::{ConnectError, ConnectReason};
use smbd_core::{Action, Config, Connection, Params, Role};
use smbd_verbs::{Buffer, Clock, ListenOptions, Listener, VerbsConnection};

use super::attempt::{Attempt, attempt};
use super::pair::next_request;
use super::ports;
use super::resources::Leaks;
use super::serving::{How, Serving};
use crate::case::{Context, Failure, Outcome, Skipped};
use crate::expect::holds;
use crate::nowhere::{self, NOWHERE};
use crate::patience::PATIENCE;
use crate::settings;

/// Both negotiation timers: the transport connection comes up within that time, also on a busy host.
const TIMER: Duration = Duration::from_millis(1500);
/// Where it cannot come up, siw itself gives up, after 3 s.
const SHORT: Duration = Duration::from_millis(500);
/// How often a peer that says nothing looks at what its device has to say.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

fn impatient(timer: Duration) -> Result<Config, Failure> {
    let params = Params {
        active_negotiation_timeout: timer,
        passive_negotiation_timeout: timer,
        ..(*kit::config()?).clone()
    };
    Ok(Config::try_from(params)?)
}

/// The timer has ended the attempt, and not too early.
fn timed_out(seen: &Attempt, timer: Duration) -> Result<(), Failure> {
    seen.is(ConnectError::Timeout, "")?;
    holds(seen.time >= timer, || format!("given up after {:?}", seen.time))
}

/// Packets to a neighbour that does not exist are lost.
pub(super) fn blackhole(context: &Context) -> Outcome {
    let leaks = Leaks::watch(context)?;
    let netdev = std::env::var("NETDEV").map_err(|_| "NETDEV has the network interface of the device")?;
    let std::net::IpAddr::V4(address) = context.address else { return Err("needs an IPv4 address".into()) };
    let [a, b, c, _] = address.octets();
    let nobody = std::net::SocketAddr::from(([a, b, c, 250], ports::fresh(context).port()));
    let neighbour = nobody.ip().to_string();
    let add =
        ["neigh", "replace", &neighbour, "lladdr", "02:00:00:00:00:fa", "nud", "permanent", "dev", &netdev];
    let status = Command::new("ip").args(add).status()?;
    if !status.success() {
        return Err(format!("ip {}: {status}", add.join(" ")).into());
    }
    let syns = Syns::few()?;
    let seen = attempt(nobody, &impatient(SHORT)?)?;
    timed_out(&seen, SHORT)?;
    // In native guests TCP of 7.3 now and then does not repeat its SYN for minutes, though its timer runs: the attempt of siw would last
    // as long. On other devices there is none to abort.
    let _ = Command::new("ss").args(["-HK", "state", "syn-sent", "dst", &neighbour]).output();
    leaks.none(context)?;
    drop(syns);
    Ok(format!("given up after {:.1} s", seen.time.as_secs_f64()))
}

/// siw connects TCP inside a call that nothing interrupts, and has the queue pair until then: fewer attempts end it
/// within the test.
struct Syns(String);

impl Syns {
    const PATH: &str = "/proc/sys/net/ipv4/tcp_syn_retries";

    fn few() -> Result<Self, Failure> {
        let before = fs::read_to_string(Self::PATH)?;
        fs::write(Self::PATH, "1")?;
        Ok(Self(before))
    }
}

impl Drop for Syns {
    fn drop(&mut self) {
        let _ = fs::write(Self::PATH, &self.0);
    }
}

/// No route leads there.
pub(super) fn unreachable(context: &Context) -> Outcome {
    if nowhere::is_routed() {
        return Err(Skipped::because(format!("a route leads to {NOWHERE}")));
    }
    let leaks = Leaks::watch(context)?;
    // Said by the network, long before the timer.
    let seen = attempt(std::net::SocketAddr::new(NOWHERE, 5445), &settings::of_the_kit()?)?;
    seen.is(ConnectError::Connect(ConnectReason::Unreachable), "")?;
    leaks.none(context)?;
    Ok("unreachable".to_owned())
}

/// Nobody looks at the request: siw has its TCP connection, and no answer of MPA; rxe repeats what it asks. The end does not wait for an
/// answer, and siw itself waits 10 s for one.
pub(super) fn listener(context: &Context) -> Outcome {
    const SOON: Duration = Duration::from_secs(4);
    let leaks = Leaks::watch(context)?;
    let at = ports::fresh(context);
    let listener = Listener::bind(at, ListenOptions::default())?;
    let seen = attempt(at, &impatient(TIMER)?)?;
    timed_out(&seen, TIMER)?;
    holds(seen.time < TIMER + SOON, || format!("the end waited: {:?}", seen.time))?;
    drop(listener);
    leaks.none(context)?;
    Ok(format!("given up after {:.1} s", seen.time.as_secs_f64()))
}

/// The transport connection comes up, and then nothing comes.
pub(super) fn acceptor(context: &Context) -> Outcome {
    let leaks = Leaks::watch(context)?;
    let (at, config) = (ports::fresh(context), impatient(TIMER)?);
    let mut listener = Listener::bind(at, ListenOptions::default())?;
    let seen = thread::scope(|scope| {
        let (stop, stopped) = channel();
        let (listener, config) = (&mut listener, &config);
        let mute = scope.spawn(move || {
            let clock = Clock::start();
            let end = next_request(listener)?.accept(config, clock)?;
            say_nothing(Role::Acceptor, end, config, &stopped)
        });
        let seen = attempt(at, config)?;
        drop(stop);
        mute.join().map_err(|_| "the silent acceptor panicked")??;
        Ok::<_, Failure>(seen)
    })?;
    timed_out(&seen, TIMER)?;
    drop(listener);
    leaks.none(context)?;
    Ok(format!("given up after {:.1} s", seen.time.as_secs_f64()))
}

/// The other way round: an initiator that never asks.
pub(super) fn initiator(context: &Context) -> Outcome {
    let leaks = Leaks::watch(context)?;
    let (at, config) = (ports::fresh(context), impatient(TIMER)?);
    let serving = Serving::start(at, &config, ListenOptions::default())?;
    let ended = thread::scope(|scope| {
        let (stop, stopped) = channel();
        let config = &config;
        let mute = scope.spawn(move || {
            let end = VerbsConnection::connect(at, None, config, Clock::start())?;
            say_nothing(Role::Initiator, end, config, &stopped)
        });
        let ended = serving.ended(PATIENCE);
        drop(stop);
        mute.join().map_err(|_| "the silent initiator panicked")??;
        ended
    })?;
    if ended.how != Some(How::NeverUp(ConnectError::Timeout)) {
        return Err(format!("the acceptor says {:?}", ended.how).into());
    }
    serving.stop()?;
    leaks.none(context)?;
    Ok(format!("'{}'", ConnectError::Timeout))
}

/// Has no memory.
struct Nothing;

impl BufferLookup<Buffer> for Nothing {}

/// Does what a connection does first, which brings the transport up, and then nothing until `stopped`.
fn say_nothing(
    role: Role,
    mut end: VerbsConnection,
    config: &Config,
    stopped: &Receiver<()>,
) -> Result<(), Failure> {
    let mut connection = Connection::new(role, config, end.now());
    loop {
        let action = connection.poll_action();
        if let Action::Wait(_) = action {
            break;
        }
        if let Some(step) = BackendOp::of(&action, &connection, &Nothing)? {
            end.execute(step);
        }
    }
    end.ring_doorbell();
    while stopped.recv_timeout(POLL_INTERVAL) == Err(RecvTimeoutError::Timeout) {
        while end.next_input().is_some() {}
    }
    Ok(())
}
