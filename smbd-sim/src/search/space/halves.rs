//! Halves of states: what a side is, and what is under way from it.

use hashbrown::hash_map::Entry;

use super::{Input, Move, Space};
use crate::Side;
use crate::oracle::{Failure, Law};
use crate::probe::At;
use crate::search::key::Key;
use crate::search::pipe::Listens;
use crate::search::wire::Cut;

/// One of them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Half {
    pub(super) local: u32,
    pub(super) pipe: u32,
    account: Option<Account>,
}

/// Credits, while they can be compared with the peer's: what one side owns is what the other owes.
#[derive(Clone, Copy, Debug)]
struct Account {
    /// Has, and has spent on what is under way.
    owns: u32,
    /// Has granted, and not used; without what of that is under way. Both are counted modulo 2³².
    owes: u32,
}

/// What the other side or the network does to a half.
#[derive(Clone, Copy, Debug)]
pub(super) enum Change {
    /// The first packet, the answer, or the first word arrives.
    Packet,
    Answer,
    Word,
    /// The other side listens to less.
    Muted(Listens),
    Lost(Cut),
}

impl Change {
    /// Beside those of inputs.
    const fn code(self) -> u32 {
        1 << 17
            | match self {
                Self::Packet => 0,
                Self::Answer => 1,
                Self::Word => 2,
                Self::Muted(listens) => 8 + listens as u32,
                Self::Lost(cut) => 16 + cut as u32,
            }
    }
}

impl Space<'_> {
    pub(super) fn half(&mut self, local: u32, pipe: u32) -> u32 {
        let next = super::tables::number(self.halves.len());
        match self.by_half.entry((local, pipe)) {
            Entry::Occupied(entry) => *entry.get(),
            Entry::Vacant(entry) => {
                entry.insert(next);
                let account = self.account(local, pipe);
                self.halves.push(Half { local, pipe, account });
                next
            }
        }
    }

    fn account(&mut self, local: u32, pipe: u32) -> Option<Account> {
        let (has, granted) = self.locals.view(local).credits?;
        let pipe = self.pipe_view(pipe);
        (pipe.whole && pipe.listens == Listens::All).then(|| Account {
            owns: has.wrapping_add(pipe.spending),
            owes: granted.wrapping_sub(pipe.granted),
        })
    }

    pub(super) fn half_of(&self, key: Key, side: Side) -> Half {
        self.halves[key.half(side) as usize]
    }

    /// The half after an input to its side.
    pub(super) fn given_to(&mut self, side: Side, half: u32, input: Input) -> Result<u32, Failure> {
        // Times are many, and hardly ever the same twice.
        let code = u32::try_from(input.code()).ok().filter(|_| !matches!(input, Input::Elapse(_)));
        if let Some(known) = code.and_then(|code| self.changes.get(half, code)) {
            return Ok(known);
        }
        let Half { local, pipe, .. } = self.halves[half as usize];
        let Move { next, out } = self.go(side, local, input)?;
        let pipe = self.push(pipe, out);
        let next = self.half(next, pipe);
        if let Some(code) = code {
            self.changes.insert(half, code, next);
        }
        Ok(next)
    }

    /// The half after something that the other side or the network does.
    pub(super) fn changed(&mut self, half: u32, change: Change) -> u32 {
        if let Some(known) = self.changes.get(half, change.code()) {
            return known;
        }
        let Half { local, pipe, .. } = self.halves[half as usize];
        let view = self.pipe_view(pipe);
        let pipe = match change {
            Change::Packet => view.packet.map(|(_, rest)| rest),
            Change::Answer => view.answered,
            Change::Word => view.word.map(|(_, rest)| rest),
            Change::Muted(listens) => Some(self.mute(pipe, listens)),
            Change::Lost(cut) => Some(self.cut(pipe, cut)),
        }
        .unwrap_or(pipe);
        let next = self.half(local, pipe);
        self.changes.insert(half, change.code(), next);
        next
    }

    /// Conservation: what one side may send and what is under way from it are what the other side has granted, less what
    /// of that is still under way.
    pub(super) fn check_credits(&mut self, key: Key, side: Side) -> Result<(), Failure> {
        let [a, b] = Side::BOTH.map(|side| self.half_of(key, side));
        let (Some(initiator), Some(acceptor)) = (a.account, b.account) else { return Ok(()) };
        if initiator.owns == acceptor.owes && acceptor.owns == initiator.owes {
            return Ok(());
        }
        let (one, other) = if initiator.owns == acceptor.owes { (b, a) } else { (a, b) };
        let (has, _) = self.locals.view(one.local).credits.unwrap_or_default();
        let (_, gave) = self.locals.view(other.local).credits.unwrap_or_default();
        let [outgoing, incoming] = [one, other].map(|half| self.pipe_view(half.pipe));
        let what = format!(
            "{has} credits, {} in messages under way, {} spent in such: the peer has granted {gave}",
            incoming.granted, outgoing.spending
        );
        let at = At { now: smbd_core::Instant::ORIGIN, side };
        Err(Failure { law: Law::Credits, at, what })
    }
}
