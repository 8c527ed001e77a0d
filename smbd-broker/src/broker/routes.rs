//! Who takes which connection.

use std::collections::BTreeMap;

use smbd_smb2::wire::Guid;

use super::action::OwnerId;
use crate::wire::{Refusal, Rule};

/// The rules of all owners. They are looked at in this order: the session, the client, the default acceptor.
#[derive(Debug)]
pub(super) struct Routes {
    sessions: BTreeMap<u64, OwnerId>,
    clients: BTreeMap<[u8; 16], OwnerId>,
    pub(super) acceptor: Option<OwnerId>,
}

impl Routes {
    pub(super) const fn new() -> Self {
        Self { sessions: BTreeMap::new(), clients: BTreeMap::new(), acceptor: None }
    }

    /// Whether there is anybody who might take a connection.
    pub(super) fn has_any(&self) -> bool {
        self.acceptor.is_some() || !self.sessions.is_empty() || !self.clients.is_empty()
    }

    pub(super) fn of_session(&self, session_id: u64) -> Option<(OwnerId, Rule)> {
        self.sessions.get(&session_id).map(|owner| (*owner, Rule::SessionId))
    }

    /// The owner of a client, or the default acceptor.
    pub(super) fn of_client(&self, guid: Option<Guid>) -> Option<(OwnerId, Rule)> {
        let holder = guid.and_then(|guid| self.clients.get(&guid.0));
        let by_client = holder.map(|owner| (*owner, Rule::ClientGuid));
        by_client.or_else(|| self.acceptor.map(|owner| (owner, Rule::Default)))
    }

    pub(super) fn hold_session(&mut self, id: u64, owner: OwnerId, max: usize) -> Result<(), Refusal> {
        hold(&mut self.sessions, id, owner, max)
    }

    pub(super) fn hold_client(&mut self, guid: Guid, owner: OwnerId, max: usize) -> Result<(), Refusal> {
        hold(&mut self.clients, guid.0, owner, max)
    }

    pub(super) fn forget_session(&mut self, id: u64, owner: OwnerId) -> Result<(), Refusal> {
        forget(&mut self.sessions, id, owner)
    }

    pub(super) fn forget_client(&mut self, guid: Guid, owner: OwnerId) -> Result<(), Refusal> {
        forget(&mut self.clients, guid.0, owner)
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

    /// An owner is gone.
    pub(super) fn forget_owner(&mut self, owner: OwnerId) {
        self.sessions.retain(|_, holder| *holder != owner);
        self.clients.retain(|_, holder| *holder != owner);
        self.acceptor = self.acceptor.filter(|acceptor| *acceptor != owner);
    }
}

fn hold<K: Ord>(rules: &mut BTreeMap<K, OwnerId>, key: K, owner: OwnerId, max: usize) -> Result<(), Refusal> {
    match rules.get(&key) {
        Some(holder) if *holder == owner => Ok(()),
        Some(_) => Err(Refusal::Held),
        None if rules.values().filter(|holder| **holder == owner).count() >= max => Err(Refusal::Quota),
        None => {
            rules.insert(key, owner);
            Ok(())
        }
    }
}

fn forget<K: Ord>(rules: &mut BTreeMap<K, OwnerId>, key: K, owner: OwnerId) -> Result<(), Refusal> {
    match rules.get(&key) {
        Some(holder) if *holder == owner => {
            rules.remove(&key);
            Ok(())
        }
        _ => Err(Refusal::NotHeld),
    }
}
