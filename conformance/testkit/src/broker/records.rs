//! What the model knows by itself.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::time::Duration;

use smbd_broker::broker::{OwnerId, Quotas, Settings, TransferId};
use smbd_broker::wire::{Age, Area, Limits, Refusal, Reply, Rule};
use smbd_core::Instant;

/// A law that does not hold.
#[derive(Debug)]
pub struct Breach {
    pub law: &'static str,
    pub what: String,
}

impl fmt::Display for Breach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.law, self.what)
    }
}

pub type Done<T = ()> = Result<T, Breach>;

/// Says that a law is broken if it is.
pub fn law(name: &'static str, holds: bool, what: impl FnOnce() -> String) -> Done {
    if holds { Ok(()) } else { Err(Breach { law: name, what: what() }) }
}

pub const MAX_SEND_SIZE: u32 = 3000;
pub const MAX_READ_WRITE_SIZE: u32 = 9000;
/// What a broker keeps before SESSION_SETUP.
pub const HISTORY_MAX: usize = 64 << 10;
pub const HISTORY_MESSAGES_MAX: usize = 64;
/// What a message counts at least while its owner has not taken it.
pub const GIVEN_MIN: usize = 256;
pub const WITHIN_MAX: u32 = 60_000;

/// Limits that are reached all the time.
pub fn settings() -> Settings {
    let limits = Limits {
        slot_len: 4096,
        slots_max: 5,
        sends_max: 4,
        send_bytes_max: 4000,
        receive_bytes_max: 1500,
        transfers_max: 3,
    };
    Settings {
        limits,
        quotas: Quotas {
            memory_max: 8 * 4096,
            owners_max: 3,
            connections_max: 5,
            connections_of_owner_max: 3,
            rules_of_owner_max: 2,
            setup_within: Duration::from_secs(10),
        },
        ..Settings::default()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    Silent,
    Present,
    /// It did wrong.
    Closing,
    /// It left, and the device may use its slots.
    Gone,
}

pub type Answer = Result<Reply, Refusal>;

#[derive(Debug)]
pub struct Owner {
    pub phase: Phase,
    /// Tags of calls without an answer, and the answer if it has to come now.
    pub calls: Vec<(u64, Option<Answer>)>,
    pub slots: u16,
    /// The call, and how many slots.
    pub making: Option<(u64, u16)>,
    /// Slots that transfers use.
    pub used: BTreeSet<u16>,
    pub must_fault: bool,
    /// It was told that it did wrong, or has left: it is told nothing more.
    pub is_over: bool,
    pub must_close: bool,
    pub must_make: bool,
    pub must_free: bool,
}

impl Owner {
    pub const fn new() -> Self {
        Self {
            phase: Phase::Silent,
            calls: Vec::new(),
            slots: 0,
            making: None,
            used: BTreeSet::new(),
            must_fault: false,
            is_over: false,
            must_close: false,
            must_make: false,
            must_free: false,
        }
    }

    /// A call that waited has to be answered now.
    pub fn answers(&mut self, tag: u64, answer: Answer) {
        if let Some((_, call)) = self.calls.iter_mut().find(|(call, answer)| *call == tag && answer.is_none())
        {
            *call = Some(answer);
        }
    }

    /// Whether it is told anything.
    pub const fn is_there(&self) -> bool {
        matches!(self.phase, Phase::Silent | Phase::Present)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    Waiting { is_answering: bool },
    Held,
    Ending,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    Attach(u64),
    Route,
}

#[derive(Clone, Copy, Debug)]
pub struct Move {
    pub to: OwnerId,
    pub cause: Cause,
    pub is_drained: bool,
}

/// An owner's socket of a connection.
#[derive(Debug, Default)]
pub struct Socket {
    /// What has to come as past, before anything else.
    pub past: VecDeque<(Age, Vec<u8>)>,
    /// Pieces of a message.
    pub begun: Vec<u8>,
    /// Transfers that have ended, and of which it was not told.
    pub done: Vec<(u64, bool)>,
    /// Messages that were taken, and of which it was not told, and their bytes.
    pub sent: u32,
    pub sent_len: usize,
    /// Lengths of new messages that the owner has not taken.
    pub given: VecDeque<usize>,
    pub is_lost: bool,
}

#[derive(Debug)]
pub struct Running {
    pub owner: OwnerId,
    pub tag: u64,
    pub areas: Vec<Area>,
}

#[derive(Debug)]
pub struct Client {
    pub until: Instant,
    pub stage: Stage,
    pub holder: Option<OwnerId>,
    /// Whether it may still turn out that it belongs to another owner.
    pub is_open: bool,
    pub guid: u8,
    pub moving: Option<Move>,
    /// All that was exchanged while it is open.
    pub exchanged: Vec<(Age, Vec<u8>)>,
    /// What nobody was told of.
    pub pending: VecDeque<Vec<u8>>,
    /// What was exchanged before it came to its next owner.
    pub past: Vec<(Age, Vec<u8>)>,
    pub socket: Option<Socket>,
    /// Pieces of an owner's message, and how many bytes are missing.
    pub begun: Option<(Vec<u8>, u32)>,
    /// Messages that have to be sent.
    pub orders: VecDeque<Vec<u8>>,
    /// Messages that were not taken: how long, and whether the owner's.
    pub transport: VecDeque<(usize, bool)>,
    /// Transfers that have to begin.
    pub starting: VecDeque<Running>,
    pub transfers: BTreeMap<TransferId, Running>,
    pub must_come: Option<(OwnerId, Rule)>,
    pub must_negotiate: Option<Vec<u8>>,
    pub must_end: bool,
    pub must_drain: bool,
    /// Its socket has to be closed, for it moves, was closed by the owner, or has ended.
    pub must_close: bool,
    pub must_tell_moved: Option<OwnerId>,
    pub is_ended: bool,
    pub is_disconnected: bool,
}

impl Client {
    pub const fn new(until: Instant) -> Self {
        Self {
            until,
            stage: Stage::Waiting { is_answering: false },
            holder: None,
            is_open: false,
            guid: 0,
            moving: None,
            exchanged: Vec::new(),
            pending: VecDeque::new(),
            past: Vec::new(),
            socket: None,
            begun: None,
            orders: VecDeque::new(),
            transport: VecDeque::new(),
            starting: VecDeque::new(),
            transfers: BTreeMap::new(),
            must_come: None,
            must_negotiate: None,
            must_end: false,
            must_drain: false,
            must_close: false,
            must_tell_moved: None,
            is_ended: false,
            is_disconnected: false,
        }
    }

    pub fn belongs_to(&self, owner: OwnerId) -> bool {
        self.holder == Some(owner) || self.moving.is_some_and(|moving| moving.to == owner)
    }

    pub fn is_answered(&self) -> bool {
        self.exchanged.iter().any(|(age, _)| *age == Age::PastResponse)
    }

    pub fn wants_message(&self) -> bool {
        match self.stage {
            Stage::Waiting { is_answering } => !is_answering,
            Stage::Held => {
                let given = self.socket.iter().flat_map(|socket| &socket.given).sum::<usize>();
                self.moving.is_none() && given < settings().limits.receive_bytes_max as usize
            }
            Stage::Ending => false,
        }
    }

    /// Whether its owner has a say.
    pub fn is_listened_to(&self) -> bool {
        self.stage == Stage::Held && !self.moving.is_some_and(|moving| moving.is_drained)
    }

    /// Keeps what was exchanged. Returns whether it is too much.
    pub fn remember(&mut self, age: Age, message: Vec<u8>) -> bool {
        let len: usize = self.exchanged.iter().map(|(_, message)| message.len()).sum();
        let is_too_much =
            len + message.len() > HISTORY_MAX || self.exchanged.len() + 1 > HISTORY_MESSAGES_MAX;
        self.exchanged.push((age, message));
        is_too_much
    }
}
