//! What has passed.

use alloc::collections::BTreeMap;

use super::reason::Refusal;
use crate::wire::{Command, SessionId};

/// Counters of a relay, from its creation on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Statistics {
    /// Requests by command; those of encrypted messages cannot be seen.
    pub requests: Commands,
    /// Messages with a transform header (2.2.41), in both directions.
    pub encrypted_messages: u64,
    /// Signed elements that could be seen, in both directions.
    pub signed_elements: u64,
    /// Bytes of payload by the way they took.
    pub bytes: Bytes,
    /// Sessions by what they do.
    pub sessions: Sessions,
    /// Requests that the server was made to refuse.
    pub refusals: Refusals,
    /// READs whose Length was lowered, because the client could not have received the answer.
    pub lowered_reads: u64,
    /// Answers that were sent alone although the server had sent them in a compound.
    pub split_answers: u64,
    outstanding: u64,
}

impl Statistics {
    /// Requests without a final answer, of those that can be seen: not of encrypted messages. CANCEL has no answer (3.3.5.16), and
    /// CHANGE_NOTIFY has none before something changes (3.3.5.19): neither counts.
    #[must_use]
    pub const fn outstanding(&self) -> u64 {
        self.outstanding
    }

    /// A request has come.
    pub(super) fn asked(&mut self, command: Command) {
        self.outstanding = self.outstanding.saturating_add(u64::from(is_awaited(command)));
    }

    /// Its final answer has come.
    pub(super) fn answered(&mut self, command: Command) {
        self.outstanding = self.outstanding.saturating_sub(u64::from(is_awaited(command)));
    }
}

fn is_awaited(command: Command) -> bool {
    command != Command::CANCEL && command != Command::CHANGE_NOTIFY
}

/// Bytes by way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Bytes {
    /// Data of WRITEs, by RDMA Read.
    pub rdma_read: u64,
    /// Data of READs, by RDMA Write.
    pub rdma_write: u64,
    /// Bytes of messages from the client, without those of RDMA.
    pub from_client: u64,
    /// Bytes of messages to the client, without those of RDMA.
    pub to_client: u64,
}

/// A command's number is its place among those with a name.
const _: () = {
    let (mut named, mut number) = (Command::NAMED, 0);
    while let [first, rest @ ..] = named {
        assert!(first.0 == number);
        (named, number) = (rest, first.0.saturating_add(1));
    }
};

/// Requests by command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Commands {
    named: [u64; Command::NAMED.len()],
    other: u64,
}

impl Commands {
    #[inline]
    pub(super) fn count(&mut self, command: Command) {
        let counter = self.named.get_mut(usize::from(command.0)).unwrap_or(&mut self.other);
        *counter = counter.saturating_add(1);
    }

    /// How many there were of a command that has a name.
    #[must_use]
    pub fn of(&self, command: Command) -> u64 {
        self.iter().find(|(named, _)| *named == command).map_or(0, |(_, count)| count)
    }

    /// How many there were of commands without a name.
    #[must_use]
    pub const fn other(&self) -> u64 {
        self.other
    }

    /// All commands that have names, and how many there were of each.
    pub fn iter(&self) -> impl Iterator<Item = (Command, u64)> {
        Command::NAMED.iter().copied().zip(self.named)
    }
}

/// Refusals by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Refusals([u64; Refusal::ALL.len()]);

impl Refusals {
    pub(super) fn count(&mut self, refusal: Refusal) {
        if let Some(counter) = self.0.get_mut(refusal as usize) {
            *counter = counter.saturating_add(1);
        }
    }

    /// All reasons, and how many refusals each has caused.
    pub fn iter(&self) -> impl Iterator<Item = (Refusal, u64)> {
        Refusal::ALL.into_iter().zip(self.0)
    }

    /// How many there were.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.0.iter().fold(0, |sum, count| sum.saturating_add(*count))
    }
}

/// What a session was seen to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SessionKind {
    Rdma,
    Signed,
    Encrypted,
}

/// Sessions by what they do. One that does several things counts for each. The first 256 sessions of a connection are told apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sessions {
    /// Sessions that use an RDMA channel.
    pub rdma: u64,
    /// Sessions whose READs or WRITEs are signed, and so do not use it.
    pub signed: u64,
    /// Sessions whose messages are encrypted.
    pub encrypted: u64,
    seen: BTreeMap<u64, [bool; 3]>,
    /// The one that was counted last, which is mostly the next one too.
    last: Option<(SessionId, SessionKind)>,
}

/// More would be memory that a client can grow.
const SESSIONS_MAX: usize = 256;

/// The most bytes of heap that the names of sessions take.
pub(super) const SESSIONS_BYTES_MAX: usize = SESSIONS_MAX.saturating_mul(32);

impl Sessions {
    #[inline]
    pub(super) fn count(&mut self, id: SessionId, kind: SessionKind) {
        if self.last != Some((id, kind)) {
            self.count_other(id, kind);
        }
    }

    /// Counts one that is not the last one again.
    #[cold]
    fn count_other(&mut self, id: SessionId, kind: SessionKind) {
        self.last = Some((id, kind));
        if !self.seen.contains_key(&id.0) && self.seen.len() >= SESSIONS_MAX {
            return;
        }
        let seen = self.seen.entry(id.0).or_default();
        let Some(is_seen) = seen.get_mut(kind as usize) else { return };
        if core::mem::replace(is_seen, true) {
            return;
        }
        let counter = match kind {
            SessionKind::Rdma => &mut self.rdma,
            SessionKind::Signed => &mut self.signed,
            SessionKind::Encrypted => &mut self.encrypted,
        };
        *counter = counter.saturating_add(1);
    }
}
