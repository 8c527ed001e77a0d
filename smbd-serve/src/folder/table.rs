//! Files that clients have open, and what they owe each other.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};

use smbd_smb2::server::{FileResult, Locks, Use};
use smbd_smb2::wire::{AccessMask, NtStatus};

use super::attributes::Times;
use super::beneath::{Key, Place};
use super::claim::{Claim, NameKey, is_beneath};
use super::listing::Listing;

/// How many names that were made are kept. A name that was looked up before all of these is looked up again.
const MADE_MAX: usize = 1024;

/// Open files by what they are on the host, so that two names of one file are one file.
#[derive(Debug, Default)]
pub(super) struct Table {
    nodes: BTreeMap<Key, Node>,
    last: u64,
    /// The names that were made last.
    made: VecDeque<NameKey>,
    /// How many names were made.
    made_count: u64,
    /// Names that are being made.
    claims: BTreeMap<u64, Claim>,
}

/// A file that is open.
#[derive(Debug, Default)]
pub(super) struct Node {
    opens: BTreeMap<u64, Opened>,
    pub(super) locks: Locks,
    /// The name that goes when the last open is closed. Without opens, it is being deleted.
    pub(super) pending: Option<Place>,
}

/// One who has it open.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) usage: Use,
    /// Its path, as [`Folder::path`](super::Folder::path) has it.
    pub(super) path: String,
    /// Its name, for whoever may delete it or give it another.
    pub(super) place: Option<Place>,
    pub(super) delete_on_close: bool,
    /// Used by one request at a time.
    pub(super) listing: Arc<Mutex<Option<Listing>>>,
    /// Times that reads and writes of this open leave as they are (Open.UserSetAccessTime, Open.UserSetModificationTime).
    pub(super) held: Times,
    /// Whether the file system can read without waiting (`RWF_NOWAIT`), as far as is known.
    pub(super) has_nowait: bool,
}

impl Table {
    /// Adds one who has a file open. Returns its number.
    pub(super) fn add(&mut self, key: Key, opened: Opened) -> u64 {
        self.last = self.last.saturating_add(1);
        self.nodes.entry(key).or_default().opens.insert(self.last, opened);
        self.last
    }

    /// Whether a file can be used like this beside those who have it open.
    pub(super) fn check(&self, key: Key, usage: &Use) -> FileResult<()> {
        let Some(node) = self.nodes.get(&key) else { return Ok(()) };
        if node.opens.values().all(|open| open.usage.goes_with(usage)) {
            Ok(())
        } else {
            Err(NtStatus::SHARING_VIOLATION)
        }
    }

    /// Whether something is open, or being made, that is beneath a directory of this path.
    pub(super) fn is_open_beneath(&self, directory: &str) -> bool {
        let mut opens = self.nodes.values().flat_map(|node| node.opens.values());
        opens.any(|open| is_beneath(&open.path, directory))
            || self.claims.values().any(|claim| is_beneath(&claim.path, directory))
    }

    /// Whether somebody who has this open may delete it.
    pub(super) fn may_go(&self, key: Key) -> bool {
        let deletes = |open: &Opened| open.usage.access.contains(AccessMask::DELETE);
        self.nodes.get(&key).is_some_and(|node| node.opens.values().any(deletes))
    }

    pub(super) fn is_open(&self, key: Key) -> bool {
        self.nodes.contains_key(&key)
    }

    pub(super) fn is_pending(&self, key: Key) -> bool {
        self.nodes.get(&key).is_some_and(|node| node.pending.is_some())
    }

    pub(super) fn node(&self, key: Key) -> FileResult<&Node> {
        self.nodes.get(&key).ok_or(NtStatus::FILE_CLOSED)
    }

    pub(super) fn node_mut(&mut self, key: Key) -> FileResult<&mut Node> {
        self.nodes.get_mut(&key).ok_or(NtStatus::FILE_CLOSED)
    }

    pub(super) fn opened(&self, key: Key, open: u64) -> FileResult<&Opened> {
        self.node(key)?.opens.get(&open).ok_or(NtStatus::FILE_CLOSED)
    }

    pub(super) fn opened_mut(&mut self, key: Key, open: u64) -> FileResult<&mut Opened> {
        self.node_mut(key)?.opens.get_mut(&open).ok_or(NtStatus::FILE_CLOSED)
    }

    /// Times of a file were set: those who hold them hold these.
    pub(super) fn times_were_set(&mut self, key: Key, set: &Times) {
        let Some(node) = self.nodes.get_mut(&key) else { return };
        for Opened { held, .. } in node.opens.values_mut() {
            held.access = held.access.map(|old| set.access.unwrap_or(old));
            held.write = held.write.map(|old| set.write.unwrap_or(old));
        }
    }

    /// Takes one away who had a file open.
    pub(super) fn remove(&mut self, key: Key, open: u64) -> Option<Opened> {
        let node = self.nodes.get_mut(&key)?;
        node.locks.end(open);
        node.opens.remove(&open)
    }

    /// Forgets a file that nobody has open. Returns the name that has to go: the file is then deleted until [`Self::gone`].
    pub(super) fn forget(&mut self, key: Key) -> Option<Place> {
        let node = self.nodes.get(&key).filter(|node| node.opens.is_empty())?;
        let going = node.pending.clone();
        if going.is_none() {
            self.nodes.remove(&key);
        }
        going
    }

    /// A file was deleted, or could not be.
    pub(super) fn gone(&mut self, key: Key) {
        if let Some(node) = self.nodes.get_mut(&key) {
            node.pending = None;
        }
        self.forget(key);
    }

    /// Claims a name that is about to be made. Returns the number of the claim.
    pub(super) fn claim(&mut self, claim: Claim) -> u64 {
        self.last = self.last.saturating_add(1);
        self.claims.insert(self.last, claim);
        self.last
    }

    pub(super) fn end_claim(&mut self, number: u64) {
        if let Some(claim) = self.claims.remove(&number) {
            self.made(claim.name);
        }
    }

    /// Whether a claim concerns this name or this path.
    pub(super) fn is_claimed(&self, place: Option<&Place>, path: &str) -> bool {
        self.claims.values().any(|claim| claim.concerns(place, path))
    }

    /// Whether a file is getting another name.
    pub(super) fn is_moving(&self, key: Key) -> bool {
        self.claims.values().any(|claim| claim.moves(key))
    }

    /// Whether something is coming into a directory.
    pub(super) fn is_filling(&self, directory: Key) -> bool {
        self.claims.values().any(|claim| claim.name.parent == directory)
    }

    /// How many names were made.
    pub(super) const fn made_count(&self) -> u64 {
        self.made_count
    }

    /// A name was made.
    fn made(&mut self, name: NameKey) {
        if self.made.len() == MADE_MAX {
            self.made.pop_front();
        }
        self.made.push_back(name);
        self.made_count = self.made_count.saturating_add(1);
    }

    /// Whether a name of which this holds may have been made since `count` names were.
    pub(super) fn was_made_since(&self, count: u64, is_it: impl Fn(&NameKey) -> bool) -> bool {
        let newer = usize::try_from(self.made_count.saturating_sub(count)).unwrap_or(usize::MAX);
        newer > self.made.len() || self.made.iter().rev().take(newer).any(is_it)
    }

    /// A file has another name: its place, and its path.
    pub(super) fn renamed(
        &mut self,
        key: Key,
        (from, from_path): (&Place, &str),
        (to, path): (&Place, &str),
    ) {
        let Some(node) = self.nodes.get_mut(&key) else { return };
        for open in node.opens.values_mut().filter(|open| open.path == from_path) {
            path.clone_into(&mut open.path);
        }
        let places = node.opens.values_mut().filter_map(|open| open.place.as_mut());
        for place in places.chain(node.pending.as_mut()) {
            if place.is(from) {
                *place = to.clone();
            }
        }
    }
}
