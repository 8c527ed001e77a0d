//! The oracle of one side, which can be cloned and compared: for searches over all states.

use std::hash::Hasher;

use smbd_core::{Action, Config, Event, Input, Instant, Misuse};

use super::law::{Failure, Law, Verdicts};
use super::records::Records;
use crate::Side;
use crate::probe::{At, Command, Probe};

/// Watches one side.
#[derive(Clone, Debug)]
pub(crate) struct Lone {
    records: Records,
    verdicts: Verdicts,
}

impl Lone {
    /// For a connection that has not begun.
    pub(crate) fn new(side: Side, config: &Config) -> Self {
        let at = At { now: Instant::ORIGIN, side };
        Self { records: Records::new(side.into(), config), verdicts: Verdicts::new(at) }
    }

    /// The first law that was broken.
    pub(crate) const fn failure(&self) -> Option<&Failure> {
        self.verdicts.failure()
    }

    /// Breaks a law that only whoever drives the connection can see.
    pub(crate) fn check(&mut self, at: At, law: Law, holds: bool, what: impl FnOnce() -> String) {
        self.verdicts.at(at);
        self.verdicts.check(law, holds, what);
    }

    /// Commands without a result.
    pub(crate) fn untold(&self) -> usize {
        self.records.untold()
    }

    /// Whether nothing is out.
    pub(crate) fn is_empty(&self) -> bool {
        self.records.is_empty() && self.records.recvs.used() == 0
    }

    /// Feeds `into` with all that can influence a verdict to come. Names are left out, times count by their distance from
    /// `now`; so do counts that are never looked at but in differences.
    pub(crate) fn fingerprint(&self, now: Instant, into: &mut impl Hasher) {
        self.records.fingerprint(now, into);
    }
}

impl Probe for Lone {
    fn input(&mut self, at: At, input: &Input<'_>, result: Result<(), Misuse>) {
        self.verdicts.at(at);
        self.records.on_input(at.now, input, result, &mut self.verdicts);
    }

    fn action(&mut self, at: At, action: &Action) {
        self.verdicts.at(at);
        self.records.on_action(at.now, action, &mut self.verdicts);
    }

    fn event(&mut self, at: At, event: &Event) {
        self.verdicts.at(at);
        self.records.on_event(at.now, event, &mut self.verdicts);
    }

    fn command(&mut self, at: At, command: &Command<'_>) {
        self.verdicts.at(at);
        self.records.on_command(at.now, command, &mut self.verdicts);
    }
}
