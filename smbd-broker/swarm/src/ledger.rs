//! Records of all messages and rules, kept by clients and owners. What they show against each other are laws.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use smbd_broker::wire::Rule;
use smbd_core::Instant;
use smbd_testkit::{Breach, law};

/// The number of an owner: each process has another.
pub type OwnerNumber = usize;

/// What a rule is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Key {
    Session(u64),
    Client(u8),
    Rest,
}

#[derive(Debug, Default)]
pub struct Ledger {
    /// By the number of the devices.
    pub connections: BTreeMap<usize, Record>,
    /// Who holds what for sure: from the answer to its call until it gives it up.
    sure: BTreeMap<Key, (OwnerNumber, Instant)>,
    /// Who may hold what: from its call until it has an answer that says otherwise.
    possible: BTreeSet<(Key, OwnerNumber)>,
    /// Who asks for other things than it means to.
    pub hostile: BTreeSet<OwnerNumber>,
}

/// A connection of a client.
#[derive(Debug, Default)]
pub struct Record {
    pub guid: u8,
    pub binds: Option<u64>,
    /// What the client has sent, and when.
    pub sent: Vec<(Bytes, Instant)>,
    /// Messages that an owner has got as new ones.
    new: BTreeSet<usize>,
    /// What owners have sent, in order.
    pub said: Vec<Bytes>,
    /// What the client has received.
    pub heard: Vec<Bytes>,
    /// The first of them is the broker's.
    by_broker: bool,
    /// Somebody had it who does what he must not.
    pub is_spoiled: bool,
    /// Its client does.
    pub is_hostile: bool,
    /// Its client knows that it has ended, or ends it.
    pub is_over: bool,
}

impl Record {
    /// An owner gets message `at` as a new one.
    pub fn got(&mut self, at: usize, bytes: &[u8]) -> Result<(), Breach> {
        let sent = self.sent.get(at).map(|(sent, _)| sent);
        law!("messages", sent.is_some(), "message {at} was not sent: {} bytes", bytes.len());
        law!("messages", sent.is_some_and(|sent| sent == bytes), "message {at} is another");
        law!("messages", self.new.insert(at), "message {at} comes twice");
        Ok(())
    }

    /// An owner gets what was exchanged before: this message, the `at`th request or response.
    pub fn past(&self, is_request: bool, at: usize, bytes: &[u8]) -> Result<(), Breach> {
        if is_request {
            let sent = self.sent.get(at).map(|(sent, _)| sent);
            law!("past", sent.is_some_and(|sent| sent == bytes), "request {at} of the past is another");
            return Ok(());
        }
        // Of a response that the broker has made only the client knows.
        let known = self.heard.get(at).or_else(|| self.said.get(at));
        let is_it = known.is_none_or(|known| known == bytes);
        law!("past", is_it || self.is_spoiled, "response {at} of the past is another");
        Ok(())
    }

    /// Whether an owner was given so many of each of the past, and message `first` now.
    pub fn introduced(&self, requests: usize, responses: usize, first: usize) -> Result<(), Breach> {
        law!("past", requests == first, "{requests} requests of the past, and message {first} comes");
        let said = self.said.len() + usize::from(self.by_broker);
        let heard = self.heard.len();
        let is_all =
            requests == 0 || (heard <= responses && (self.is_spoiled || responses <= said.max(heard)));
        law!("past", is_all, "{responses} responses of the past; {said} were sent, {heard} came");
        Ok(())
    }

    /// The client gets a message.
    pub fn hears(&mut self, bytes: Bytes, is_negotiate_response: bool) -> Result<(), Breach> {
        let at = self.heard.len();
        if at == 0 && is_negotiate_response {
            self.by_broker = true;
        }
        self.heard.push(bytes.clone());
        if at == 0 && self.by_broker || self.is_spoiled {
            return Ok(());
        }
        let at = at - usize::from(self.by_broker);
        let said = self.said.get(at);
        law!("answers", said.is_some(), "message {at} to the client was not sent");
        law!("answers", said == Some(&bytes), "message {at} to the client is another");
        Ok(())
    }
}

impl Ledger {
    /// An owner asks to hold something.
    pub fn asks(&mut self, key: Key, owner: OwnerNumber) {
        self.possible.insert((key, owner));
    }

    /// It holds it, or not.
    pub fn answered(
        &mut self,
        key: Key,
        owner: OwnerNumber,
        holds: bool,
        now: Instant,
    ) -> Result<(), Breach> {
        if !holds {
            if self.sure.get(&key).is_none_or(|(holder, _)| *holder != owner) {
                self.possible.remove(&(key, owner));
            }
            return Ok(());
        }
        let other = self.sure.get(&key).filter(|(holder, _)| *holder != owner);
        law!("routing", other.is_none(), "{key:?} is held by owner {owner} and by {other:?}");
        self.sure.entry(key).or_insert((owner, now));
        Ok(())
    }

    /// It asks to hold it no more.
    pub fn gives_up(&mut self, key: Key, owner: OwnerNumber) {
        if self.sure.get(&key).is_some_and(|(holder, _)| *holder == owner) {
            self.sure.remove(&key);
        }
    }

    /// The broker says that it does not hold it any more.
    pub fn gave_up(&mut self, key: Key, owner: OwnerNumber) {
        self.possible.remove(&(key, owner));
    }

    /// It is gone, or its broker is.
    pub fn leaves(&mut self, owner: OwnerNumber) {
        self.sure.retain(|_, (holder, _)| *holder != owner);
        self.possible.retain(|(_, holder)| *holder != owner);
    }

    /// The broker is gone, and with it all that is held.
    pub fn forget_all(&mut self) {
        self.sure.clear();
        self.possible.clear();
    }

    /// Whether somebody holds it for sure.
    pub fn is_held(&self, key: Key) -> bool {
        self.sure.contains_key(&key)
    }

    /// Whether this owner does.
    pub fn holds(&self, key: Key, owner: OwnerNumber) -> bool {
        self.sure.get(&key).is_some_and(|(holder, _)| *holder == owner)
    }

    /// Whether what is said on a connection may be anything.
    pub fn is_hostile(&self, connection: usize) -> bool {
        self.connections.get(&connection).is_none_or(|record| record.is_hostile || record.is_spoiled)
    }

    /// A connection comes to an owner by a rule.
    pub fn comes(&self, connection: usize, owner: OwnerNumber, rule: Rule) -> Result<(), Breach> {
        let Some(record) = self.connections.get(&connection) else { return Ok(()) };
        let key = match rule {
            Rule::SessionId => record.binds.map(Key::Session),
            Rule::ClientGuid => Some(Key::Client(record.guid)),
            Rule::Default => Some(Key::Rest),
        };
        // What a hostile client says may be anything.
        let is_known = key.is_some_and(|key| self.possible.contains(&(key, owner)));
        let may_be = is_known || record.is_hostile || self.hostile.contains(&owner);
        law!("routing", may_be, "connection {connection} comes to owner {owner}, who does not hold {key:?}");
        Ok(())
    }

    /// An owner gets message `at` of a connection as a new one. Whoever has held the rule since before it was sent is the one to get it.
    pub fn routed(&self, connection: usize, owner: OwnerNumber, at: usize) -> Result<(), Breach> {
        let Some(record) = self.connections.get(&connection).filter(|record| !record.is_hostile) else {
            return Ok(());
        };
        let Some((_, sent_at)) = record.sent.get(at) else { return Ok(()) };
        let is_first = record.new.first() == Some(&at);
        let key = match (at, record.binds) {
            (1, Some(session)) => Key::Session(session),
            (0 | 1, _) if is_first => Key::Client(record.guid),
            _ => return Ok(()),
        };
        let holder = self.sure.get(&key).filter(|(_, since)| since <= sent_at).map(|(holder, _)| *holder);
        law!(
            "routing",
            holder.is_none_or(|holder| holder == owner),
            "message {at} of connection {connection} comes to owner {owner}, and {holder:?} holds {key:?}"
        );
        Ok(())
    }
}
