//! What each test is made of: the server, an honest client beside the attack, and what is demanded afterwards.

use std::fmt;
use std::net::IpAddr;

use super::echo::Echo;
use super::honest::{ADMISSION, Honest, Served, connect_within};
use crate::case::{Context, Failure, Outcome};
use crate::ours::resources::Held;

/// Few connections, so that their limit is reached; ordinary ones otherwise.
pub(super) const OPTIONS: &[&str] = &[
    "--max-connections",
    "32",
    "--max-pending",
    "16",
    "--max-per-host",
    "24",
    "--max-message",
    "131072",
    "--max-buffer",
    "1048576",
    "--max-backlog",
    "1048576",
];
/// How the log may say that a connection has ended. A server that has answered need not have heard from its device that the
/// connection is up (rxe): then it never was.
pub(super) const ENDS: [&str; 3] = ["was ended by", "was lost after", "did not come up: "];
const MIB: f64 = (1 << 20) as f64;

/// A server under attack.
#[derive(Debug)]
pub(super) struct Siege {
    pub(super) echo: Echo,
    pub(super) honest: Honest,
    /// The honest clients' address.
    from: IpAddr,
    /// Where the attackers come from, as the log has it.
    pub(super) attacker: String,
    before: Held,
}

impl Siege {
    pub(super) fn begin(context: &Context, name: &'static str) -> Result<Self, Failure> {
        Self::with(context, name, OPTIONS)
    }

    /// The same with other options of `smbd-echo`.
    pub(super) fn with(context: &Context, name: &'static str, options: &[&str]) -> Result<Self, Failure> {
        let told = std::env::var("HONEST").ok().and_then(|address| address.parse().ok());
        let from = told.unwrap_or(context.address);
        let echo = Echo::start(name, context.address, options)?;
        let honest = Honest::start(from, echo.at)?;
        honest.goes_on(1)?;
        let before = echo.held()?;
        Ok(Self { echo, honest, from, attacker: format!("{}:", context.address), before })
    }

    /// A client that was not there before is served, too; says so.
    pub(super) fn admits_another(&self) -> Result<String, Failure> {
        let (client, time) = connect_within(self.from, self.echo.at, ADMISSION)?;
        client.close()?;
        Ok(format!("another client was let in after {:.2} s", time.as_secs_f64()))
    }

    /// The attackers are gone: all is as it was, and was all the time for the honest client. `what` was seen besides.
    pub(super) fn end(self, what: impl fmt::Display) -> Outcome {
        let Self { echo, honest, from, before, .. } = self;
        honest.goes_on(2)?;
        let settled = echo.holds(&before)?;
        let (another, _) = connect_within(from, echo.at, ADMISSION)?;
        another.close()?;
        let memory = echo.memory()?;
        let Served { rounds, longest } = honest.stop()?;
        let room = echo.room;
        let last = echo.stop()?;
        if memory.peak > room + room / 10 {
            return Err(format!("{} bytes at the most, {room} and 10 % are allowed", memory.peak).into());
        }
        let mib = |bytes: u64| bytes as f64 / MIB;
        let Some((counts, _)) = last.split_once(';') else { return Err(last.into()) };
        Ok(format!(
            "{what}; peak {:.1} MiB of {:.1}, then {:.1} ({:.1} pinned); honest: {rounds} rounds, longest {:.2} s; all \
             given back after {:.1} s; {counts}",
            mib(memory.peak),
            mib(room),
            mib(memory.resident),
            mib(memory.pinned),
            longest.as_secs_f64(),
            settled.as_secs_f64()
        ))
    }
}
