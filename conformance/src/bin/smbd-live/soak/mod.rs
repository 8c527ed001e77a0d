//! `smbd-echo` for a long time: clients that come, work, go, are killed, and lose their network; in the end it holds what it
//! held in the beginning.

mod client;
mod clients;
mod report;

use std::net::IpAddr;
use std::process::Command;
use std::thread;
use std::time::Duration;

use smbd_core::Instant;
use smbd_sim::Rng;
use smbd_verbs::Clock;

use crate::case::Failure;
use crate::hostile::echo::Echo;
use crate::ours::resources::Held;
use crate::process::Memory;
pub(crate) use client::Work;
use clients::Clients;
use report::Report;

/// How long.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Options {
    /// Minutes.
    #[arg(long, default_value_t = 30.0)]
    minutes: f64,
    /// Decides what clients do and when they are killed.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The network interface below the device, to be taken down and up again now and then. Not with rxe, whose connection
    /// manager does not survive it.
    #[arg(long)]
    netdev: Option<String>,
}

/// Clients at the same time.
const CLIENTS: usize = 4;
/// Between two looks, and so between two things that happen.
const TICK: Duration = Duration::from_millis(100);
/// One tick in so many begins a client where there is room, or kills one.
const BEGIN_IN: u64 = 4;
const KILL_IN: u64 = 120;
/// When the network goes down for the first time, and seconds from one time to the next.
const FIRST_DOWN: Duration = Duration::from_secs(20);
const DOWN_AFTER: (u64, u64) = (120, 420);
/// Longest time that the network is down, in milliseconds.
const DOWN_MAX: u64 = 3000;
/// How long clients may take to notice that, and to be let in again.
const AFTERMATH: Duration = Duration::from_secs(60);
/// How often it is said how it goes.
const SAY_EVERY: Duration = Duration::from_secs(60);
/// How long clients may take to end in good order.
const PARTING: Duration = Duration::from_secs(120);
/// What memory may have grown, besides a tenth of what it was: heap that was given back and is kept for later.
const HEAP: u64 = 4 << 20;

/// What a server holds.
struct Holds {
    held: Held,
    memory: Memory,
}

impl Holds {
    fn of(echo: &Echo) -> Result<Self, Failure> {
        Ok(Self { held: echo.held()?, memory: echo.memory()? })
    }
}

/// Whether all went well and all is as it was.
pub(crate) fn run(address: IpAddr, options: &Options) -> Result<bool, Failure> {
    let echo = Echo::start("soak", address, &["--max-connections", "32", "--max-buffer", "1048576"])?;
    let mut report = Report::default();
    let mut clients = Clients::new(echo.at, options.seed)?;
    // What a server keeps once it has served, and once a client was killed, is no leak.
    warm_up(&mut clients, &mut report)?;
    let empty = echo.settled()?;
    let before = Holds { held: empty, memory: echo.memory()? };
    let mut storm = Storm::new(options);
    let clock = Clock::start();
    let until = clock.now().saturating_add(Duration::from_secs_f64(options.minutes * 60.0));
    let mut say_at = clock.now();
    while clock.now() < until {
        storm.tick(clock.now(), &mut clients, &mut report)?;
        if clock.now() >= say_at {
            let memory = echo.memory()?;
            println!("{}", report.line(clock.now(), &memory));
            say_at = clock.now().saturating_add(SAY_EVERY);
        }
        thread::sleep(TICK);
    }
    clients.part(PARTING, &mut report, storm.is_excused(clock.now()))?;
    echo.holds(&before.held)?;
    let after = Holds::of(&echo)?;
    let last = echo.stop()?;
    println!("{}", report.table(&before, &after, &last));
    let grown = after.memory.resident > before.memory.resident + before.memory.resident / 10 + HEAP;
    if grown {
        println!("FAILED: resident memory has grown");
    }
    Ok(!grown && report.wrong == 0)
}

/// One client that ends by itself, one that is killed.
fn warm_up(clients: &mut Clients, report: &mut Report) -> Result<(), Failure> {
    clients.begin(3)?;
    clients.begin(1000)?;
    let clock = Clock::start();
    let until = clock.now().saturating_add(PARTING);
    while clients.len() > 1 {
        if clock.now() >= until {
            return Err("the first client did not end".into());
        }
        for ended in clients.ended()? {
            report.note(&ended, false);
        }
        thread::sleep(TICK);
    }
    clients.kill(0)?;
    report.killed += 1;
    Ok(())
}

/// What happens when.
struct Storm<'a> {
    rng: Rng,
    netdev: Option<&'a str>,
    /// When the network goes down next, and until when it is.
    down_at: Instant,
    down_until: Option<Instant>,
    /// Until when a client may fail because it was.
    excused_until: Instant,
}

impl<'a> Storm<'a> {
    fn new(options: &'a Options) -> Self {
        Self {
            rng: Rng::new(options.seed),
            netdev: options.netdev.as_deref(),
            down_at: Instant::ORIGIN.saturating_add(FIRST_DOWN),
            down_until: None,
            excused_until: Instant::ORIGIN,
        }
    }

    fn is_excused(&self, now: Instant) -> bool {
        now < self.excused_until
    }

    fn tick(&mut self, now: Instant, clients: &mut Clients, report: &mut Report) -> Result<(), Failure> {
        if self.down_until.is_some_and(|at| at <= now) {
            self.set_link("up")?;
            self.down_until = None;
        }
        for ended in clients.ended()? {
            report.note(&ended, self.is_excused(now));
        }
        if clients.len() < CLIENTS && self.rng.chance(1, BEGIN_IN) {
            let rounds = self.rng.between(1, 40);
            clients.begin(rounds)?;
        }
        if clients.len() > 0 && self.rng.chance(1, KILL_IN) {
            let victim = usize::try_from(self.rng.below(clients.len() as u64))?;
            clients.kill(victim)?;
            report.killed += 1;
        }
        if self.netdev.is_some() && self.down_at <= now {
            self.set_link("down")?;
            report.cut += 1;
            let time = Duration::from_millis(self.rng.between(100, DOWN_MAX));
            self.down_until = Some(now.saturating_add(time));
            let next = Duration::from_secs(self.rng.between(DOWN_AFTER.0, DOWN_AFTER.1));
            self.down_at = now.saturating_add(next);
            self.excused_until = now.saturating_add(time).saturating_add(AFTERMATH);
        }
        Ok(())
    }

    fn set_link(&self, state: &str) -> Result<(), Failure> {
        let Some(netdev) = self.netdev else { return Ok(()) };
        let status = Command::new("ip").args(["link", "set", netdev, state]).status()?;
        if status.success() { Ok(()) } else { Err(format!("ip link set {netdev} {state}: {status}").into()) }
    }
}

impl Drop for Storm<'_> {
    fn drop(&mut self) {
        // Whatever ends the soak early, the network is not left down.
        let _ = self.set_link("up");
    }
}
