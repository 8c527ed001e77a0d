//! Breadth-first search of all states by two threads: one computes the steps of a state, the other finds which of the
//! resulting states are new. The order of the states is always the same.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, channel};

use super::graph::Graph;
use super::judge;
use super::record::{Batch, Found, Progress, Recorder};
use super::replay::counterexample;
use super::setup::Setup;
use super::space::{Broken, Key, Space};
use super::step::Step;

/// When to stop a search that has not ended.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Most states.
    pub states: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { states: Graph::MAX }
    }
}

/// What was found in a configuration.
#[derive(Clone, Debug)]
pub struct Report {
    /// Its name.
    pub name: &'static str,
    /// What is in it.
    pub about: &'static str,
    /// What was seen of it.
    pub progress: Progress,
    /// Different states of one side, both sides together.
    pub locals: usize,
    /// States in which both sides are done.
    pub ends: usize,
    /// What came of it.
    pub verdict: Verdict,
}

/// What came of a search.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// All states were seen, and nothing is wrong with them.
    Holds,
    /// It was stopped before all states were seen; those seen are well.
    Unfinished,
    /// Something is wrong.
    Broken(Finding),
}

/// Something that is wrong, and the shortest way to it.
#[derive(Clone, Debug)]
pub struct Finding {
    /// What it is: the name of a law, `deadlock`, `livelock`, `no way to an end` or `undone`.
    pub what: String,
    /// What was seen.
    pub detail: String,
    /// Steps on the way to it.
    pub steps: Vec<String>,
    /// The same as the connections saw it.
    pub trace: String,
}

/// States whose steps are worked out before they are handed over.
const BATCH: usize = 4096;

/// Searches all states of a configuration. `go_on` is asked now and then.
#[must_use]
pub fn search(setup: &Setup, limits: &Limits, go_on: &mut dyn FnMut(&Progress) -> bool) -> Report {
    let mut search = Search::new(setup);
    let verdict = search.run(limits, go_on);
    Report {
        name: setup.name,
        about: setup.about,
        progress: search.progress,
        locals: search.space.locals.len(),
        ends: search.ends,
        verdict,
    }
}

pub(super) struct Search<'a> {
    pub(super) space: Space<'a>,
    progress: Progress,
    ends: usize,
    /// States to expand, in the order of their numbers, and the number of the first of them.
    queue: VecDeque<Key>,
    next: u32,
}

/// Why the expansion of states stopped.
enum Stop {
    /// There are no more.
    End,
    Limit,
    /// Something is wrong with a state, or, with a step, behind it.
    Wrong {
        state: u32,
        what: &'static str,
        detail: String,
        step: Option<Step>,
    },
}

impl<'a> Search<'a> {
    pub(super) fn new(setup: &'a Setup) -> Self {
        let space = Space::new(setup);
        Self { space, progress: Progress::default(), ends: 0, queue: VecDeque::new(), next: 0 }
    }

    pub(super) fn run(&mut self, limits: &Limits, go_on: &mut dyn FnMut(&Progress) -> bool) -> Verdict {
        let start = match self.space.start() {
            Ok(key) => key,
            Err(failure) => {
                let (what, detail) = (failure.law.name().to_owned(), failure.to_string());
                return Verdict::Broken(Finding { what, detail, steps: Vec::new(), trace: String::new() });
            }
        };
        let mut recorder = Recorder::new(start);
        self.queue.push_back(start);
        let (batches, recorded) = channel();
        let (found, finds) = channel();
        let stop = std::thread::scope(|scope| {
            let keeper = &mut recorder;
            scope.spawn(move || keeper.record(&recorded, &found));
            let hand_over = |batch| batches.send(batch).is_ok();
            let stop = self.expand_all(limits, go_on, &finds, hand_over);
            // The other thread ends when there is nothing more to come.
            drop(batches);
            stop
        });
        self.progress = recorder.progress();
        let graph = recorder.graph;
        match stop {
            Stop::End => self.judge(&graph),
            Stop::Limit => Verdict::Unfinished,
            Stop::Wrong { state, what, detail, step } => {
                Verdict::Broken(self.finding(what, detail, &graph, &graph.path(state), step))
            }
        }
    }

    fn expand_all(
        &mut self,
        limits: &Limits,
        go_on: &mut dyn FnMut(&Progress) -> bool,
        finds: &Receiver<Found>,
        hand_over: impl Fn(Batch) -> bool,
    ) -> Stop {
        let most = limits.states.min(Graph::MAX);
        let mut under_way = 0_u32;
        loop {
            // Not too far ahead of the other thread.
            while under_way > 0 && (self.queue.len() < BATCH || under_way > 2) {
                let Ok(Found { keys, progress }) = finds.recv() else { return Stop::Limit };
                under_way -= 1;
                self.queue.extend(keys);
                self.progress = progress;
                if progress.states > most || !go_on(&progress) {
                    return Stop::Limit;
                }
            }
            if self.queue.is_empty() {
                return Stop::End;
            }
            let mut batch = Batch::default();
            let wrong = self.expand(&mut batch);
            under_way += 1;
            if !hand_over(batch) {
                return Stop::Limit;
            }
            if let Some(wrong) = wrong {
                return wrong;
            }
        }
    }

    /// Works out the steps of some states.
    fn expand(&mut self, batch: &mut Batch) -> Option<Stop> {
        let mut steps = Vec::new();
        for _ in 0..BATCH {
            let key = self.queue.pop_front()?;
            let state = self.next;
            let wrong = |what, detail, step| Some(Stop::Wrong { state, what, detail, step });
            if let Err(Broken { step, failure }) = self.space.steps(key, &mut steps) {
                return wrong(failure.law.name(), failure.what, Some(step));
            }
            let over = self.space.is_over(key);
            if over
                && self.space.setup.must_succeed()
                && let Some((side, missing)) = self.space.missing(key)
            {
                return wrong("undone", format!("{}: {missing}", side.short()), None);
            }
            if !over && steps.iter().all(|(step, _)| step.is_fault()) {
                let detail = "nothing can happen any more, and there is something left to do".to_owned();
                return wrong("deadlock", detail, None);
            }
            batch.push(&steps);
            self.ends += usize::from(over);
            self.next += 1;
        }
        None
    }

    fn judge(&mut self, graph: &Graph) -> Verdict {
        if let Some(round) = judge::livelock(graph) {
            let start = round.first().copied().unwrap_or(0);
            let mut path = graph.path(start);
            path.extend(round.iter().skip(1));
            path.push(start);
            let detail = format!("the last {} steps repeat for ever, and no time passes", round.len());
            return Verdict::Broken(self.finding("livelock", detail, graph, &path, None));
        }
        if let Some(state) = judge::hopeless(graph, |state| self.space.is_over(graph.key(state))) {
            let detail = "from here on".to_owned();
            return Verdict::Broken(self.finding(
                "no way to an end",
                detail,
                graph,
                &graph.path(state),
                None,
            ));
        }
        Verdict::Holds
    }

    fn finding(
        &mut self,
        what: &str,
        detail: String,
        graph: &Graph,
        path: &[u32],
        last: Option<Step>,
    ) -> Finding {
        let keys: Vec<_> = path.iter().map(|state| graph.key(*state)).collect();
        let (steps, trace) = counterexample(&mut self.space, &keys, last);
        Finding { what: what.to_owned(), detail, steps, trace }
    }
}
