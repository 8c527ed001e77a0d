//! Names that are made, and files that get other names: while the host does it, others who come to the same wait.

use super::beneath::{Key, Place};
use super::table::{NameKey, Table};
use crate::brief::{Brief, Held};

/// A name that a file is about to have.
#[derive(Debug)]
pub(super) struct Claim {
    pub(super) name: NameKey,
    /// As [`Folder::path`](super::Folder::path) has it.
    pub(super) path: String,
    /// The file, and the path that it has until then. None: it is made.
    pub(super) moves: Option<(Key, String)>,
}

impl Claim {
    /// Whether others who come to this name, or to a path beneath what moves, have to wait.
    pub(super) fn concerns(&self, place: Option<&Place>, path: &str) -> bool {
        let moves_above = self.moves.as_ref().is_some_and(|(_, from)| is_beneath(path, from));
        moves_above || place.is_some_and(|place| self.name == place.key())
    }

    pub(super) fn moves(&self, key: Key) -> bool {
        self.moves.as_ref().is_some_and(|(moved, _)| *moved == key)
    }
}

pub(super) fn is_beneath(path: &str, directory: &str) -> bool {
    path.strip_prefix(directory).is_some_and(|rest| rest.starts_with('\\'))
}

/// A [`Claim`] that is held. When it goes, its name counts as one that was made: it may be there.
pub(super) struct Claimed<'a> {
    table: &'a Brief<Table>,
    number: Option<u64>,
}

impl<'a> Claimed<'a> {
    pub(super) fn new(table: &'a Brief<Table>, mut held: Held<'a, Table>, claim: Claim) -> Self {
        Self { table, number: Some(held.claim(claim)) }
    }

    /// It is done: `what` is written down before others go on.
    pub(super) fn end<T>(mut self, what: impl FnOnce(&mut Table) -> T) -> T {
        self.over(what)
    }

    fn over<T>(&mut self, what: impl FnOnce(&mut Table) -> T) -> T {
        let mut table = self.table.lock();
        let done = what(&mut table);
        if let Some(number) = self.number.take() {
            table.end_claim(number);
            drop(table);
            self.table.changed();
        }
        done
    }
}

impl Drop for Claimed<'_> {
    fn drop(&mut self) {
        if self.number.is_some() {
            self.over(|_| {});
        }
    }
}
