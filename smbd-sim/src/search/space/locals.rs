//! States of a side.
//!
//! A connection with all that belongs to it has some KiB. So few are kept whole: the latest, and one in so many on each way.
//! Another one is worked out again, by the same inputs.

use std::collections::VecDeque;

use hashbrown::hash_map::Entry;

use super::{Input, Map, Space};
use crate::Side;
use crate::search::local::{Local, Outcome, View};

/// Of the states on a way, one in so many is always kept.
const EVERY: u8 = 8;
/// How many of the latest are kept.
const LATEST: usize = if cfg!(test) { 16 } else { 4096 };

#[derive(Debug, Default)]
pub(super) struct Locals {
    known: Vec<Known>,
    by_print: Map<u128, u32>,
    kept: Map<u32, Local>,
    latest: VecDeque<u32>,
}

/// What is kept of each.
#[derive(Clone, Copy, Debug)]
struct Known {
    view: View,
    print: u128,
    origin: Origin,
    /// How many on the way to it came after one that is always kept.
    since: u8,
}

/// Where a state came from: a state and what it was given, or nothing if it is a side before anything has happened.
#[derive(Clone, Copy, Debug)]
pub(super) struct Origin {
    pub(super) side: Side,
    pub(super) given: Option<(u32, Input)>,
}

impl Locals {
    pub(super) fn len(&self) -> usize {
        self.known.len()
    }

    pub(super) fn view(&self, local: u32) -> &View {
        &self.known[local as usize].view
    }

    fn add(&mut self, local: Local, print: u128, origin: Origin) {
        let number = super::tables::number(self.known.len());
        let since = match origin.given {
            Some((from, _)) => (self.known[from as usize].since + 1) % EVERY,
            None => 0,
        };
        self.known.push(Known { view: local.view(), print, origin, since });
        self.keep(number, local);
    }

    fn keep(&mut self, number: u32, local: Local) {
        self.kept.insert(number, local);
        if self.known[number as usize].since != 0 {
            self.latest.push_back(number);
        }
        if self.latest.len() > LATEST
            && let Some(oldest) = self.latest.pop_front()
        {
            self.kept.remove(&oldest);
        }
    }
}

impl Space<'_> {
    /// How many states of a side there are, of both together.
    pub(in crate::search) fn locals(&self) -> usize {
        self.locals.len()
    }

    /// The number of a state, a new one if it was not there.
    pub(super) fn local(&mut self, local: Local, origin: Origin) -> u32 {
        let print = local.fingerprint();
        let next = super::tables::number(self.locals.len());
        match self.locals.by_print.entry(print) {
            Entry::Occupied(entry) => {
                #[cfg(test)]
                self.twins.push((*entry.get(), local));
                *entry.get()
            }
            Entry::Vacant(entry) => {
                entry.insert(next);
                self.locals.add(local, print, origin);
                next
            }
        }
    }

    /// How many are kept whole.
    #[cfg(test)]
    pub(in crate::search) fn kept(&self) -> usize {
        self.locals.kept.len()
    }

    pub(in crate::search) fn fingerprint(&self, local: u32) -> u128 {
        self.locals.known[local as usize].print
    }

    /// All of a state, and what comes of it.
    pub(super) fn outcome(&mut self, local: u32, input: Input) -> Outcome {
        self.recall(local);
        let side = self.locals.known[local as usize].origin.side;
        self.locals.kept[&local].give(self.setup, side, self.given(input), &mut ())
    }

    pub(in crate::search) fn whole(&mut self, local: u32) -> &Local {
        self.recall(local);
        &self.locals.kept[&local]
    }

    /// Works out a state again that was not kept.
    fn recall(&mut self, local: u32) {
        let mut inputs = Vec::new();
        let mut from = local;
        while !self.locals.kept.contains_key(&from)
            && let Some((before, input)) = self.locals.known[from as usize].origin.given
        {
            inputs.push(input);
            from = before;
        }
        if inputs.is_empty() {
            return;
        }
        let side = self.locals.known[local as usize].origin.side;
        let mut whole = self.locals.kept[&from].clone();
        for input in inputs.into_iter().rev() {
            whole = whole.give(self.setup, side, self.given(input), &mut ()).next;
        }
        self.locals.keep(local, whole);
    }
}
