//! Counts of all inputs, actions and packets, to show that a test has really produced them.

use std::collections::BTreeMap;

use smbd_core::error::{CloseReason, ConnectError, ConnectReason};
use smbd_core::{Action, Event, Input, Misuse, RdmaVerb};

use crate::named::named;
use crate::oracle::Rule;
use crate::probe::{At, Probe, Whole};

/// What was seen, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Census {
    /// Actions by kind.
    pub actions: BTreeMap<&'static str, u64>,
    /// Events by kind, results with an error apart.
    pub events: BTreeMap<&'static str, u64>,
    /// Inputs by kind.
    pub inputs: BTreeMap<&'static str, u64>,
    /// Close reasons.
    pub closes: BTreeMap<&'static str, u64>,
    /// Connect errors.
    pub connect_errors: BTreeMap<&'static str, u64>,
    /// Violations by which connections ended.
    pub violations: BTreeMap<&'static str, u64>,
}

impl Census {
    /// Adds what another one has seen.
    pub fn add(&mut self, other: &Self) {
        let merge = |to: &mut BTreeMap<&'static str, u64>, from: &BTreeMap<&'static str, u64>| {
            for (name, count) in from {
                *to.entry(name).or_default() += count;
            }
        };
        merge(&mut self.actions, &other.actions);
        merge(&mut self.events, &other.events);
        merge(&mut self.inputs, &other.inputs);
        merge(&mut self.closes, &other.closes);
        merge(&mut self.connect_errors, &other.connect_errors);
        merge(&mut self.violations, &other.violations);
    }
}

named! {
    /// What is counted: actions, then events, then inputs.
    enum Seen {
        Connect = "Connect", Accept = "Accept", Disconnect = "Disconnect", PostRecv = "PostRecv", PostSend = "PostSend",
        PostRead = "PostRdma read", PostWrite = "PostRdma write", Register = "Register", Deregister = "Deregister",
        Wait = "Wait",
        Established = "Established", ConnectFailed = "ConnectFailed", Data = "Data", Invalidated = "Invalidated",
        Sent = "Sent", SentErr = "Sent, aborted", RdmaDone = "RdmaDone", RdmaDoneErr = "RdmaDone, failed",
        Registered = "Registered", RegisteredErr = "Registered, failed", Deregistered = "Deregistered",
        DeregisteredErr = "Deregistered, failed", Probed = "Probed", ProbedErr = "Probed, unanswered",
        Writable = "Writable", Closed = "Closed", Drained = "Drained", Owned = "Message, copied", Borrowed = "Message, borrowed",
        InConnected = "Connected", InConnectFailed = "ConnectFailed", InDisconnected = "Disconnected",
        InTimeout = "Timeout", InReceived = "Received", InSent = "Sent", InRdmaDone = "RdmaDone",
        InRegistered = "Registered", InBindComplete = "BindComplete", InDeregistered = "Deregistered", InFailed = "Failed",
        InForged = "refused as made up",
    }
}
const ACTIONS: usize = Seen::Established as usize;
const EVENTS: usize = Seen::InConnected as usize;

/// Counts while a run goes on: an array, since this is asked for every message.
#[derive(Clone, Debug)]
pub struct Counter {
    seen: [u64; Seen::ALL.len()],
    /// Messages after the negotiation that left, by side.
    pub sent: [u64; 2],
    rare: Census,
}

impl Default for Counter {
    fn default() -> Self {
        Self { seen: [0; Seen::ALL.len()], sent: [0; 2], rare: Census::default() }
    }
}

impl Counter {
    fn see(&mut self, what: Seen) {
        self.seen[what as usize] += 1;
    }

    /// What was counted.
    #[must_use]
    pub fn census(&self) -> Census {
        let mut census = self.rare.clone();
        for (at, (seen, count)) in Seen::ALL.iter().zip(self.seen).enumerate().filter(|(_, (_, n))| *n > 0) {
            let table = if at < ACTIONS {
                &mut census.actions
            } else if at < EVENTS {
                &mut census.events
            } else {
                &mut census.inputs
            };
            table.insert(seen.name(), count);
        }
        census
    }

    /// Inputs, actions and events in all.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.seen.iter().sum()
    }
}

const fn close_reason(reason: &CloseReason) -> &'static str {
    match reason {
        CloseReason::Local => "Local",
        CloseReason::PeerClosed => "PeerClosed",
        CloseReason::Lost { .. } => "Lost",
        CloseReason::Violation(_) => "Violation",
        CloseReason::KeepaliveTimeout => "KeepaliveTimeout",
        CloseReason::CreditStall => "CreditStall",
        CloseReason::Transport { .. } => "Transport",
        _ => "another",
    }
}

const fn connect_error(error: &ConnectError) -> &'static str {
    match error {
        ConnectError::Local => "Local",
        ConnectError::Connect(ConnectReason::Refused) => "Connect, refused",
        ConnectError::Connect(ConnectReason::Unreachable) => "Connect, unreachable",
        ConnectError::Connect(ConnectReason::TimedOut) => "Connect, timed out",
        ConnectError::Connect(_) => "Connect, other",
        ConnectError::PeerClosed => "PeerClosed",
        ConnectError::Lost { .. } => "Lost",
        ConnectError::Timeout => "Timeout",
        ConnectError::Rejected { .. } => "Rejected",
        ConnectError::RejectedPeer { .. } => "RejectedPeer",
        ConnectError::Violation(_) => "Violation",
        ConnectError::Transport { .. } => "Transport",
        _ => "another",
    }
}

impl Probe for Counter {
    fn whole(&mut self, _: At, message: &Whole<'_>) {
        self.see(if message.borrowed.is_some() { Seen::Borrowed } else { Seen::Owned });
    }

    fn input(&mut self, _: At, input: &Input<'_>, result: Result<(), Misuse>) {
        let seen = match input {
            _ if result.is_err() => Seen::InForged,
            Input::Connected { .. } => Seen::InConnected,
            Input::ConnectFailed { .. } => Seen::InConnectFailed,
            Input::Disconnected { .. } => Seen::InDisconnected,
            Input::Timeout => Seen::InTimeout,
            Input::Received { .. } => Seen::InReceived,
            Input::Sent { .. } => Seen::InSent,
            Input::RdmaDone { .. } => Seen::InRdmaDone,
            Input::Registered { .. } => Seen::InRegistered,
            Input::BindComplete { .. } => Seen::InBindComplete,
            Input::Deregistered { .. } => Seen::InDeregistered,
            Input::Failed { .. } => Seen::InFailed,
        };
        self.see(seen);
    }

    fn action(&mut self, at: At, action: &Action) {
        let seen = match action {
            Action::Connect => Seen::Connect,
            Action::Accept => Seen::Accept,
            Action::Disconnect => Seen::Disconnect,
            Action::PostRecv { .. } => Seen::PostRecv,
            Action::PostSend { .. } => {
                self.sent[at.side.index()] += 1;
                Seen::PostSend
            }
            Action::PostRdma { verb: RdmaVerb::Read, .. } => Seen::PostRead,
            Action::PostRdma { verb: RdmaVerb::Write, .. } => Seen::PostWrite,
            Action::Register { .. } => Seen::Register,
            Action::Deregister { .. } => Seen::Deregister,
            Action::Notify(event) => return self.event(at, event),
            Action::Wait(_) => Seen::Wait,
        };
        self.see(seen);
    }

    fn event(&mut self, _: At, event: &Event) {
        let of = |ok: bool, good, bad| if ok { good } else { bad };
        let seen = match event {
            Event::Established(_) => Seen::Established,
            Event::ConnectFailed(error) => {
                *self.rare.connect_errors.entry(connect_error(error)).or_default() += 1;
                if let ConnectError::Violation(v) | ConnectError::RejectedPeer { violation: v, .. } = error {
                    *self.rare.violations.entry(Rule::of(v).name()).or_default() += 1;
                }
                Seen::ConnectFailed
            }
            Event::Data(_) => Seen::Data,
            Event::Invalidated { .. } => Seen::Invalidated,
            Event::Sent { result, .. } => of(result.is_ok(), Seen::Sent, Seen::SentErr),
            Event::RdmaDone { result, .. } => of(result.is_ok(), Seen::RdmaDone, Seen::RdmaDoneErr),
            Event::Registered { result, .. } => of(result.is_ok(), Seen::Registered, Seen::RegisteredErr),
            Event::Deregistered { result, .. } => {
                of(result.is_ok(), Seen::Deregistered, Seen::DeregisteredErr)
            }
            Event::Probed(result) => of(result.is_ok(), Seen::Probed, Seen::ProbedErr),
            Event::Writable => Seen::Writable,
            Event::Closed(reason) => {
                *self.rare.closes.entry(close_reason(reason)).or_default() += 1;
                if let CloseReason::Violation(v) = reason {
                    *self.rare.violations.entry(Rule::of(v).name()).or_default() += 1;
                }
                Seen::Closed
            }
            Event::Drained => Seen::Drained,
        };
        self.see(seen);
    }
}
