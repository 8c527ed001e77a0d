//! Checks of the whole graph: deadlocks, livelocks, and states from which no end can be reached.

use super::graph::Graph;

/// A round on which no time passes: something goes on for ever between two peers that have nothing to say. The states of
/// one such round, if there is one.
///
/// Without those steps on which time passes, the graph must have no cycle: states that have no way in are taken away until
/// none is left.
pub(super) fn livelock(graph: &Graph) -> Option<Vec<u32>> {
    let states = u32::try_from(graph.states()).unwrap_or(u32::MAX);
    let mut ways_in = vec![0_u32; states as usize];
    let timeless = |state| graph.edges(state).filter(|edge| !edge.elapses()).map(|edge| edge.to());
    for state in 0..states {
        for to in timeless(state) {
            ways_in[to as usize] += 1;
        }
    }
    let mut free: Vec<u32> = (0..states).filter(|state| ways_in[*state as usize] == 0).collect();
    let mut left = states as usize;
    while let Some(state) = free.pop() {
        left -= 1;
        for to in timeless(state) {
            ways_in[to as usize] -= 1;
            if ways_in[to as usize] == 0 {
                free.push(to);
            }
        }
    }
    if left == 0 {
        return None;
    }
    Some(round(graph, &ways_in))
}

/// A round among the states that have a way in.
fn round(graph: &Graph, ways_in: &[u32]) -> Vec<u32> {
    let remains = |state: &u32| ways_in[*state as usize] > 0;
    let states = u32::try_from(graph.states()).unwrap_or(u32::MAX);
    // What is behind a round remains too: steps back, not forth, stay on it. So the round is looked for backwards.
    let mut before = std::collections::BTreeMap::new();
    for state in (0..states).filter(remains) {
        for edge in graph.edges(state).filter(|edge| !edge.elapses()) {
            if remains(&edge.to()) {
                before.entry(edge.to()).or_insert(state);
            }
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

/// The first state from which no end can be reached without a fault.
pub(super) fn hopeless(graph: &Graph, is_over: impl Fn(u32) -> bool) -> Option<u32> {
    let states = u32::try_from(graph.states()).unwrap_or(u32::MAX);
    let mut hopes: Vec<bool> = (0..states).map(is_over).collect();
    // Most steps lead to later states: from the last to the first nearly everything is settled in one pass.
    loop {
        let mut changed = false;
        for state in (0..states).rev() {
            if hopes[state as usize] {
                continue;
            }
            let hope = graph.edges(state).any(|edge| !edge.is_fault() && hopes[edge.to() as usize]);
            hopes[state as usize] = hope;
            changed |= hope;
        }
        if !changed {
            break;
        }
    }
    (0..states).find(|state| !hopes[*state as usize])
}
