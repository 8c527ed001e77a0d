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
}

impl Scopes {
    /// The header of a request, without what is known when it is sent.
    pub(super) fn header(&self, command: Command, (session, tree): Scope) -> Header {
        let session = session.and_then(|key| self.sessions.get(key));
        let (session_id, sequence) =
            session.map_or((SessionId::NONE, 0), |session| (session.id, session.channel_sequence));
        let tree_id = tree.and_then(|key| self.trees.get(key)).map_or(TreeId::NONE, |tree| tree.id);
        // 3.2.4.1: ChannelSequence
        let status = NtStatus(sequence.into());
        let target = Target::Sync { process_id: 0, tree_id };
        Header { credit_charge: 1, credits: 1, command, session_id, status, target, ..Header::default() }
    }

    /// How a request is protected.
    pub(super) fn protection(
        &self,
        (session, tree): Scope,
        dialect: Dialect,
        command: Command,
        must_sign: bool,
    ) -> Protection {
        let session = session.and_then(|key| self.sessions.get(key));
        let tree = tree.and_then(|key| self.trees.get(key));
        session.map_or(Protection::None, |session| session.protection(tree, dialect, command, must_sign))
    }
}
