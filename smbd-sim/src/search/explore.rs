//! Breadth-first search of all states by two threads: one computes the steps of a state, the other finds which of the
//! resulting states are new. The order of the states is always the same.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, channel};

use super::graph::Searched;
use super::judge;
use super::key::Key;
use super::record::{BATCH, Batch, Found, Progress, Recorder};
use super::replay::counterexample;
use super::setup::Setup;
use super::space::{Broken, Space};
use super::states::States;
use super::step::Step;

/// When to stop a search that has not ended.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Most states.
    pub states: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { states: States::MAX }
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

/// Searches all states of a configuration. `go_on` is asked now and then.
#[must_use]
pub fn search(setup: &Setup, limits: &Limits, go_on: &mut dyn FnMut(&Progress) -> bool) -> Report {
    let mut search = Search::new(setup);
    let verdict = search.run(limits, go_on);
    Report {
        name: setup.name,
        about: setup.about,
        progress: search.progress,
        locals: search.space.locals(),
        ends: search.ends,
        verdict,
    }
}

pub(super) struct Search<'a> {
    pub(super) space: Space<'a>,
    progress: Progress,
    ends: usize,
    /// States that nothing happens to without time or a fault, and that are no ends.
    waiting: Vec<u32>,
    /// The next states to expand, in the order of their numbers, and the number of the first of them.
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
        let (progress, queue) = (Progress::default(), VecDeque::new());
        Self { space, progress, ends: 0, waiting: Vec::new(), queue, next: 0 }
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
        let (states, levels) = recorder.done();
        let mut searched = Searched::new(&mut self.space, &states, &levels);
        let (what, detail, path, step) = match stop {
            Stop::Limit => return Verdict::Unfinished,
            Stop::End => match judge(&mut searched, &self.waiting) {
                Some((what, detail, path)) => (what, detail, path, None),
                None => return Verdict::Holds,
            },
            Stop::Wrong { state, what, detail, step } => (what, detail, searched.path(state), step),
        };
        let keys = searched.keys(&path);
        let (steps, trace) = counterexample(&mut self.space, &keys, step);
        Verdict::Broken(Finding { what: what.to_owned(), detail, steps, trace })
    }

    fn expand_all(
        &mut self,
        limits: &Limits,
        go_on: &mut dyn FnMut(&Progress) -> bool,
        finds: &Receiver<Found>,
        hand_over: impl Fn(Batch) -> bool,
    ) -> Stop {
        let most = limits.states.min(States::MAX);
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
            let waits = !over && steps.iter().all(|(step, _)| step.is_fault() || *step == Step::Elapse);
            if waits && steps.iter().all(|(step, _)| step.is_fault()) {
                let detail = "nothing can happen any more, and there is something left to do".to_owned();
                return wrong("deadlock", detail, None);
            }
            batch.push(&steps);
            self.ends += usize::from(over);
            self.waiting.extend(waits.then_some(state));
            self.next += 1;
        }
        None
    }
}

/// What is wrong with the whole of it, and the way to that.
fn judge(searched: &mut Searched<'_, '_>, waiting: &[u32]) -> Option<(&'static str, String, Vec<u32>)> {
    if let Some(round) = judge::livelock(searched) {
        let start = round.first().copied().unwrap_or(0);
        let mut path = searched.path(start);
        path.extend(round.iter().skip(1));
        path.push(start);
        let detail = format!("the last {} steps repeat for ever, and no time passes", round.len());
        return Some(("livelock", detail, path));
    }
    let state = judge::hopeless(searched, waiting)?;
    Some(("no way to an end", "from here on".to_owned(), searched.path(state)))
}
