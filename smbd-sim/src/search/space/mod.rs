//! The states of a search and the steps between them.
//!
//! A state is four numbers: for each side its own state, and what is under way from it. Both together are a half of the state,
//! and have a number: so two are enough. Sides are deterministic and independent of each other. So the result of an input to a
//! side in a given state is computed once, by the connection itself, and looked up afterwards. States have a few bytes and
//! are compared exactly; only the states of one side are compared by fingerprint.

mod changes;
mod halves;
mod locals;
mod rounds;
mod steps;
mod tables;

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::key::Key;
use super::local::{Given, Local, Outcome, Own};
use super::pipe::{Listens, Pipe};
use super::setup::Setup;
use super::step::Step;
use super::wire::{Cut, Out, Packet, Word};
use crate::Side;
use crate::oracle::Failure;
use changes::Changes;
use halves::{Change, Half};
use locals::{Locals, Origin};

type Map<K, V> = HashMap<K, V, FxBuildHasher>;

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

    const fn elapses(code: u64) -> bool {
        code & 1 << 17 != 0
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
    locals: Locals,
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
    cuts: Map<(u32, Cut), u32>,
    halves: Vec<Half>,
    by_half: Map<(u32, u32), u32>,
    changes: Changes,
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
            locals: Locals::default(),
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
            cuts: Map::default(),
            halves: Vec::new(),
            by_half: Map::default(),
            changes: Changes::default(),
            #[cfg(test)]
            twins: Vec::new(),
        }
    }

    /// Where it begins.
    pub(super) fn start(&mut self) -> Result<Key, Failure> {
        let mut halves = [0; 2];
        let empty = self.pipe(Pipe::default());
        for side in Side::BOTH {
            let Outcome { next, out, failure } = Local::begin(self.setup, side, &mut ());
            if let Some(failure) = failure {
                return Err(failure);
            }
            let local = self.local(next, Origin { side, given: None });
            let out = self.out(out);
            let pipe = self.push(empty, out);
            halves[side.index()] = self.half(local, pipe);
        }
        Ok(Key::of(halves))
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
        let Outcome { next, out, failure } = self.outcome(local, input);
        if let Some(failure) = failure {
            self.failures.insert(key, failure.clone());
            return Err(failure);
        }
        let origin = Origin { side, given: Some((local, input)) };
        let step = Move { next: self.local(next, origin), out: self.out(out) };
        self.moves.insert(key, step);
        Ok(step)
    }

    /// The state after an input to one side; `rest` is what becomes of the other's half.
    fn after(&mut self, key: Key, side: Side, input: Input, mut rest: u32) -> Result<Key, Failure> {
        let next = self.given_to(side, key.half(side), input)?;
        let view = self.locals.view(self.halves[next as usize].local);
        if !(view.unborn || view.hears) {
            let listens = if view.ends { Listens::Words } else { Listens::Nothing };
            rest = self.changed(rest, Change::Muted(listens));
        }
        let after = Key::with(side, next, rest);
        self.check_credits(after, side)?;
        Ok(after)
    }

    /// What a step gives to which side.
    pub(super) fn inputs(&mut self, key: Key, step: Step) -> Vec<(Side, Input)> {
        let pipe = |space: &mut Self, side: Side| space.pipe_view(space.half_of(key, side.peer()).pipe);
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
                let [a, b] = self.locals_of(key).map(|local| self.locals.view(local).left);
                let left = a.into_iter().chain(b).min().unwrap_or(0);
                Side::BOTH.map(|side| (side, Input::Elapse(left))).to_vec()
            }
            Step::Lose => Vec::new(),
        }
    }

    /// All that can be given to a side in a state of its own, possible or not.
    #[cfg(test)]
    pub(super) fn all_inputs(&self, local: u32) -> Vec<Input> {
        let view = self.locals.view(local);
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

    /// States of both sides.
    pub(super) fn locals_of(&self, key: Key) -> [u32; 2] {
        Side::BOTH.map(|side| self.half_of(key, side).local)
    }

    pub(super) fn local_of(&self, key: Key, side: Side) -> u32 {
        self.half_of(key, side).local
    }

    /// Whether both sides are done.
    pub(super) fn is_over(&self, key: Key) -> bool {
        self.locals_of(key).iter().all(|local| self.locals.view(*local).over)
    }

    /// What did not come about of all that had to, in a state where both sides are done.
    pub(super) fn missing(&mut self, key: Key) -> Option<(Side, String)> {
        Side::BOTH.into_iter().find_map(|side| {
            let missing = self.whole(self.local_of(key, side)).missing()?;
            Some((side, missing))
        })
    }
}
