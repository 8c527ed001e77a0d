//! The second thread of a search: finds new states.

use std::sync::mpsc::{Receiver, Sender};

use super::key::Key;
use super::states::States;
use super::step::Step;

/// States whose steps are worked out before they are handed over.
pub(super) const BATCH: usize = 4096;

/// Where the steps of some states lead, one after the other.
#[derive(Debug, Default)]
pub(super) struct Batch {
    to: Vec<Key>,
    /// For each state, where its steps end.
    ends: Vec<usize>,
}

impl Batch {
    /// The steps of the next state.
    pub(super) fn push(&mut self, steps: &[(Step, Key)]) {
        self.to.extend(steps.iter().map(|(_, to)| *to));
        self.ends.push(self.to.len());
    }
}

/// What comes of a batch.
#[derive(Debug)]
pub(super) struct Found {
    /// Those whose turn it is next: not more than fit into a batch.
    pub(super) keys: Vec<Key>,
    pub(super) progress: Progress,
}

/// How far a search is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// States found.
    pub states: usize,
    /// Those of them whose steps are all known.
    pub expanded: usize,
    /// Steps taken.
    pub steps: usize,
    /// Steps from the beginning to the state that is being expanded.
    pub depth: u32,
    /// Bytes of the table of states.
    pub bytes: u64,
}

/// Keeps the states.
#[derive(Debug)]
pub(super) struct Recorder {
    states: States,
    /// For each number of steps from the beginning to a state that was expanded, the first state that takes as many.
    levels: Vec<u32>,
    expanded: usize,
    steps: usize,
    /// How many states there are up to the depth of the one that is expanded.
    level: usize,
    /// How many were given away to be expanded.
    given: u32,
}

impl Recorder {
    pub(super) fn new(start: Key) -> Self {
        let mut states = States::default();
        states.insert_all(&[start]);
        Self { states, levels: vec![0], expanded: 0, steps: 0, level: 1, given: 1 }
    }

    pub(super) fn progress(&self) -> Progress {
        Progress {
            states: self.states.len(),
            expanded: self.expanded,
            steps: self.steps,
            depth: u32::try_from(self.levels.len() - 1).unwrap_or(u32::MAX),
            bytes: self.states.bytes(),
        }
    }

    /// The states, and for each number of steps from the beginning the first that takes as many.
    pub(super) fn done(mut self) -> (States, Vec<u32>) {
        if self.level < self.states.len() {
            self.levels.push(u32::try_from(self.level).unwrap_or(u32::MAX));
        }
        (self.states, self.levels)
    }

    /// Takes what comes until there is no more.
    pub(super) fn record(&mut self, batches: &Receiver<Batch>, found: &Sender<Found>) {
        while let Ok(batch) = batches.recv() {
            self.take(&batch);
            let keys = self.states.from(self.given, BATCH);
            self.given += u32::try_from(keys.len()).unwrap_or(u32::MAX);
            if found.send(Found { keys, progress: self.progress() }).is_err() {
                return;
            }
        }
    }

    fn take(&mut self, batch: &Batch) {
        let mut from = 0;
        let mut state = 0;
        while state < batch.ends.len() {
            if self.expanded == self.level {
                self.levels.push(u32::try_from(self.level).unwrap_or(u32::MAX));
                self.level = self.states.len();
            }
            // Up to the last of as many steps from the beginning.
            let some = (batch.ends.len() - state).min(self.level - self.expanded);
            let end = batch.ends[state + some - 1];
            self.states.insert_all(&batch.to[from..end]);
            self.steps += end - from;
            self.expanded += some;
            (state, from) = (state + some, end);
        }
    }
}
