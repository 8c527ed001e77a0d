//! What this process holds of the device and of the system, before and after.

use std::collections::BTreeMap;
use std::process::Command;
use std::thread;
use std::time::Duration;

use smbd_verbs::Clock;

use super::calls;
use super::pair::Pair;
use crate::case::{Context, Failure};
use crate::patience::PATIENCE;
use crate::settings;

/// Kinds of objects that the kernel counts for each process.
const KINDS: [&str; 5] = ["qp", "cq", "mr", "pd", "cm_id"];
/// What was held goes a little after the call that lets it go.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// How much of everything.
pub(crate) type Held = BTreeMap<&'static str, usize>;

/// Finds what tests leave behind.
#[derive(Debug)]
pub(crate) struct Leaks {
    before: Held,
}

impl Leaks {
    /// From here on.
    pub(crate) fn watch(context: &Context) -> Result<Self, Failure> {
        Self::watch_after(|| connection_works(context))
    }

    /// From here on, after a first connection, which opens what a process keeps: the device, and a queue that works around
    /// siw. It has let go of all else when it returns. A first runtime opens what tokio keeps for signals, if it was built with them.
    pub(crate) fn watch_after(connect: impl FnOnce() -> Result<(), Failure>) -> Result<Self, Failure> {
        drop(calls::runtime());
        connect()?;
        Ok(Self { before: held()? })
    }

    /// Nothing is held but what was before, and the next connection is served.
    pub(crate) fn none(&self, context: &Context) -> Result<(), Failure> {
        self.is_as_before()?;
        connection_works(context)?;
        self.is_as_before()
    }

    /// Nothing is held but what was before.
    pub(crate) fn is_as_before(&self) -> Result<(), Failure> {
        let clock = Clock::start();
        let until = clock.now().saturating_add(PATIENCE);
        loop {
            let now = held()?;
            if now == self.before {
                return Ok(());
            }
            if clock.now() >= until {
                return Err(format!("held before: {:?}; now: {now:?}", self.before).into());
            }
            thread::sleep(POLL_INTERVAL);
        }
    }
}

fn connection_works(context: &Context) -> Result<(), Failure> {
    let mut pair = Pair::new(context, &settings::of_the_kit()?)?;
    pair.check()?;
    pair.close()
}

/// What this process holds.
pub(crate) fn held() -> Result<Held, Failure> {
    held_by(std::process::id())
}

/// What a process of this host holds.
pub(crate) fn held_by(process: u32) -> Result<Held, Failure> {
    let mut held = Held::new();
    let own = process.to_string();
    for kind in KINDS {
        let output = Command::new("rdma").args(["resource", "show", kind]).output()?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            return Err(format!("rdma resource show {kind}: {said}").into());
        }
        let text = String::from_utf8(output.stdout)?;
        let is_own = |line: &&str| {
            let mut words = line.split_whitespace();
            words.any(|word| word == "pid") && words.next() == Some(own.as_str())
        };
        held.insert(kind, text.lines().filter(is_own).count());
    }
    held.insert("file descriptors", std::fs::read_dir(format!("/proc/{process}/fd"))?.count());
    Ok(held)
}
