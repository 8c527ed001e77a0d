//! The states of a search and the steps between them.
//!
//! A state is four numbers: of each side's own state and of what is under way to each. Sides are deterministic and know
//! nothing of each other, so what comes of an input to a side in a certain state is worked out once, by the connection
//! itself, and looked up afterwards. That makes states of a few bytes, compared exactly; only states of one side are told
//! apart by a fingerprint.

use hashbrown::HashMap;
use hashbrown::hash_map::Entry;

use super::local::{Given, Local, Outcome, Own, View};
use super::pipe::{Listens, Pipe};
use super::setup::{Delays, Loss, Setup};
use super::step::Step;
use super::wire::{Cut, Out, Packet, Word};
use crate::Side;
use crate::oracle::{Failure, Law};
use crate::probe::At;

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
    by_print: HashMap<u128, u32>,
    packets: Vec<Packet>,
    by_packet: HashMap<Packet, u16>,
    pipes: Vec<Pipe>,
    pipe_views: Vec<Option<PipeView>>,
    by_pipe: HashMap<Pipe, u32>,
    outs: Vec<Vec<Out>>,
    by_out: HashMap<Vec<Out>, u32>,
    moves: HashMap<(u32, u64), Move>,
    failures: HashMap<(u32, u64), Failure>,
    pushes: HashMap<(u32, u32), u32>,
    mutes: HashMap<(u32, Listens), u32>,
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
            by_print: HashMap::new(),
            packets: Vec::new(),
            by_packet: HashMap::new(),
            pipes: Vec::new(),
            pipe_views: Vec::new(),
            by_pipe: HashMap::new(),
            outs: vec![Vec::new()],
            by_out: HashMap::from([(Vec::new(), 0)]),
            moves: HashMap::new(),
            failures: HashMap::new(),
            pushes: HashMap::new(),
            mutes: HashMap::new(),
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

    fn local(&mut self, local: Local) -> u32 {
        let print = local.fingerprint();
        let next = number(self.locals.len());
        match self.by_print.entry(print) {
            Entry::Occupied(entry) => *entry.get(),
            Entry::Vacant(entry) => {
                entry.insert(next);
                self.views.push(local.view());
                self.locals.push(local);
                next
            }
        }
    }

    fn out(&mut self, out: Vec<Out>) -> u32 {
        if let Some(known) = self.by_out.get(&out) {
            return *known;
        }
        let next = number(self.outs.len());
        self.by_out.insert(out.clone(), next);
        self.outs.push(out);
        next
    }

    fn packet(&mut self, packet: &Packet) -> u16 {
        if let Some(known) = self.by_packet.get(packet) {
            return *known;
        }
        let next = u16::try_from(self.packets.len()).unwrap_or(u16::MAX);
        self.by_packet.insert(packet.clone(), next);
        self.packets.push(packet.clone());
        next
    }

    fn pipe(&mut self, pipe: Pipe) -> u32 {
        if let Some(known) = self.by_pipe.get(&pipe) {
            return *known;
        }
        let next = number(self.pipes.len());
        self.by_pipe.insert(pipe.clone(), next);
        self.pipes.push(pipe);
        self.pipe_views.push(None);
        next
    }

    fn pipe_view(&mut self, pipe: u32) -> PipeView {
        if let Some(view) = self.pipe_views[pipe as usize] {
            return view;
        }
        let whole = self.pipes[pipe as usize].clone();
        let mut view = PipeView {
            ends: whole.ends(),
            whole: whole.cut == Cut::Whole,
            listens: whole.listens,
            ..PipeView::default()
        };
        for packet in &whole.packets {
            if let Packet::Message(message) = &self.packets[usize::from(*packet)] {
                view.granted += u32::from(message.granted);
                view.spending += u32::from(message.spends);
            }
        }
        let mut rest = whole.clone();
        if let Some(first) = whole.packets.first() {
            rest.packets.remove(0);
            view.packet = Some((*first, self.pipe(rest)));
        }
        if whole.answers > 0 {
            view.answered = Some(self.pipe(Pipe { answers: whole.answers - 1, ..whole.clone() }));
        }
        if let Some(word) = whole.words.first() {
            view.word = Some((*word, self.pipe(Pipe { words: whole.words[1..].to_vec(), ..whole.clone() })));
        }
        self.pipe_views[pipe as usize] = Some(view);
        view
    }

    /// What leaves a side goes into the pipe to the other.
    fn push(&mut self, pipe: u32, out: u32) -> u32 {
        if out == 0 {
            return pipe;
        }
        if let Some(known) = self.pushes.get(&(pipe, out)) {
            return *known;
        }
        let mut longer = self.pipes[pipe as usize].clone();
        for item in self.outs[out as usize].clone() {
            let packet = if let Out::Packet(packet) = &item { Some(self.packet(packet)) } else { None };
            longer.push(&item, packet);
        }
        let longer = self.pipe(longer);
        self.pushes.insert((pipe, out), longer);
        longer
    }

    fn mute(&mut self, pipe: u32, listens: Listens) -> u32 {
        if listens == Listens::All || self.pipes[pipe as usize].listens >= listens {
            return pipe;
        }
        if let Some(known) = self.mutes.get(&(pipe, listens)) {
            return *known;
        }
        let mut muted = self.pipes[pipe as usize].clone();
        muted.mute(listens);
        let muted = self.pipe(muted);
        self.mutes.insert((pipe, listens), muted);
        muted
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

    /// All steps possible in a state, in a fixed order, and where they lead.
    pub(super) fn steps(&mut self, key: Key, into: &mut Vec<(Step, Key)>) -> Result<(), Broken> {
        into.clear();
        for side in Side::BOTH {
            self.steps_of(side, key, into)?;
        }
        let [a, b] = [key[0], key[1]].map(|local| self.views[local as usize]);
        let left = a.left.into_iter().chain(b.left).min().filter(|left| *left > 0);
        let may_pass = self.setup.delays == Delays::Any || into.iter().all(|(step, _)| step.is_fault());
        if let Some(left) = left.filter(|_| may_pass) {
            let broken = |failure| Broken { step: Step::Elapse, failure };
            let mut after = key;
            for side in Side::BOTH {
                let at = side.index();
                after[at] = self.go(side, key[at], Input::Elapse(left)).map_err(broken)?.next;
            }
            into.push((Step::Elapse, after));
        }
        self.lose(key, into);
        Ok(())
    }

    fn steps_of(&mut self, side: Side, key: Key, into: &mut Vec<(Step, Key)>) -> Result<(), Broken> {
        let here = side.index();
        let view = self.views[key[here] as usize];
        let pipe = self.pipe_view(key[2 + here]);
        let mut take = |space: &mut Self, step, input, rest| match space.after(key, side, input, rest) {
            Ok(after) => {
                into.push((step, after));
                Ok(())
            }
            Err(failure) => Err(Broken { step, failure }),
        };
        if let Some((packet, rest)) = pipe.packet.filter(|_| view.hears) {
            take(self, Step::Packet(side), Input::Packet(packet), rest)?;
        }
        if let Some(rest) = pipe.answered.filter(|_| view.hears) {
            take(self, Step::Answer(side), Input::Answer, rest)?;
        }
        match pipe.word {
            Some((Word::Request, rest)) if view.unborn => {
                take(self, Step::Word(side), Input::Request, rest)?;
            }
            Some((Word::Accepted, rest)) if view.awaits => {
                take(self, Step::Word(side), Input::Accepted, rest)?;
            }
            _ => {}
        }
        // In good order, the end of a connection is told to nobody who was not told of its beginning.
        if pipe.ends && view.ends && (view.knows || !pipe.whole) {
            take(self, Step::Gone(side), Input::Gone, key[2 + here])?;
            if view.can_fall {
                take(self, Step::Down(side), Input::Down, key[2 + here])?;
            }
        }
        let mut left = view.own;
        while left != 0 {
            let own = Own::ALL[left.trailing_zeros() as usize];
            left &= left - 1;
            take(self, Step::Own(side, own), Input::Own(own), key[2 + here])?;
        }
        Ok(())
    }

    fn lose(&mut self, key: Key, into: &mut Vec<(Step, Key)>) {
        let cut = match self.setup.loss {
            Loss::Never => return,
            Loss::Told => Cut::Told,
            Loss::Silent => Cut::Silent,
        };
        let both = [key[2], key[3]].map(|pipe| self.pipes[pipe as usize].clone());
        // Once, and while it makes a difference.
        if both.iter().any(|pipe| pipe.cut != Cut::Whole)
            || both.iter().all(|p| p.listens == Listens::Nothing)
        {
            return;
        }
        let [to_initiator, to_acceptor] = both.map(|mut pipe| {
            pipe.cut(cut);
            self.pipe(pipe)
        });
        into.push((Step::Lose, [key[0], key[1], to_initiator, to_acceptor]));
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

fn number(len: usize) -> u32 {
    // A search is stopped long before.
    u32::try_from(len).unwrap_or(u32::MAX)
}
