//! Connections of a client, and which sessions are on which of them.

use core::mem::replace;

use super::action::{Action, LinkId, Operation};
use super::inner::Inner;
use super::link::Link;
use super::session::Session;
use super::transport::Transport;
use crate::wire::SessionId;

impl Inner {
    /// Takes another connection. None if all numbers are used.
    pub(super) fn join(&mut self, transport: Transport) -> Option<LinkId> {
        let id = LinkId(self.last_link.checked_add(1)?);
        self.last_link = id.0;
        let deadline = self.now.checked_add(self.params().setup_timeout);
        self.others.insert(id, Link::new(id, transport, self.params().credits_max, deadline));
        Some(id)
    }

    /// Goes to a connection, if it is not over.
    pub(super) fn enter(&mut self, id: LinkId) -> bool {
        if self.link.id != id {
            let Some(link) = self.others.remove(&id) else { return false };
            let before = replace(&mut self.link, link);
            self.others.insert(before.id, before);
        }
        !self.link.is_over
    }

    /// Forgets a connection whose end is told.
    pub(super) fn forget(&mut self, id: LinkId) {
        if self.link.id == id {
            if let Some((_, next)) = self.others.pop_first() {
                self.link = next;
            }
        } else {
            self.others.remove(&id);
        }
        self.lost.retain(|_, on| *on != id);
    }

    /// Whether all connections are over.
    pub(super) fn has_ended(&self) -> bool {
        self.links().all(|link| link.is_over)
    }

    /// All connections, with those whose end was not told yet.
    pub(super) fn links(&self) -> impl Iterator<Item = &Link> {
        core::iter::once(&self.link).chain(self.others.values())
    }

    /// Something is to be done.
    pub(super) fn push(&mut self, action: Action) {
        let link = match action {
            // Of a READ by RDMA, the data go to memory of its connection.
            Action::File { operation: Operation::ReadChannel { .. }, .. }
            | Action::Send { .. }
            | Action::RdmaRead { .. }
            | Action::RdmaWrite { .. }
            | Action::Refused(_)
            | Action::Close(_) => Some(self.link.id),
            Action::Transform { .. }
            | Action::File { .. }
            | Action::Cancel(_)
            | Action::SessionReplaced { .. } => None,
        };
        self.actions.push_back((link, action));
    }

    /// A session, if it is in Connection.SessionTable of the connection on which something happens.
    pub(super) fn session_here(&self, id: SessionId) -> Option<&Session> {
        self.sessions.get(&id.0).filter(|session| session.is_on(self.link.id))
    }

    /// Forgets sessions that are over and have no answer left to be sent.
    pub(super) fn forget_ended(&mut self) {
        let pending = &self.pending;
        self.sessions.retain(|id, session| {
            let is_needed = || pending.values().any(|pending| pending.asked.session_id.0 == *id);
            !session.is_ended() || is_needed()
        });
        let sessions = &self.sessions;
        for link in core::iter::once(&mut self.link).chain(self.others.values_mut()) {
            link.bindings.retain(|id, _| sessions.contains_key(id));
        }
    }

    /// Without anybody who has logged in on a connection, there is not for ever for somebody to do so.
    pub(super) fn limit_idleness(&mut self) {
        let until = self.now.checked_add(self.params().setup_timeout);
        let sessions = &self.sessions;
        for link in core::iter::once(&mut self.link).chain(self.others.values_mut()) {
            let mut here = sessions.values().filter(|session| session.is_on(link.id));
            if !link.is_over && link.deadline.is_none() && !here.any(|session| session.valid().is_some()) {
                link.deadline = until;
            }
        }
    }
}
