//! What is said of a graph is what all its ways say, one by one.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

const STATES: u32 = 14;

/// Any graph, and any states that may be on a round beside those that are.
#[derive(Clone, Debug)]
struct Drawn {
    edges: Vec<Vec<Edge>>,
    over: Vec<bool>,
    may_return: Vec<bool>,
}

impl Graph for Drawn {
    fn states(&self) -> u32 {
        STATES
    }

    fn steps(&mut self, state: u32, into: &mut Vec<Edge>) {
        into.clone_from(&self.edges[state as usize]);
    }

    fn is_over(&self, state: u32) -> bool {
        self.over[state as usize]
    }

    fn may_return(&self, state: u32) -> bool {
        let state_on_round = self.reach(state, |edge| !edge.elapses).contains(&state);
        state_on_round || self.may_return[state as usize]
    }
}

impl Drawn {
    /// Where some steps lead from a state, one or more of them.
    fn reach(&self, from: u32, by: impl Fn(&Edge) -> bool) -> BTreeSet<u32> {
        let mut reached = BTreeSet::new();
        let mut left = vec![from];
        while let Some(state) = left.pop() {
            for edge in self.edges[state as usize].iter().filter(|edge| by(edge)) {
                if reached.insert(edge.to) {
                    left.push(edge.to);
                }
            }
        }
        reached
    }

    fn hopes(&self, state: u32) -> bool {
        let over = |state: u32| self.over[state as usize];
        over(state) || self.reach(state, |edge| !edge.fault).into_iter().any(over)
    }
}

prop_compose! {
    fn edge()(to in 0..STATES, elapses in prop::bool::weighted(0.2), fault in prop::bool::weighted(0.2)) -> Edge {
        Edge { to, elapses, fault }
    }
}

prop_compose! {
    /// Mostly onwards, as in a search.
    fn drawn()(
        mut edges in prop::collection::vec(prop::collection::vec(edge(), 0..4), STATES as usize),
        back in 0..4_u32,
        over in prop::collection::vec(prop::bool::weighted(0.2), STATES as usize),
        may_return in prop::collection::vec(any::<bool>(), STATES as usize),
    ) -> Drawn {
        for (state, edges) in (0..).zip(&mut edges) {
            edges.retain(|edge| edge.to + back > state);
        }
        Drawn { edges, over, may_return }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn a_round_without_time_is_found_if_there_is_one(mut graph in drawn()) {
        let round = livelock(&mut graph);
        let any = (0..STATES).any(|state| graph.reach(state, |edge| !edge.elapses).contains(&state));
        prop_assert_eq!(round.is_some(), any);
        let Some(round) = round else { return Ok(()) };
        for (at, state) in round.iter().enumerate() {
            let next = round[(at + 1) % round.len()];
            let leads = graph.edges[*state as usize].iter().any(|edge| !edge.elapses && edge.to == next);
            prop_assert!(leads, "{} to {} of {:?}", state, next, round);
        }
    }

    #[test]
    fn the_first_state_without_a_way_to_an_end_is_named(mut graph in drawn()) {
        let first = (0..STATES).find(|state| !graph.hopes(*state));
        prop_assert_eq!(first_hopeless(&mut graph), first);
    }

    /// Why the ways from most states need not be walked.
    #[test]
    fn without_rounds_and_deadlocks_only_those_that_wait_have_to_be_asked(mut graph in drawn()) {
        for (edges, over) in graph.edges.iter().zip(&mut graph.over) {
            *over |= edges.iter().all(|edge| edge.fault);
        }
        let waits = |state: &u32| {
            let goes_on = graph.edges[*state as usize].iter().any(|edge| !edge.fault && !edge.elapses);
            !goes_on && !graph.over[*state as usize]
        };
        let waiting: Vec<_> = (0..STATES).filter(waits).collect();
        if livelock(&mut graph).is_none() {
            let first = (0..STATES).find(|state| !graph.hopes(*state));
            prop_assert_eq!(hopeless(&mut graph, &waiting), first);
        }
    }
}
