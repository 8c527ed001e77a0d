//! The states of a search and the steps between them.
//!
//! A state is four numbers: for each side its own state, and the packets under way to it. Sides are deterministic and
//! independent of each other. So the result of an input to a side in a given state is computed once, by the connection
//! itself, and looked up afterwards. States have a few bytes and are compared exactly; only the states of one side are
//! compared by fingerprint.

mod steps;
mod tables;

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::local::{Given, Local, Outcome, Own, View};
use super::pipe::{Listens, Pipe};
use super::setup::Setup;
use super::step::Step;
use super::wire::{Out, Packet, Word};
use crate::Side;
use crate::oracle::{Failure, Law};
use crate::probe::At;

type Map<K, V> = HashMap<K, V, FxBuildHasher>;

/// A state: both sides, then what is under way to them.
pub(super) type Key = [u32; 4];

/// What is given to a side, by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Input {
    Packet(u16),
    Answer,
    Request,
    Accepted,
    Gone,
    Down,
    Own(Own),
    Elapse(u64),
}

impl Input {
    /// A number of its own; times are multiples of a millisecond.
    const fn code(self) -> u64 {
        match self {
            Self::Answer => 1,
            Self::Request => 2,
            Self::Accepted => 3,
            Self::Gone => 4,
            Self::Down => 5,
            Self::Own(own) => 16 + own as u64,
            Self::Packet(packet) => 1 << 16 | packet as u64,
            Self::Elapse(nanos) => 1 << 17 | (nanos / 1_000_000) << 18,
        }
    }
}

/// What comes of an input.
#[derive(Clone, Copy, Debug)]
struct Move {
    next: u32,
    /// Number of what leaves.
    out: u32,
}

/// What is looked up of a pipe.
#[derive(Clone, Copy, Debug, Default)]
struct PipeView {
    /// The first packet, and the pipe without it.
    packet: Option<(u16, u32)>,
    answered: Option<u32>,
    word: Option<(Word, u32)>,
    ends: bool,
    whole: bool,
    listens: Listens,
    granted: u32,
    spending: u32,
}

/// Everything that was worked out.
#[derive(Debug)]
pub(super) struct Space<'a> {
    pub(super) setup: &'a Setup,
    pub(super) locals: Vec<Local>,
    views: Vec<View>,
    by_print: Map<u128, u32>,
    packets: Vec<Packet>,
    by_packet: Map<Packet, u16>,
    pipes: Vec<Pipe>,
    pipe_views: Vec<Option<PipeView>>,
    by_pipe: Map<Pipe, u32>,
    outs: Vec<Vec<Out>>,
    by_out: Map<Vec<Out>, u32>,
    moves: Map<(u32, u64), Move>,
    failures: Map<(u32, u64), Failure>,
    pushes: Map<(u32, u32), u32>,
    mutes: Map<(u32, Listens), u32>,
    /// Others that were taken for a state of a side.
    #[cfg(test)]
    pub(super) twins: Vec<(u32, Local)>,
}

/// A step that broke a law.
#[derive(Debug)]
pub(super) struct Broken {
    pub(super) step: Step,
    pub(super) failure: Failure,
}

impl<'a> Space<'a> {
    pub(super) fn new(setup: &'a Setup) -> Self {
        Self {
            setup,
            locals: Vec::new(),
            views: Vec::new(),
            by_print: Map::default(),
            packets: Vec::new(),
            by_packet: Map::default(),
            pipes: Vec::new(),
            pipe_views: Vec::new(),
            by_pipe: Map::default(),
            outs: vec![Vec::new()],
            by_out: Map::from_iter([(Vec::new(), 0)]),
            moves: Map::default(),
            failures: Map::default(),
            pushes: Map::default(),
            mutes: Map::default(),
            #[cfg(test)]
            twins: Vec::new(),
        }
    }

    /// Where it begins.
    pub(super) fn start(&mut self) -> Result<Key, Failure> {
        let mut key = [0; 4];
        let empty = self.pipe(Pipe::default());
        (key[2], key[3]) = (empty, empty);
        for side in Side::BOTH {
            let Outcome { next, out, failure } = Local::begin(self.setup, side, &mut ());
            if let Some(failure) = failure {
                return Err(failure);
            }
            key[side.index()] = self.local(next);
            let out = self.out(out);
            key[2 + side.peer().index()] = self.push(key[2 + side.peer().index()], out);
        }
        Ok(key)
    }

    /// What a number stands for.
    pub(super) fn given(&self, input: Input) -> Given<'_> {
        match input {
            Input::Packet(packet) => Given::Packet(&self.packets[usize::from(packet)]),
            Input::Answer => Given::Answer,
            Input::Request => Given::Request,
            Input::Accepted => Given::Accepted,
            Input::Gone => Given::Gone,
            Input::Down => Given::Down,
            Input::Own(own) => Given::Own(own),
            Input::Elapse(nanos) => Given::Elapse(nanos),
        }
    }

    fn go(&mut self, side: Side, local: u32, input: Input) -> Result<Move, Failure> {
        let key = (local, input.code());
        if let Some(known) = self.moves.get(&key) {
            return Ok(*known);
        }
        if let Some(failure) = self.failures.get(&key) {
            return Err(failure.clone());
        }
        let given = self.given(input);
        let Outcome { next, out, failure } =
            self.locals[local as usize].give(self.setup, side, given, &mut ());
        if let Some(failure) = failure {
            self.failures.insert(key, failure.clone());
            return Err(failure);
        }
        let step = Move { next: self.local(next), out: self.out(out) };
        self.moves.insert(key, step);
        Ok(step)
    }

    /// The state after an input to one side; `rest` is what stays in the pipe to it.
    fn after(&mut self, key: Key, side: Side, input: Input, rest: u32) -> Result<Key, Failure> {
        let (here, there) = (side.index(), side.peer().index());
        let Move { next, out } = self.go(side, key[here], input)?;
        let mut after = key;
        after[here] = next;
        after[2 + here] = rest;
        after[2 + there] = self.push(key[2 + there], out);
        let view = self.views[next as usize];
        let listens = if view.unborn || view.hears {
            Listens::All
        } else if view.ends {
            Listens::Words
        } else {
            Listens::Nothing
        };
        after[2 + here] = self.mute(after[2 + here], listens);
        self.check_credits(after, side)?;
        Ok(after)
    }

    /// Conservation: what one side may send and what is under way from it are what the other side has granted, less what
    /// of that is still under way.
    fn check_credits(&mut self, key: Key, side: Side) -> Result<(), Failure> {
        let [initiator, acceptor] = [key[0], key[1]].map(|local| self.views[local as usize].credits);
        let (Some(initiator), Some(acceptor)) = (initiator, acceptor) else { return Ok(()) };
        let [to_initiator, to_acceptor] = [self.pipe_view(key[2]), self.pipe_view(key[3])];
        if !to_initiator.whole
            || !to_acceptor.whole
            || to_initiator.listens.max(to_acceptor.listens) != Listens::All
        {
            return Ok(());
        }
        for (from, to, incoming, outgoing) in [
            (initiator, acceptor, to_initiator, to_acceptor),
            (acceptor, initiator, to_acceptor, to_initiator),
        ] {
            let (has, gave) = (from.0 + incoming.granted + outgoing.spending, to.1);
            if has != gave {
                let what = format!(
                    "{} credits, {} in messages under way, {} spent in such: the peer has granted {gave}",
                    from.0, incoming.granted, outgoing.spending
                );
                let at = At { now: smbd_core::Instant::ORIGIN, side };
                return Err(Failure { law: Law::Credits, at, what });
            }
        }
        Ok(())
    }

    /// What a step gives to which side.
    pub(super) fn inputs(&mut self, key: Key, step: Step) -> Vec<(Side, Input)> {
        let pipe = |space: &mut Self, side: Side| space.pipe_view(key[2 + side.index()]);
        match step {
            Step::Packet(side) => {
                pipe(self, side).packet.map(|(p, _)| (side, Input::Packet(p))).into_iter().collect()
            }
            Step::Answer(side) => vec![(side, Input::Answer)],
            Step::Word(side) => {
                let request = matches!(pipe(self, side).word, Some((Word::Request, _)));
                vec![(side, if request { Input::Request } else { Input::Accepted })]
            }
            Step::Gone(side) => vec![(side, Input::Gone)],
            Step::Down(side) => vec![(side, Input::Down)],
            Step::Own(side, own) => vec![(side, Input::Own(own))],
            Step::Elapse => {
                let [a, b] = [key[0], key[1]].map(|local| self.views[local as usize].left);
                let left = a.into_iter().chain(b).min().unwrap_or(0);
                Side::BOTH.map(|side| (side, Input::Elapse(left))).to_vec()
            }
            Step::Lose => Vec::new(),
        }
    }

    /// All that can be given to a side in a state of its own, possible or not.
    #[cfg(test)]
    pub(super) fn all_inputs(&self, local: u32) -> Vec<Input> {
        let view = self.views[local as usize];
        let own = Own::ALL.iter().filter(|own| view.own & own.bit() != 0).map(|own| Input::Own(*own));
        let packets =
            (0..self.packets.len()).filter_map(|packet| u16::try_from(packet).ok().map(Input::Packet));
        let mut all: Vec<_> = own.collect();
        if view.hears {
            all.extend(packets);
            all.push(Input::Answer);
        }
        if view.awaits {
            all.push(Input::Accepted);
        }
        if view.ends {
            all.extend([Input::Gone, Input::Down]);
        }
        all.extend(view.left.filter(|left| *left > 0).map(Input::Elapse));
        all
    }

    /// Whether both sides are done.
    pub(super) fn is_over(&self, key: Key) -> bool {
        [key[0], key[1]].iter().all(|local| self.views[*local as usize].over)
    }

    /// What did not come about of all that had to, in a state where both sides are done.
    pub(super) fn missing(&self, key: Key) -> Option<(Side, String)> {
        Side::BOTH.into_iter().find_map(|side| {
            let missing = self.locals[key[side.index()] as usize].missing()?;
            Some((side, missing))
        })
    }
}
