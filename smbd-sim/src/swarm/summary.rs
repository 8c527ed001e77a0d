use std::collections::BTreeMap;
use std::fmt;

use super::kind::{FaultKind, KINDS};
use super::{Pair, Report};
use crate::oracle::{Failure, Law, Rule};
use crate::upper::Carried;
use crate::watch::Census;

/// What a run carries at least, unless it was cut: messages, RDMA operations, registrations.
pub const LEAST: [u64; 3] = [200, 4, 2];

/// All runs of a swarm, summed up.
#[derive(Clone, Debug)]
pub struct Summary {
    /// Runs.
    pub runs: u64,
    /// Runs that failed, by seed.
    pub failures: BTreeMap<u64, Failure>,
    /// Runs in which every byte was delivered after everything had healed.
    pub delivered: u64,
    /// Runs with a peer that was a script.
    pub hostile: u64,
    /// Runs between loops of `smbd_link`, by pair.
    pub pairs: BTreeMap<Pair, u64>,
    /// Other runs with two connections that carried less than [`LEAST`].
    pub thin: u64,
    /// Connections.
    pub connections: u64,
    /// What was carried.
    pub carried: Carried,
    /// What was seen.
    pub census: Census,
    /// Faults that happened, by kind.
    pub faults: [u64; KINDS],
    /// How often each law was looked at.
    pub laws: Vec<u64>,
    /// Inputs, actions and events.
    pub steps: u64,
}

impl Default for Summary {
    fn default() -> Self {
        Self {
            runs: 0,
            failures: BTreeMap::new(),
            delivered: 0,
            hostile: 0,
            pairs: BTreeMap::new(),
            thin: 0,
            connections: 0,
            carried: Carried::default(),
            census: Census::default(),
            faults: [0; KINDS],
            laws: vec![0; Law::ALL.len()],
            steps: 0,
        }
    }
}

impl Summary {
    /// Takes a run in.
    pub fn take(&mut self, report: &Report) {
        self.runs += 1;
        if let Some(failure) = &report.failure {
            self.failures.insert(report.seed, failure.clone());
        }
        self.delivered += u64::from(report.delivered);
        self.hostile += u64::from(report.hostile);
        if let Some(pair) = report.pair {
            *self.pairs.entry(pair).or_default() += 1;
        }
        let carried = &report.carried;
        let has = [carried.messages, carried.operations, carried.registrations];
        let is_full = !report.hostile && report.pair.is_none();
        self.thin += u64::from(is_full && has.iter().zip(LEAST).any(|(has, least)| *has < least));
        self.connections += u64::from(report.connections);
        self.carried.add(carried);
        self.census.add(&report.census);
        add(&mut self.faults, &report.faults);
        add(&mut self.laws, &report.laws);
        self.steps += report.steps;
    }

    /// Takes other runs in.
    pub fn merge(&mut self, other: Self) {
        self.runs += other.runs;
        self.failures.extend(other.failures);
        self.delivered += other.delivered;
        self.hostile += other.hostile;
        for (pair, runs) in other.pairs {
            *self.pairs.entry(pair).or_default() += runs;
        }
        self.thin += other.thin;
        self.connections += other.connections;
        self.carried.add(&other.carried);
        self.census.add(&other.census);
        add(&mut self.faults, &other.faults);
        add(&mut self.laws, &other.laws);
        self.steps += other.steps;
    }

    /// How often a kind of fault happened.
    #[must_use]
    pub const fn fault(&self, kind: FaultKind) -> u64 {
        self.faults[kind as usize]
    }

    /// How often a law was looked at.
    #[must_use]
    pub fn law(&self, law: Law) -> u64 {
        self.laws.get(law as usize).copied().unwrap_or(0)
    }
}

fn add(to: &mut [u64], from: &[u64]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to += from;
    }
}

impl Carried {
    fn add(&mut self, other: &Self) {
        self.messages += other.messages;
        self.bytes += other.bytes;
        self.operations += other.operations;
        self.operation_bytes += other.operation_bytes;
        self.registrations += other.registrations;
        self.probes += other.probes;
        self.senseless += other.senseless;
        self.held += other.held;
        add(&mut self.compared, &other.compared);
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let share = |part: u64| part.saturating_mul(1000).checked_div(self.runs).unwrap_or(0);
        let tenths = share(self.delivered);
        let c = &self.carried;
        section(
            f,
            "carried",
            [
                ("connections", self.connections),
                ("messages", c.messages),
                ("bytes in messages", c.bytes),
                ("RDMA operations", c.operations),
                ("bytes by RDMA", c.operation_bytes),
                ("registrations", c.registrations),
                ("probes answered", c.probes),
                ("fragments held back", c.held),
                ("senseless commands refused", c.senseless),
                ("inputs, actions, events", self.steps),
            ],
        )?;
        section(f, "faults", FaultKind::ALL.iter().map(|k| (k.name(), self.fault(*k))))?;
        let tables = [
            ("inputs", &self.census.inputs),
            ("actions", &self.census.actions),
            ("events", &self.census.events),
            ("close reasons", &self.census.closes),
            ("connect errors", &self.census.connect_errors),
        ];
        for (title, table) in tables {
            section(f, title, table.iter().map(|(name, count)| (*name, *count)))?;
        }
        let violations = &self.census.violations;
        let known = Rule::ALL.iter().map(|r| (r.name(), violations.get(r.name()).copied().unwrap_or(0)));
        section(f, "violations", known)?;
        section(f, "oracles", Law::ALL.iter().map(|law| (law.name(), self.law(*law))))?;
        if !self.pairs.is_empty() {
            section(
                f,
                "loops, initiator and acceptor",
                self.pairs.iter().map(|(pair, runs)| (pair.name(), *runs)),
            )?;
            return writeln!(f, "every message came back: {}.{} % of the runs", tenths / 10, tenths % 10);
        }
        writeln!(f, "with a hostile peer: {} runs", self.hostile)?;
        writeln!(f, "thin runs: {}", self.thin)?;
        writeln!(f, "every byte delivered after healing: {}.{} % of the runs", tenths / 10, tenths % 10)
    }
}

fn section<'a>(
    f: &mut fmt::Formatter<'_>,
    title: &str,
    rows: impl IntoIterator<Item = (&'a str, u64)>,
) -> fmt::Result {
    writeln!(f, "{title}")?;
    for (name, count) in rows {
        writeln!(f, "  {name:<32} {count:>14}")?;
    }
    Ok(())
}
