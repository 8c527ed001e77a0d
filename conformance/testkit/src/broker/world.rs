//! A broker, its owners and clients, and what the model knows of them.

use std::collections::BTreeMap;

use smbd_broker::broker::{Broker, ConnectionId, OwnerId, Peer};
use smbd_broker::wire::{Age, Refusal, Reply, Rule};
use smbd_core::Instant;

use super::records::{
    Breach, Cause, Client, Done, MAX_READ_WRITE_SIZE, MAX_SEND_SIZE, Move, Owner, Phase, Running, Stage, law,
    settings,
};
use super::tape::Tape;
use super::words::{Word, message};

#[derive(Debug)]
pub struct World<'a> {
    pub tape: Tape<'a>,
    pub broker: Broker,
    pub owners: BTreeMap<OwnerId, Owner>,
    pub clients: BTreeMap<ConnectionId, Client>,
    pub sessions: BTreeMap<u64, OwnerId>,
    pub guids: BTreeMap<[u8; 16], OwnerId>,
    pub acceptor: Option<OwnerId>,
    pub answers_negotiate: bool,
    pub memory: u64,
    pub now: Instant,
    /// Of tags, messages and whatever has to be told apart.
    pub numbers: u64,
    pub does_trace: bool,
}

impl<'a> World<'a> {
    pub fn new(tape: Tape<'a>, does_trace: bool) -> Self {
        Self {
            tape,
            broker: Broker::new(settings(), 1).expect("the parameters are valid"),
            owners: BTreeMap::new(),
            clients: BTreeMap::new(),
            sessions: BTreeMap::new(),
            guids: BTreeMap::new(),
            acceptor: None,
            answers_negotiate: false,
            memory: 0,
            now: Instant::ORIGIN,
            numbers: 0,
            does_trace,
        }
    }

    pub fn number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }

    pub fn trace(&self, what: impl FnOnce() -> String) {
        if self.does_trace {
            eprintln!("{}", what());
        }
    }

    /// One of the connections that are as is asked.
    pub fn a_client(&mut self, is: impl Fn(&Client) -> bool) -> Option<ConnectionId> {
        let all: Vec<_> = self.clients.iter().filter(|(_, client)| is(client)).map(|(id, _)| *id).collect();
        self.tape.pick(&all)
    }

    pub fn an_owner(&mut self, is: impl Fn(&Owner) -> bool) -> Option<OwnerId> {
        let all: Vec<_> = self.owners.iter().filter(|(_, owner)| is(owner)).map(|(id, _)| *id).collect();
        self.tape.pick(&all)
    }

    pub fn client(&mut self, id: ConnectionId) -> &mut Client {
        self.clients.get_mut(&id).expect("it is there")
    }

    pub fn owner(&mut self, id: OwnerId) -> &mut Owner {
        self.owners.get_mut(&id).expect("it is there")
    }

    /// Whether an owner has as many connections as it may have.
    pub fn is_full(&self, owner: OwnerId) -> bool {
        self.clients.values().filter(|client| client.belongs_to(owner)).count()
            >= settings().quotas.connections_of_owner_max
    }

    pub fn connect(&mut self) -> Done {
        let address = "192.0.2.7".into();
        let peer = Peer { max_send_size: MAX_SEND_SIZE, max_read_write_size: MAX_READ_WRITE_SIZE, address };
        let until = self.now.saturating_add(settings().quotas.setup_within);
        let id = self.broker.connected(peer, self.now);
        self.trace(|| format!("connected: {id:?}"));
        let has_place = self.clients.len() < settings().quotas.connections_max;
        law("bounds", id.is_some() == has_place, || format!("{id:?} of {}", self.clients.len()))?;
        if let Some(id) = id {
            let before = self.clients.insert(id, Client::new(until));
            law("isolation", before.is_none(), || format!("{id} a second time"))?;
        }
        Ok(())
    }

    /// A message of a client that is read from the transport.
    pub fn say(&mut self, id: ConnectionId) {
        let (kind, which, extra) = (self.tape.below(6), self.tape.byte(), self.tape.byte());
        let word = match kind {
            0 | 1 => Word::Negotiate(which % 4),
            2 | 3 => Word::Bind(1 + u64::from(which % 4)),
            4 => Word::Setup,
            _ => Word::Other,
        };
        // Now and then much is said before SESSION_SETUP, and longer than a piece.
        let extra = if extra > 230 { usize::from(extra - 210) * 1500 } else { extra.into() };
        let number = self.number();
        let message = message(word, number, extra);
        self.trace(|| format!("{id} says {word:?}, {} bytes", message.len()));
        let is_open = self.client(id).is_open;
        match self.client(id).stage {
            Stage::Waiting { .. } => self.first(id, word, &message),
            Stage::Held if is_open => self.undecided(id, word, &message),
            Stage::Held => self.client(id).pending.push_back(message.to_vec()),
            Stage::Ending => {}
        }
        self.broker.received(id, message.into());
    }

    fn of_session(&self, word: Word) -> Option<(OwnerId, Rule)> {
        let Word::Bind(session) = word else { return None };
        self.sessions.get(&session).map(|owner| (*owner, Rule::SessionId))
    }

    fn first(&mut self, id: ConnectionId, word: Word, message: &[u8]) {
        let answers = self.answers_negotiate;
        let is_answered = self.client(id).is_answered();
        if let Word::Negotiate(guid) = word
            && !is_answered
        {
            let client = self.client(id);
            client.guid = guid;
            if answers {
                client.stage = Stage::Waiting { is_answering: true };
                client.must_negotiate = Some(message.to_vec());
                client.remember(Age::PastRequest, message.to_vec());
                return;
            }
        }
        let guid = self.client(id).guid;
        let by_guid = || (guid != 0).then(|| self.guids.get(&[guid; 16])).flatten();
        let by_guid = || by_guid().map(|owner| (*owner, Rule::ClientGuid));
        let acceptor = || self.acceptor.map(|owner| (owner, Rule::Default));
        let to = self.of_session(word).or_else(by_guid).or_else(acceptor);
        match to {
            Some((owner, _)) if !self.is_full(owner) => {
                let client = self.client(id);
                client.must_come = to;
                client.past = std::mem::take(&mut client.exchanged);
                client.stage = Stage::Held;
                client.holder = Some(owner);
                client.is_open = matches!(word, Word::Negotiate(_));
                client.pending.push_back(message.to_vec());
                if client.is_open {
                    client.exchanged = client.past.clone();
                    if client.remember(Age::PastRequest, message.to_vec()) {
                        self.end(id);
                    }
                }
            }
            _ => self.end(id),
        }
    }

    fn undecided(&mut self, id: ConnectionId, word: Word, message: &[u8]) {
        let to = self.of_session(word);
        let client = self.client(id);
        let is_setup = matches!(word, Word::Bind(_) | Word::Setup);
        if is_setup && !client.is_answered() {
            return self.end(id);
        }
        match to {
            Some((owner, _)) if client.holder != Some(owner) => {
                if self.is_full(owner) {
                    return self.end(id);
                }
                let client = self.client(id);
                client.moving = Some(Move { to: owner, cause: Cause::Route, is_drained: true });
                client.pending.push_back(message.to_vec());
                client.is_open = false;
                client.past = std::mem::take(&mut client.exchanged);
                self.goes(id);
            }
            _ => {
                client.pending.push_back(message.to_vec());
                if is_setup {
                    client.is_open = false;
                } else if client.remember(Age::PastRequest, message.to_vec()) {
                    self.end(id);
                }
            }
        }
    }

    /// A connection moves if it can.
    pub fn goes(&mut self, id: ConnectionId) {
        let client = self.client(id);
        let Some(Move { to, cause, is_drained: true }) = client.moving else { return };
        let is_free = client.transfers.is_empty() && client.starting.is_empty();
        if client.stage != Stage::Held || !is_free || !client.transport.is_empty() {
            return;
        }
        let from = client.holder.replace(to).filter(|from| *from != to);
        client.moving = None;
        client.begun = None;
        client.must_close = true;
        match cause {
            Cause::Route => client.must_come = Some((to, Rule::SessionId)),
            Cause::Attach(_) => client.past.clear(),
        }
        client.must_tell_moved = from;
        if let Cause::Attach(tag) = cause {
            self.owner(to).answers(tag, Ok(Reply::Attached { connection: id.0 }));
        }
    }

    /// The broker has to end a connection now.
    pub fn end(&mut self, id: ConnectionId) {
        let client = self.client(id);
        if client.stage == Stage::Ending {
            return;
        }
        client.stage = Stage::Ending;
        client.must_end = true;
        client.is_open = false;
        self.refuse_mover(id);
    }

    /// A connection does not go where it was on its way to. What came for its new owner is for nobody.
    pub fn refuse_mover(&mut self, id: ConnectionId) {
        let client = self.client(id);
        let Some(Move { to, cause, .. }) = client.moving.take() else { return };
        client.pending.clear();
        if let Cause::Attach(tag) = cause {
            self.owner(to).answers(tag, Err(Refusal::Ended));
        }
    }

    /// The device is done with a transfer.
    pub fn transferred(&mut self, id: ConnectionId, running: Running, is_success: bool) {
        let Running { owner, tag, areas } = running;
        if let Some(socket) = &mut self.client(id).socket {
            socket.done.push((tag, is_success));
        }
        for area in areas {
            self.owner(owner).used.remove(&area.slot);
        }
        self.frees(owner);
        self.goes(id);
    }

    /// The memory of an owner that has gone is freed if nothing uses it.
    pub fn frees(&mut self, id: OwnerId) {
        let owner = self.owner(id);
        if owner.phase == Phase::Gone && owner.used.is_empty() && owner.making.is_none() {
            owner.must_free = true;
        }
    }

    /// Nothing comes to an owner any more, and what it has ends.
    pub fn expel(&mut self, id: OwnerId) {
        self.sessions.retain(|_, holder| *holder != id);
        self.guids.retain(|_, holder| *holder != id);
        if self.acceptor == Some(id) {
            self.acceptor = None;
            self.answers_negotiate = false;
        }
        // What waits is not answered any more.
        self.owner(id).calls.retain(|(_, answer)| answer.is_some());
        let its = self.clients.iter().filter(|(_, client)| client.belongs_to(id));
        let its: Vec<_> = its.map(|(client, _)| *client).collect();
        for client in its {
            self.end(client);
        }
    }

    pub fn breach(law: &'static str, what: impl Into<String>) -> Breach {
        Breach { law, what: what.into() }
    }
}
