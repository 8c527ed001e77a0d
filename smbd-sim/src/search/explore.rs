//! Breadth first through all states.

use super::graph::Graph;
use super::judge;
use super::replay::counterexample;
use super::setup::Setup;
use super::space::{Broken, Space};
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

/// How many states are expanded before progress is told.
const TELL_EVERY: usize = 1 << 16;

/// Searches all states of a configuration. `go_on` is asked now and then.
#[must_use]
pub fn search(setup: &Setup, limits: &Limits, go_on: &mut dyn FnMut(&Progress) -> bool) -> Report {
    let mut search = Search { space: Space::new(setup), graph: Graph::default(), ends: 0, depth: 0 };
    let verdict = search.run(limits, go_on);
    Report {
        name: setup.name,
        about: setup.about,
        progress: search.progress(search.graph.states()),
        locals: search.space.locals.len(),
        ends: search.ends,
        verdict,
    }
}

struct Search<'a> {
    space: Space<'a>,
    graph: Graph,
    ends: usize,
    depth: u32,
}

impl Search<'_> {
    fn progress(&self, expanded: usize) -> Progress {
        Progress {
            states: self.graph.states(),
            expanded,
            steps: self.graph.steps(),
            depth: self.depth,
            bytes: self.graph.bytes(),
        }
    }

    fn run(&mut self, limits: &Limits, go_on: &mut dyn FnMut(&Progress) -> bool) -> Verdict {
        match self.space.start() {
            Ok(key) => self.graph.insert(key),
            Err(failure) => {
                return Verdict::Broken(Finding {
                    what: failure.law.name().to_owned(),
                    detail: failure.to_string(),
                    steps: Vec::new(),
                    trace: String::new(),
                });
            }
        };
        let most = limits.states.min(Graph::MAX);
        let mut steps = Vec::new();
        let (mut at, mut level) = (0_usize, 1_usize);
        while at < self.graph.states() {
            if at == level {
                (level, self.depth) = (self.graph.states(), self.depth + 1);
            }
            if self.graph.states() > most || (at % TELL_EVERY == 0 && !go_on(&self.progress(at))) {
                return Verdict::Unfinished;
            }
            if let Some(finding) = self.expand(at, &mut steps) {
                return Verdict::Broken(finding);
            }
            at += 1;
        }
        self.judge()
    }

    fn expand(&mut self, at: usize, steps: &mut Vec<(Step, super::space::Key)>) -> Option<Finding> {
        let state = u32::try_from(at).unwrap_or(u32::MAX);
        let key = self.graph.key(state);
        if let Err(Broken { step, failure }) = self.space.steps(key, steps) {
            let (law, detail) = (failure.law.name(), failure.what);
            return Some(self.finding(law, detail, &self.graph.path(state), Some(step)));
        }
        for (step, after) in steps.iter() {
            let to = self.graph.insert(*after);
            self.graph.link(to, *step == Step::Elapse, step.is_fault());
        }
        self.graph.expanded();
        let over = self.space.is_over(key);
        self.ends += usize::from(over);
        if over
            && self.space.setup.must_succeed()
            && let Some((side, missing)) = self.space.missing(key)
        {
            let detail = format!("{}: {missing}", side.short());
            return Some(self.finding("undone", detail, &self.graph.path(state), None));
        }
        if !over && steps.iter().all(|(step, _)| step.is_fault()) {
            let detail = "nothing can happen any more, and there is something left to do".to_owned();
            return Some(self.finding("deadlock", detail, &self.graph.path(state), None));
        }
        None
    }

    fn judge(&mut self) -> Verdict {
        if let Some(round) = judge::livelock(&self.graph) {
            let start = round.first().copied().unwrap_or(0);
            let mut path = self.graph.path(start);
            path.extend(round.iter().skip(1));
            path.push(start);
            let detail = format!("the last {} steps repeat for ever, and no time passes", round.len());
            return Verdict::Broken(self.finding("livelock", detail, &path, None));
        }
        let over = |state| self.space.is_over(self.graph.key(state));
        if let Some(state) = judge::hopeless(&self.graph, over) {
            let path = self.graph.path(state);
            return Verdict::Broken(self.finding("no way to an end", "from here on".to_owned(), &path, None));
        }
        Verdict::Holds
    }

    fn finding(&mut self, what: &str, detail: String, path: &[u32], last: Option<Step>) -> Finding {
        let keys: Vec<_> = path.iter().map(|state| self.graph.key(*state)).collect();
        let (steps, trace) = counterexample(&mut self.space, &keys, last);
        Finding { what: what.to_owned(), detail, steps, trace }
    }
}
