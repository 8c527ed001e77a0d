//! All states found and the steps between them, in little memory.

use std::hash::BuildHasher;

use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;

use super::space::Key;

/// In an edge: time passes on it.
const ELAPSE: u32 = 1 << 31;
/// In an edge: it is a fault.
const FAULT: u32 = 1 << 30;
const STATE: u32 = FAULT - 1;

/// A step, as far as its graph goes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Edge(u32);

impl Edge {
    pub(super) const fn to(self) -> u32 {
        self.0 & STATE
    }

    pub(super) const fn elapses(self) -> bool {
        self.0 & ELAPSE != 0
    }

    pub(super) const fn is_fault(self) -> bool {
        self.0 & FAULT != 0
    }
}

/// States by number, in the order of breadth-first search.
#[derive(Debug, Default)]
pub(super) struct Graph {
    keys: Vec<Key>,
    index: HashTable<u32>,
    edges: Vec<u32>,
    /// For each expanded state, where its edges end.
    ends: Vec<u32>,
}

impl Graph {
    /// Most states that can be numbered.
    pub(super) const MAX: usize = STATE as usize;

    pub(super) fn states(&self) -> usize {
        self.keys.len()
    }

    pub(super) fn steps(&self) -> usize {
        self.edges.len()
    }

    pub(super) fn key(&self, state: u32) -> Key {
        self.keys[state as usize]
    }

    /// The states numbered from `before` on.
    pub(super) fn since(&self, before: usize) -> Vec<Key> {
        self.keys[before..].to_vec()
    }

    /// The number of a state, a new one if it was not there.
    pub(super) fn insert(&mut self, key: Key) -> u32 {
        let Self { keys, index, .. } = self;
        let hasher = FxBuildHasher;
        let hash = hasher.hash_one(key);
        let found =
            index.entry(hash, |at| keys[*at as usize] == key, |at| hasher.hash_one(keys[*at as usize]));
        match found {
            hashbrown::hash_table::Entry::Occupied(entry) => *entry.get(),
            hashbrown::hash_table::Entry::Vacant(entry) => {
                let next = u32::try_from(keys.len()).unwrap_or(u32::MAX);
                entry.insert(next);
                keys.push(key);
                next
            }
        }
    }

    /// The next state in line has a step to `to`.
    pub(super) fn link(&mut self, to: u32, elapses: bool, fault: bool) {
        let flags = if elapses { ELAPSE } else { 0 } | if fault { FAULT } else { 0 };
        self.edges.push(to | flags);
    }

    /// The next state in line has no further steps.
    pub(super) fn expanded(&mut self) {
        self.ends.push(u32::try_from(self.edges.len()).unwrap_or(u32::MAX));
    }

    pub(super) fn edges(&self, state: u32) -> impl Iterator<Item = Edge> {
        let state = state as usize;
        let from = if state == 0 { 0 } else { self.ends[state - 1] as usize };
        self.edges[from..self.ends[state] as usize].iter().map(|edge| Edge(*edge))
    }

    /// The shortest way to a state: all states on it.
    pub(super) fn path(&self, to: u32) -> Vec<u32> {
        // Each state was numbered by the first step to it, and steps are in the order of the states they leave.
        let mut parents = Vec::with_capacity(to as usize + 1);
        parents.push(0);
        'all: for from in 0..u32::try_from(self.ends.len()).unwrap_or(u32::MAX) {
            for edge in self.edges(from) {
                if parents.len() > to as usize {
                    break 'all;
                }
                if edge.to() as usize == parents.len() {
                    parents.push(from);
                }
            }
        }
        // The state under way when a search ends has no edges yet.
        while parents.len() <= to as usize {
            parents.push(u32::try_from(self.ends.len()).unwrap_or(0));
        }
        let mut path = vec![to];
        let mut at = to;
        while at != 0 {
            at = parents[at as usize];
            path.push(at);
        }
        path.reverse();
        path
    }

    /// Bytes taken, the room that tables keep for growth not counted.
    pub(super) fn bytes(&self) -> u64 {
        let words = self.edges.len() + self.ends.len() + 2 * self.keys.len();
        (words * size_of::<u32>() + self.keys.len() * size_of::<Key>()) as u64
    }
}
