//! Where requests belong: the sessions and tree connects of a connection, and what a request takes from its own.

use alloc::boxed::Box;

use super::session::{Protection, Session, Tree};
use super::table::{Key, Table};
use crate::wire::{Command, Dialect, Header, NtStatus, SessionId, Target, TreeId};

/// A session and a tree connect, if there is one.
pub(super) type Scope = (Option<Key>, Option<Key>);

/// All that are there.
#[derive(Debug)]
pub(super) struct Scopes {
    /// Boxed, because keys are large.
    pub(super) sessions: Table<Box<Session>>,
    pub(super) trees: Table<Tree>,
    /// How many of the sessions are over, and wait for answers only.
    pub(super) ended: u16,
}

impl Scopes {
    /// The header of a request, without what is known when it is sent.
    pub(super) fn header(&self, command: Command, (session, tree): Scope) -> Header {
        let (session_id, tree_id, sequence) = match tree.and_then(|key| self.trees.get(key)) {
            Some(tree) => (tree.session_id, tree.id, tree.channel_sequence),
            None => match session.and_then(|key| self.sessions.get(key)) {
                Some(session) => (session.id, TreeId::NONE, session.channel_sequence),
                None => (SessionId::NONE, TreeId::NONE, 0),
            },
        };
        // 3.2.4.1: ChannelSequence
        let status = NtStatus(sequence.into());
        let target = Target::Sync { process_id: 0, tree_id };
        Header { credit_charge: 1, credits: 1, command, session_id, status, target, ..Header::default() }
    }

    /// Gives the tree connects of a session its ChannelSequence.
    pub(super) fn renumber(&mut self, session: Key, sequence: u16) {
        for key in self.trees.keys(|tree| tree.session == session) {
            if let Some(tree) = self.trees.get_mut(key) {
                tree.channel_sequence = sequence;
            }
        }
    }

    /// How a request is protected.
    pub(super) fn protection(
        &self,
        (session, tree): Scope,
        dialect: Dialect,
        command: Command,
        must_sign: bool,
    ) -> Protection {
        let found = tree.and_then(|key| self.trees.get(key));
        if let Some(found) = found
            && !must_sign
        {
            return found.protection;
        }
        // Nobody knows any more whether a tree connect that is gone was encrypted.
        let encrypts = found.map_or(tree.is_some(), |found| found.encrypts);
        let session = session.and_then(|key| self.sessions.get(key));
        session.map_or(Protection::None, |session| session.protection(encrypts, dialect, command, must_sign))
    }
}
