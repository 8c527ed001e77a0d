//! The possible steps in a state.

use super::{Broken, Input, Key, Space};
use crate::Side;
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
}
