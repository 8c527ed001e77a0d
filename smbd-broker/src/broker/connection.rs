//! A connection, as a broker sees it.

use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;
use smbd_core::Instant;
use smbd_smb2::wire::Guid;

use super::action::{OwnerId, TransferId};
use super::counts::Counts;
use super::given::Given;
use super::history::History;
use super::mailbox::Mailbox;
use crate::wire::{Area, Direction, Rule};

/// What is known of a connection when it is established.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    /// The longest message that the client receives, in bytes.
    pub max_send_size: u32,
    /// The longest transfer, in bytes.
    pub max_read_write_size: u32,
    /// The address of the client, for people.
    pub address: String,
}

#[derive(Debug)]
pub(super) struct Connection {
    pub(super) peer: Peer,
    pub(super) phase: Phase,
    /// What the device may still use slots for.
    pub(super) transfers: BTreeMap<TransferId, Running>,
    /// Messages that the transport has not taken.
    pub(super) sends: VecDeque<Queued>,
    /// What is to be told on its socket.
    pub(super) mailbox: Mailbox,
    pub(super) counts: Counts,
}

#[derive(Debug)]
pub(super) enum Phase {
    Waiting(Waiting),
    Held(Held),
    /// It is being ended.
    Ending {
        /// Whose it was.
        owner: Option<OwnerId>,
        /// Whether somebody wants to know how it ends.
        has_socket: bool,
    },
}

/// Nobody has it yet.
#[derive(Debug)]
pub(super) struct Waiting {
    /// When the time for NEGOTIATE and SESSION_SETUP is over.
    pub(super) until: Instant,
    /// ClientGuid of NEGOTIATE.
    pub(super) client: Option<Guid>,
    /// NEGOTIATE, and the broker's answer.
    pub(super) history: History,
    /// Whether the answer is being made.
    pub(super) is_answering: bool,
}

/// An owner has it.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) owner: OwnerId,
    /// How it came to its owner; `None` if that has taken it.
    pub(super) rule: Option<Rule>,
    /// The messages that it has not taken.
    pub(super) given: Given,
    /// What was exchanged, until SESSION_SETUP has come: then it is known where the connection belongs.
    pub(super) open: Option<History>,
    /// The message of which pieces have come.
    pub(super) begun: Option<Begun>,
    pub(super) moving: Option<Moving>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Queued {
    pub(super) len: u32,
    /// Whether the owner has sent it, not the broker.
    pub(super) is_told: bool,
}

#[derive(Debug)]
pub(super) struct Begun {
    pub(super) bytes: Vec<u8>,
    /// Bytes that are still to come.
    pub(super) remaining: u32,
}

/// It is on its way to another owner, and goes when all that the former one has ordered has ended.
#[derive(Debug)]
pub(super) struct Moving {
    pub(super) to: OwnerId,
    pub(super) cause: Cause,
    /// Whether all was read that the former owner has written.
    pub(super) is_drained: bool,
    /// What has come from the client meanwhile.
    pub(super) messages: Vec<Bytes>,
}

/// Why it moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    /// The new owner has its socket.
    Attach {
        /// That of the call.
        tag: u64,
    },
    /// It binds a session of the new owner.
    Route(Rule),
}

/// A transfer.
#[derive(Debug)]
pub(super) struct Running {
    pub(super) owner: OwnerId,
    pub(super) tag: u64,
    pub(super) direction: Direction,
    pub(super) areas: Vec<Area>,
}

impl Connection {
    pub(super) fn new(peer: Peer, until: Instant) -> Self {
        let history = History::new();
        let waiting = Waiting { until, client: None, history, is_answering: false };
        Self {
            peer,
            phase: Phase::Waiting(waiting),
            transfers: BTreeMap::new(),
            sends: VecDeque::new(),
            mailbox: Mailbox::new(),
            counts: Counts::default(),
        }
    }

    /// Whose it is, or will be.
    pub(super) fn belongs_to(&self, id: OwnerId) -> bool {
        match &self.phase {
            Phase::Waiting(_) => false,
            Phase::Held(Held { owner, moving, .. }) => {
                *owner == id || moving.as_ref().is_some_and(|moving| moving.to == id)
            }
            Phase::Ending { owner, .. } => *owner == Some(id),
        }
    }

    pub(super) const fn is_moving(&self) -> bool {
        matches!(self.phase, Phase::Held(Held { moving: Some(_), .. }))
    }

    pub(super) const fn has_socket(&self) -> bool {
        matches!(self.phase, Phase::Held(_) | Phase::Ending { has_socket: true, .. })
    }
}

impl Held {
    pub(super) const fn new(owner: OwnerId, rule: Option<Rule>, open: Option<History>) -> Self {
        Self { owner, rule, given: Given::new(), open, begun: None, moving: None }
    }
}
