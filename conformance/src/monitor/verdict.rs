//! The verdict: the findings of the monitor.

use std::collections::BTreeMap;

use smbd_sim::decode::{self, Counters, Direction};

use super::rules::Rule;

/// What was found in a capture.
#[derive(Debug)]
pub struct Verdict {
    /// The SMB Direct connections, in the order they were first seen.
    pub connections: Vec<Connection>,
    /// What the frames were, and how many of them could not be understood.
    pub counters: Counters,
    /// What kept the capture from being read to its end.
    pub problem: Option<String>,
}

impl Verdict {
    /// Findings of all connections.
    pub fn findings(&self) -> impl Iterator<Item = &Finding> {
        self.connections.iter().flat_map(|connection| &connection.findings)
    }

    /// How many findings are violations.
    #[must_use]
    pub fn violations(&self) -> usize {
        self.findings().filter(|finding| finding.rule.class.is_violation()).count()
    }

    /// How many findings are deviations.
    #[must_use]
    pub fn deviations(&self) -> usize {
        self.findings().count() - self.violations()
    }

    /// SMB Direct messages of all connections.
    #[must_use]
    pub fn messages(&self) -> u64 {
        self.connections.iter().map(|connection| connection.messages).sum()
    }

    /// Frames, and packets of RDMA connections, of which is not known what they hold.
    #[must_use]
    pub const fn not_understood(&self) -> u64 {
        let Counters { unknown_link_frames, broken_frames, not_understood, .. } = self.counters;
        unknown_link_frames + broken_frames + not_understood
    }

    /// Why there was nothing to judge, if there was not: that nothing is broken says nothing then.
    #[must_use]
    pub fn nothing_to_judge(&self) -> Option<String> {
        let Counters { frames, foreign_frames, unknown_link_frames, unknown_link_type, .. } = self.counters;
        if self.messages() > 0 {
            return None;
        }
        Some(match unknown_link_type {
            _ if frames == 0 => "nothing to judge: no packet is in the capture".into(),
            Some(number) if unknown_link_frames == frames => format!(
                "nothing to judge: all {frames} frames have link type {number}; Ethernet, Linux cooked and raw IP can be read"
            ),
            _ => format!(
                "nothing to judge: no SMB Direct message is in {frames} frames, {foreign_frames} of other protocols, \
                 {} not understood",
                self.not_understood()
            ),
        })
    }

    /// How often a rule could not be judged.
    #[must_use]
    pub fn not_judged(&self) -> u64 {
        self.connections.iter().flat_map(|connection| connection.not_judged.values()).sum()
    }
}

/// What was found on one connection.
#[derive(Debug)]
pub struct Connection {
    /// The connection as it was decoded.
    pub connection: decode::Connection,
    /// SMB Direct messages, of both directions.
    pub messages: u64,
    /// Rules broken, in the order they were found.
    pub findings: Vec<Finding>,
    /// How often a rule, by its name, needed something that is not in the capture.
    pub not_judged: BTreeMap<&'static str, u64>,
    /// The ledgers of initiator and acceptor.
    pub ledgers: [Ledger; 2],
}

/// A rule broken.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The rule.
    pub rule: &'static Rule,
    /// Number of the connection in the capture.
    pub connection: usize,
    /// Number of the frame with the first byte of the message or operation.
    pub frame: u64,
    /// Who broke the rule: the sender of this direction.
    pub direction: Direction,
    /// The values seen.
    pub seen: String,
    /// What was expected instead.
    pub expected: String,
}

/// Send credits given and spent by one side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ledger {
    /// Credits given to the peer in the Negotiate Response.
    pub granted_negotiating: u64,
    /// Credits given to the peer in data messages.
    pub granted_later: u64,
    /// Credits of the peer spent: data messages sent.
    pub spent: u64,
    /// The fewest credits this side held since it was first given any, below 0 if it sent without; `None` when it was
    /// given none, or what it held is unknown.
    pub lowest: Option<i64>,
}

impl Ledger {
    /// Credits given to the peer in total.
    #[must_use]
    pub const fn granted(&self) -> u64 {
        self.granted_negotiating + self.granted_later
    }
}

/// Where findings are written down.
#[derive(Debug)]
pub(super) struct Journal {
    connection: usize,
    pub(super) findings: Vec<Finding>,
    pub(super) not_judged: BTreeMap<&'static str, u64>,
}

/// The message or operation at hand.
#[derive(Clone, Copy, Debug)]
pub(super) struct At {
    pub(super) frame: u64,
    pub(super) direction: Direction,
    /// When its last byte was captured.
    pub(super) time_ns: u64,
}

impl At {
    pub(super) fn of(item: &decode::Item) -> Self {
        Self { frame: item.frames.first, direction: item.direction, time_ns: item.frames.last_ns }
    }
}

/// Place of the sender of a direction in arrays of both sides: initiator, acceptor.
pub(super) const fn sender(direction: Direction) -> usize {
    match direction {
        Direction::ToAcceptor => 0,
        Direction::ToInitiator => 1,
    }
}

/// The other direction.
pub(super) const fn reversed(direction: Direction) -> Direction {
    match direction {
        Direction::ToAcceptor => Direction::ToInitiator,
        Direction::ToInitiator => Direction::ToAcceptor,
    }
}

impl Journal {
    pub(super) fn new(connection: usize) -> Self {
        Self { connection, findings: Vec::new(), not_judged: BTreeMap::new() }
    }

    pub(super) fn broken(
        &mut self,
        rule: &'static Rule,
        at: At,
        seen: impl Into<String>,
        expected: impl Into<String>,
    ) {
        let At { frame, direction, .. } = at;
        let (seen, expected) = (seen.into(), expected.into());
        self.findings.push(Finding { rule, connection: self.connection, frame, direction, seen, expected });
    }

    pub(super) fn not_judged(&mut self, rule: &'static Rule) {
        *self.not_judged.entry(rule.name).or_default() += 1;
    }
}
