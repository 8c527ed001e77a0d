//! The second thread of a search: finds new states.

use std::sync::mpsc::{Receiver, Sender};

use super::graph::Graph;
use super::space::Key;
use super::step::Step;

/// The steps of some states, one after the other.
#[derive(Debug, Default)]
pub(super) struct Batch {
    edges: Vec<Link>,
    /// For each state, where its steps end.
    ends: Vec<usize>,
}

#[derive(Clone, Copy, Debug)]
struct Link {
    to: Key,
    elapses: bool,
    fault: bool,
}

impl Batch {
    /// The steps of the next state.
    pub(super) fn push(&mut self, steps: &[(Step, Key)]) {
        let link = |(step, to): &(Step, Key)| Link {
            to: *to,
            elapses: *step == Step::Elapse,
            fault: step.is_fault(),
        };
        self.edges.extend(steps.iter().map(link));
        self.ends.push(self.edges.len());
    }
}

/// What was new in a batch.
#[derive(Debug)]
pub(super) struct Found {
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
    /// Bytes of the graph.
    pub bytes: u64,
}

/// Keeps the graph.
#[derive(Debug)]
pub(super) struct Recorder {
    pub(super) graph: Graph,
    expanded: usize,
    depth: u32,
    /// How many states there are up to this depth.
    level: usize,
}

impl Recorder {
    pub(super) fn new(start: Key) -> Self {
        let mut graph = Graph::default();
        graph.insert(start);
        Self { graph, expanded: 0, depth: 0, level: 1 }
    }

    pub(super) fn progress(&self) -> Progress {
        Progress {
            states: self.graph.states(),
            expanded: self.expanded,
            steps: self.graph.steps(),
            depth: self.depth,
            bytes: self.graph.bytes(),
        }
    }

    /// Takes what comes until there is no more.
    pub(super) fn record(&mut self, batches: &Receiver<Batch>, found: &Sender<Found>) {
        while let Ok(batch) = batches.recv() {
            let before = self.graph.states();
            self.take(&batch);
            let found = found.send(Found { keys: self.graph.since(before), progress: self.progress() });
            if found.is_err() {
                return;
            }
        }
    }

    fn take(&mut self, batch: &Batch) {
        let mut from = 0;
        for end in &batch.ends {
            if self.expanded == self.level {
                self.level = self.graph.states();
                self.depth += 1;
            }
            for link in &batch.edges[from..*end] {
                let to = self.graph.insert(link.to);
                self.graph.link(to, link.elapses, link.fault);
            }
            self.graph.expanded();
            self.expanded += 1;
            from = *end;
        }
    }
}
