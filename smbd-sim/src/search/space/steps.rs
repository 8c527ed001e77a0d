//! The possible steps in a state.

use super::halves::Change;
use super::{Broken, Input, Space};
use crate::Side;
use crate::search::key::Key;
use crate::search::local::Own;
use crate::search::pipe::Listens;
use crate::search::setup::{Delays, Loss};
use crate::search::step::Step;
use crate::search::wire::{Cut, Word};

impl Space<'_> {
    /// All steps possible in a state, in a fixed order, and where they lead.
    pub(in crate::search) fn steps(&mut self, key: Key, into: &mut Vec<(Step, Key)>) -> Result<(), Broken> {
        into.clear();
        for side in Side::BOTH {
            self.steps_of(side, key, into)?;
        }
        let [a, b] = self.locals_of(key).map(|local| self.locals.view(local).left);
        let left = a.into_iter().chain(b).min().filter(|left| *left > 0);
        let may_pass = self.setup.delays == Delays::Any || into.iter().all(|(step, _)| step.is_fault());
        if let Some(left) = left.filter(|_| may_pass) {
            let broken = |failure| Broken { step: Step::Elapse, failure };
            let mut halves = [0; 2];
            for side in Side::BOTH {
                let half = self.half_of(key, side);
                let next = self.go(side, half.local, Input::Elapse(left)).map_err(broken)?.next;
                halves[side.index()] = self.half(next, half.pipe);
            }
            into.push((Step::Elapse, Key::of(halves)));
        }
        self.lose(key, into);
        Ok(())
    }

    fn steps_of(&mut self, side: Side, key: Key, into: &mut Vec<(Step, Key)>) -> Result<(), Broken> {
        let (here, there) = (self.half_of(key, side), key.half(side.peer()));
        let view = *self.locals.view(here.local);
        let pipe = self.pipe_view(self.half_of(key, side.peer()).pipe);
        let mut take = |space: &mut Self, step, input, rest| match space.after(key, side, input, rest) {
            Ok(after) => {
                into.push((step, after));
                Ok(())
            }
            Err(failure) => Err(Broken { step, failure }),
        };
        if let Some((packet, _)) = pipe.packet.filter(|_| view.hears) {
            let rest = self.changed(there, Change::Packet);
            take(self, Step::Packet(side), Input::Packet(packet), rest)?;
        }
        if pipe.answered.is_some() && view.hears {
            let rest = self.changed(there, Change::Answer);
            take(self, Step::Answer(side), Input::Answer, rest)?;
        }
        match pipe.word {
            Some((Word::Request, _)) if view.unborn => {
                let rest = self.changed(there, Change::Word);
                take(self, Step::Word(side), Input::Request, rest)?;
            }
            Some((Word::Accepted, _)) if view.awaits => {
                let rest = self.changed(there, Change::Word);
                take(self, Step::Word(side), Input::Accepted, rest)?;
            }
            _ => {}
        }
        // In good order, the end of a connection is told to nobody who was not told of its beginning.
        if pipe.ends && view.ends && (view.knows || !pipe.whole) {
            take(self, Step::Gone(side), Input::Gone, there)?;
            if view.can_fall {
                take(self, Step::Down(side), Input::Down, there)?;
            }
        }
        let mut left = view.own;
        while left != 0 {
            let own = Own::ALL[left.trailing_zeros() as usize];
            left &= left - 1;
            take(self, Step::Own(side, own), Input::Own(own), there)?;
        }
        Ok(())
    }

    fn lose(&mut self, key: Key, into: &mut Vec<(Step, Key)>) {
        let cut = match self.setup.loss {
            Loss::Never => return,
            Loss::Told => Cut::Told,
            Loss::Silent => Cut::Silent,
        };
        let both = Side::BOTH.map(|side| self.pipe_view(self.half_of(key, side).pipe));
        // Once, and while it makes a difference.
        if both.iter().any(|pipe| !pipe.whole) || both.iter().all(|pipe| pipe.listens == Listens::Nothing) {
            return;
        }
        let halves = Side::BOTH.map(|side| self.changed(key.half(side), Change::Lost(cut)));
        into.push((Step::Lose, Key::of(halves)));
    }
}
