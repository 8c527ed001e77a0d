//! Checks of the whole graph: livelocks, and states from which no end can be reached.

use super::bits::Bits;
use super::graph::{Edge, Graph};

/// A round on which no time passes: something goes on for ever between two peers that have nothing to say. The states of
/// one such round, if there is one.
///
/// Of the states that may be on one, without the steps on which time passes, those that have no way in are taken away
/// until none is left.
pub(super) fn livelock(graph: &mut impl Graph) -> Option<Vec<u32>> {
    let states = graph.states();
    let mut left = Bits::new(states);
    for state in (0..states).filter(|state| graph.may_return(*state)) {
        left.set(state);
    }
    left.iter().next()?;
    let mut edges = Vec::new();
    let mut ways_in = vec![0_u32; states as usize];
    for state in left.iter() {
        graph.steps(state, &mut edges);
        for to in timeless(&edges).filter(|to| left.get(*to)) {
            ways_in[to as usize] += 1;
        }
    }
    let mut free = Vec::new();
    for state in 0..states {
        if left.get(state) && ways_in[state as usize] == 0 {
            free.push(state);
        }
        while let Some(gone) = free.pop() {
            left.clear(gone);
            graph.steps(gone, &mut edges);
            for to in timeless(&edges).filter(|to| left.get(*to)) {
                ways_in[to as usize] -= 1;
                // Those behind this one are looked at in their turn.
                if ways_in[to as usize] == 0 && to <= state {
                    free.push(to);
                }
            }
        }
    }
    left.iter().next()?;
    Some(round(graph, &left))
}

fn timeless(edges: &[Edge]) -> impl Iterator<Item = u32> {
    edges.iter().filter(|edge| !edge.elapses).map(|edge| edge.to)
}

/// A round among the states that have a way in.
fn round(graph: &mut impl Graph, left: &Bits) -> Vec<u32> {
    let mut edges = Vec::new();
    // What is behind a round remains too: steps back, not forth, stay on it. So the round is looked for backwards.
    let mut before = std::collections::BTreeMap::new();
    for state in left.iter() {
        graph.steps(state, &mut edges);
        for to in timeless(&edges).filter(|to| left.get(*to)) {
            before.entry(to).or_insert(state);
        }
    }
    let Some(mut at) = before.keys().next().copied() else { return Vec::new() };
    let mut seen = std::collections::BTreeSet::new();
    while seen.insert(at) {
        at = before[&at];
    }
    let first = at;
    let mut back = vec![first];
    at = before[&first];
    while at != first {
        back.push(at);
        at = before[&at];
    }
    back.reverse();
    // In the order of the steps, from the state found first.
    let start = back.iter().enumerate().min_by_key(|(_, state)| **state).map_or(0, |(at, _)| at);
    back.rotate_left(start);
    back
}

/// The first state from which no end can be reached without a fault, in a graph without [such rounds](livelock) and without
/// deadlocks.
///
/// There, steps that take no time and are no faults lead from every state to an end or to one of those that wait. So if an end can
/// be reached from these, it can be from all.
pub(super) fn hopeless(graph: &mut impl Graph, waiting: &[u32]) -> Option<u32> {
    let mut hopes = Bits::new(if waiting.is_empty() { 0 } else { graph.states() });
    for state in waiting {
        if !has_hope(graph, &hopes, *state) {
            return first_hopeless(graph);
        }
        hopes.set(*state);
    }
    None
}

/// Whether an end, or a state that has hope, can be reached.
fn has_hope(graph: &mut impl Graph, hopes: &Bits, from: u32) -> bool {
    let mut edges = Vec::new();
    let mut seen = std::collections::BTreeSet::from([from]);
    // Deep first: an end is some steps away, whichever they are.
    let mut left = vec![from];
    while let Some(state) = left.pop() {
        if graph.is_over(state) || hopes.get(state) {
            return true;
        }
        graph.steps(state, &mut edges);
        let next = edges.iter().filter(|edge| !edge.fault).map(|edge| edge.to);
        left.extend(next.filter(|to| seen.insert(*to)));
    }
    false
}

/// The same of all states.
fn first_hopeless(graph: &mut impl Graph) -> Option<u32> {
    let states = graph.states();
    let mut edges = Vec::new();
    let mut hopes = Bits::new(states);
    for state in (0..states).filter(|state| graph.is_over(*state)) {
        hopes.set(state);
    }
    // Most steps lead to later states: from the last to the first nearly everything is settled in one pass.
    loop {
        let mut changed = false;
        for state in (0..states).rev() {
            if hopes.get(state) {
                continue;
            }
            graph.steps(state, &mut edges);
            if edges.iter().any(|edge| !edge.fault && hopes.get(edge.to)) {
                hopes.set(state);
                changed = true;
            }
        }
        if !changed {
            break;
        }
    }
    (0..states).find(|state| !hopes.get(*state))
}

#[cfg(test)]
mod tests;
