//! All states found and the steps between them. Only the states are kept: their steps are worked out again by whoever asks.

use super::key::Key;
use super::space::Space;
use super::states::States;
use super::step::Step;

/// A step, as far as its graph goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Edge {
    pub(super) to: u32,
    /// Time passes on it.
    pub(super) elapses: bool,
    /// It is a fault.
    pub(super) fault: bool,
}

/// States by number, and steps.
pub(super) trait Graph {
    /// How many states there are.
    fn states(&self) -> u32;

    /// The steps of a state, in their order.
    fn steps(&mut self, state: u32, into: &mut Vec<Edge>);

    fn is_over(&self, state: u32) -> bool;

    /// Whether a state may be on a round on which no time passes: never false of one that is.
    fn may_return(&self, state: u32) -> bool;
}

/// What was searched.
#[derive(Debug)]
pub(super) struct Searched<'s, 'a> {
    space: &'s mut Space<'a>,
    states: &'s States,
    /// For each number of steps from the beginning, the first state that takes as many.
    levels: &'s [u32],
    /// For each state of a side, whether it may come again without time.
    returning: Vec<bool>,
    steps: Vec<(Step, Key)>,
}

impl<'s, 'a> Searched<'s, 'a> {
    pub(super) fn new(space: &'s mut Space<'a>, states: &'s States, levels: &'s [u32]) -> Self {
        let returning = space.returning();
        Self { space, states, levels, returning, steps: Vec::new() }
    }

    pub(super) fn keys(&self, path: &[u32]) -> Vec<Key> {
        path.iter().map(|state| self.states.key(*state)).collect()
    }

    /// The shortest way to a state, of these the one that was found first: all states on it.
    pub(super) fn path(&mut self, to: u32) -> Vec<u32> {
        let mut path = vec![to];
        let mut at = to;
        // How many steps it takes.
        let mut depth = self.levels.partition_point(|first| *first <= to).saturating_sub(1);
        while depth > 0 {
            let key = self.states.key(at);
            let before = self.levels[depth - 1]..self.levels[depth];
            let parent = before.into_iter().find(|from| self.leads(*from, key));
            at = parent.unwrap_or(0);
            path.push(at);
            depth -= 1;
        }
        path.reverse();
        path
    }

    fn leads(&mut self, from: u32, to: Key) -> bool {
        // A step that breaks a law comes behind those before it.
        let _broken = self.space.steps(self.states.key(from), &mut self.steps);
        self.steps.iter().any(|(_, key)| *key == to)
    }
}

impl Graph for Searched<'_, '_> {
    fn states(&self) -> u32 {
        self.states.end()
    }

    fn steps(&mut self, state: u32, into: &mut Vec<Edge>) {
        let _broken = self.space.steps(self.states.key(state), &mut self.steps);
        into.clear();
        into.extend(self.steps.iter().filter_map(|(step, to)| {
            let to = self.states.number(*to)?;
            Some(Edge { to, elapses: *step == Step::Elapse, fault: step.is_fault() })
        }));
    }

    fn is_over(&self, state: u32) -> bool {
        self.space.is_over(self.states.key(state))
    }

    fn may_return(&self, state: u32) -> bool {
        self.space.locals_of(self.states.key(state)).iter().any(|local| self.returning[*local as usize])
    }
}
