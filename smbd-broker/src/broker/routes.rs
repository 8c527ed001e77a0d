//! Who takes which connection.

use std::collections::BTreeMap;

use smbd_smb2::wire::Guid;

use super::action::OwnerId;
use crate::wire::{Refusal, Rule};

/// The rules of all owners. They are looked at in this order: the session, the client, the default acceptor.
#[derive(Debug)]
pub(super) struct Routes {
    sessions: Rules<u64>,
    clients: Rules<[u8; 16]>,
    pub(super) acceptor: Option<OwnerId>,
}

impl Routes {
    pub(super) const fn new() -> Self {
        Self { sessions: Rules::new(), clients: Rules::new(), acceptor: None }
    }

    /// Whether there is anybody who might take a connection.
    pub(super) fn has_any(&self) -> bool {
        self.acceptor.is_some() || !self.sessions.holders.is_empty() || !self.clients.holders.is_empty()
    }

    pub(super) fn of_session(&self, session_id: u64) -> Option<(OwnerId, Rule)> {
        self.sessions.holders.get(&session_id).map(|owner| (*owner, Rule::SessionId))
    }

    /// The owner of a client, or the default acceptor.
    pub(super) fn of_client(&self, guid: Option<Guid>) -> Option<(OwnerId, Rule)> {
        let holder = guid.and_then(|guid| self.clients.holders.get(&guid.0));
        let by_client = holder.map(|owner| (*owner, Rule::ClientGuid));
        by_client.or_else(|| self.acceptor.map(|owner| (owner, Rule::Default)))
    }

    pub(super) fn hold_session(&mut self, id: u64, owner: OwnerId, max: usize) -> Result<(), Refusal> {
        self.sessions.hold(id, owner, max)
    }

    pub(super) fn hold_client(&mut self, guid: Guid, owner: OwnerId, max: usize) -> Result<(), Refusal> {
        self.clients.hold(guid.0, owner, max)
    }

    pub(super) fn forget_session(&mut self, id: u64, owner: OwnerId) -> Result<(), Refusal> {
        self.sessions.forget(&id, owner)
    }

    pub(super) fn forget_client(&mut self, guid: Guid, owner: OwnerId) -> Result<(), Refusal> {
        self.clients.forget(&guid.0, owner)
    }

    /// An owner takes what no rule matches.
    pub(super) fn listen(&mut self, owner: OwnerId) -> Result<(), Refusal> {
        match self.acceptor {
            Some(other) if other != owner => Err(Refusal::Taken),
            _ => {
                self.acceptor = Some(owner);
                Ok(())
            }
        }
    }

    pub(super) fn stop_listening(&mut self, owner: OwnerId) -> Result<(), Refusal> {
        if self.acceptor != Some(owner) {
            return Err(Refusal::NotAcceptor);
        }
        self.acceptor = None;
        Ok(())
    }

    /// How many sessions and clients an owner holds.
    pub(super) fn held_by(&self, owner: OwnerId) -> (usize, usize) {
        (self.sessions.count(owner), self.clients.count(owner))
    }

    /// An owner is gone.
    pub(super) fn forget_owner(&mut self, owner: OwnerId) {
        self.sessions.forget_owner(owner);
        self.clients.forget_owner(owner);
        self.acceptor = self.acceptor.filter(|acceptor| *acceptor != owner);
    }
}

/// Rules of a kind.
#[derive(Debug)]
struct Rules<K> {
    holders: BTreeMap<K, OwnerId>,
    /// How many each owner has: to count them would take an owner with many rules a long time, and all others with it.
    counts: BTreeMap<OwnerId, usize>,
}

impl<K: Ord> Rules<K> {
    const fn new() -> Self {
        Self { holders: BTreeMap::new(), counts: BTreeMap::new() }
    }

    fn hold(&mut self, key: K, owner: OwnerId, max: usize) -> Result<(), Refusal> {
        match self.holders.get(&key) {
            Some(holder) if *holder == owner => return Ok(()),
            Some(_) => return Err(Refusal::Held),
            None => {}
        }
        let count = self.counts.entry(owner).or_default();
        if *count >= max {
            return Err(Refusal::Quota);
        }
        *count = count.saturating_add(1);
        self.holders.insert(key, owner);
        Ok(())
    }

    fn count(&self, owner: OwnerId) -> usize {
        self.counts.get(&owner).copied().unwrap_or(0)
    }

    fn forget(&mut self, key: &K, owner: OwnerId) -> Result<(), Refusal> {
        if self.holders.get(key) != Some(&owner) {
            return Err(Refusal::NotHeld);
        }
        self.holders.remove(key);
        if let Some(count) = self.counts.get_mut(&owner) {
            *count = count.saturating_sub(1);
        }
        Ok(())
    }

    fn forget_owner(&mut self, owner: OwnerId) {
        self.counts.remove(&owner);
        self.holders.retain(|_, holder| *holder != owner);
    }
}
