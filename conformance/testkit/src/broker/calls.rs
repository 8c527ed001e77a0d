//! What owners ask, and what they have to be answered.

use std::time::Duration;

use smbd_broker::broker::{ConnectionId, OwnerId};
use smbd_broker::wire::{
    Call, Memory, Messages, Negotiation, Packet, Parameters, Refusal, Reply, Request, VERSION, Welcome,
};
use smbd_core::{Config, Keepalive, Params};
use smbd_smb2::wire::Guid;

use super::records::{Answer, Cause, Move, Phase, Stage, settings};
use super::world::World;

impl World<'_> {
    /// A packet of an owner, with some calls and a mistake now and then.
    pub fn ask(&mut self, id: OwnerId) {
        let mut packet = Packet::new();
        let mut sockets = Vec::new();
        for _ in 0..=self.tape.below(8) / 5 {
            let tag = self.number();
            let call = self.call(id);
            if call == Call::Attach && !self.tape.once_in(8) {
                let socket = self.a_client(|client| client.socket.is_some());
                sockets.push(socket);
            }
            self.trace(|| format!("{id} asks {tag} {call:?} with {sockets:?}"));
            Request { tag, call }.write(&mut packet);
        }
        let mut bytes = packet.bytes().to_vec();
        if self.tape.once_in(24) {
            self.damage(&mut bytes);
        }
        self.asked(id, &bytes, &sockets);
    }

    /// Some bytes are other ones, or missing.
    pub fn damage(&mut self, bytes: &mut Vec<u8>) {
        for _ in 0..=self.tape.below(3) {
            let (at, byte) = (self.tape.byte(), self.tape.byte());
            match bytes.get_mut(usize::from(at)) {
                Some(place) => *place = byte,
                None => bytes.truncate(usize::from(byte)),
            }
        }
        self.trace(|| format!("  damaged: {bytes:02x?}"));
    }

    /// A packet of an owner, whatever is in it.
    pub fn asked(&mut self, id: OwnerId, bytes: &[u8], sockets: &[Option<ConnectionId>]) {
        let mut left = sockets.iter().copied();
        for message in Messages::of(bytes) {
            if !self.owner(id).is_there() {
                break;
            }
            let Ok(Request { tag, call }) = message.and_then(|message| Request::parse(&message)) else {
                let owner = self.owner(id);
                owner.phase = Phase::Closing;
                owner.must_fault = true;
                owner.must_close = true;
                self.expel(id);
                break;
            };
            let socket = if call == Call::Attach { left.next().flatten() } else { None };
            let answer = self.answer(id, tag, call, socket);
            self.owner(id).calls.push((tag, answer));
        }
        self.broker.owner_packet(id, bytes, sockets);
    }

    fn call(&mut self, id: OwnerId) -> Call {
        if self.owner(id).phase == Phase::Silent && !self.tape.once_in(8) {
            let version = if self.tape.once_in(8) { 2 } else { VERSION };
            return Call::Hello { version, name: "o".into() };
        }
        let (kind, which) = (self.tape.below(12), self.tape.byte());
        match kind {
            0 | 1 => Call::SetSessionId { session_id: 1 + u64::from(which % 4), is_held: which < 200 },
            2 | 3 => Call::SetClientGuid { client_guid: Guid([1 + which % 3; 16]), is_held: which < 200 },
            4 | 5 => Call::GetMemParams { slots: u16::from(which % 7) },
            6 | 7 => Call::Listen { is_on: which < 200 },
            8 => Call::SetParameters(Box::new(parameters(which))),
            9 => Call::Hello { version: VERSION, name: "again".into() },
            _ => Call::Attach,
        }
    }

    /// The answer, if it has to come at once.
    fn answer(&mut self, id: OwnerId, tag: u64, call: Call, socket: Option<ConnectionId>) -> Option<Answer> {
        let is_silent = self.owner(id).phase == Phase::Silent;
        if let Call::Hello { version, .. } = call {
            return Some(self.hello(id, is_silent, version));
        }
        if is_silent {
            return Some(Err(Refusal::Order));
        }
        let max = settings().quotas.rules_of_owner_max;
        let done = |result: Result<(), Refusal>| Some(result.map(|()| Reply::Done));
        match call {
            Call::Hello { .. } => None,
            Call::SetSessionId { session_id, is_held } => {
                done(set(&mut self.sessions, session_id, id, is_held, max))
            }
            Call::SetClientGuid { client_guid, is_held } => {
                done(set(&mut self.guids, client_guid.0, id, is_held, max))
            }
            Call::GetMemParams { slots } => self.memory_wanted(id, tag, slots),
            Call::Listen { is_on } => done(self.listen(id, is_on)),
            Call::SetParameters(wanted) => done(self.parameters_wanted(id, &wanted)),
            Call::Attach => self.attach(id, tag, socket).err().map(Err),
        }
    }

    fn hello(&mut self, id: OwnerId, is_silent: bool, version: u32) -> Answer {
        if !is_silent {
            return Err(Refusal::Order);
        }
        if version != VERSION {
            return Err(Refusal::Version);
        }
        self.owner(id).phase = Phase::Present;
        Ok(Reply::Welcome(Welcome { version: VERSION, instance: 1, limits: settings().limits }))
    }

    fn listen(&mut self, id: OwnerId, is_on: bool) -> Result<(), Refusal> {
        match self.acceptor {
            Some(other) if is_on && other != id => return Err(Refusal::Taken),
            other if !is_on && other != Some(id) => return Err(Refusal::NotAcceptor),
            _ => {}
        }
        self.acceptor = is_on.then_some(id);
        self.answers_negotiate &= is_on;
        Ok(())
    }

    fn parameters_wanted(&mut self, id: OwnerId, wanted: &Parameters) -> Result<(), Refusal> {
        if self.acceptor != Some(id) {
            return Err(Refusal::NotAcceptor);
        }
        let most = settings().params;
        let is_allowed = wanted.receive_credit_max <= most.receive_credit_max
            && wanted.send_credit_target <= most.send_credit_target
            && wanted.max_send_size <= most.max_send_size
            && wanted.max_receive_size <= most.max_receive_size
            && wanted.max_fragmented_size <= most.max_fragmented_recv_size
            && wanted.max_read_write_size <= most.max_read_write_size;
        let interval = Duration::from_millis(wanted.keepalive_interval.into());
        let params = Params {
            receive_credit_max: wanted.receive_credit_max,
            send_credit_target: wanted.send_credit_target,
            max_send_size: wanted.max_send_size,
            max_receive_size: wanted.max_receive_size,
            max_fragmented_recv_size: wanted.max_fragmented_size,
            max_read_write_size: wanted.max_read_write_size,
            keepalive: most.keepalive.map(|keepalive| Keepalive { interval, ..keepalive }),
            ..most
        };
        if !is_allowed || Config::try_from(params).is_err() {
            return Err(Refusal::Parameters);
        }
        self.answers_negotiate = wanted.negotiation.is_some();
        Ok(())
    }

    fn memory_wanted(&mut self, id: OwnerId, tag: u64, wanted: u16) -> Option<Answer> {
        let memory = self.memory;
        let owner = self.owner(id);
        if wanted > settings().limits.slots_max || owner.making.is_some() {
            return Some(Err(Refusal::Quota));
        }
        let (first, count) = (owner.slots, wanted.saturating_sub(owner.slots));
        if count == 0 {
            return Some(Ok(Reply::Memory(Memory { first, count, total: first })));
        }
        let memory = memory + u64::from(count) * u64::from(settings().limits.slot_len);
        if memory > settings().quotas.memory_max {
            return Some(Err(Refusal::Quota));
        }
        owner.making = Some((tag, count));
        owner.must_make = true;
        self.memory = memory;
        None
    }

    fn attach(&mut self, id: OwnerId, tag: u64, socket: Option<ConnectionId>) -> Result<(), Refusal> {
        let connection = socket.ok_or(Refusal::NotASocket)?;
        let is_its = self.clients.get(&connection).is_some_and(|client| client.belongs_to(id));
        if !is_its && self.is_full(id) {
            return Err(Refusal::Quota);
        }
        let client = self.clients.get_mut(&connection).ok_or(Refusal::Ended)?;
        if client.stage != Stage::Held {
            return Err(Refusal::Ended);
        }
        if client.moving.is_some() {
            return Err(Refusal::Held);
        }
        client.moving = Some(Move { to: id, cause: Cause::Attach(tag), is_drained: false });
        client.must_drain = true;
        Ok(())
    }
}

fn set<K: Ord>(
    rules: &mut std::collections::BTreeMap<K, OwnerId>,
    key: K,
    id: OwnerId,
    is_held: bool,
    max: usize,
) -> Result<(), Refusal> {
    match rules.get(&key) {
        Some(holder) if *holder != id => Err(if is_held { Refusal::Held } else { Refusal::NotHeld }),
        Some(_) => {
            if !is_held {
                rules.remove(&key);
            }
            Ok(())
        }
        None if !is_held => Err(Refusal::NotHeld),
        None if rules.values().filter(|holder| **holder == id).count() >= max => Err(Refusal::Quota),
        None => {
            rules.insert(key, id);
            Ok(())
        }
    }
}

fn parameters(which: u8) -> Parameters {
    let most = settings().params;
    let negotiation = Negotiation {
        server_guid: Guid([9; 16]),
        security_mode: 1,
        dialect_max: 0x0311,
        capabilities: 0,
        max_transact_size: 65_536,
        max_read_size: 65_536,
        max_write_size: 65_536,
        ciphers: Vec::new(),
        signing: Vec::new(),
        transforms: Vec::new(),
        blob: Vec::new(),
    };
    Parameters {
        receive_credit_max: if which > 230 { u16::MAX } else { most.receive_credit_max },
        send_credit_target: most.send_credit_target,
        max_send_size: most.max_send_size,
        max_receive_size: most.max_receive_size,
        max_fragmented_size: most.max_fragmented_recv_size,
        max_read_write_size: most.max_read_write_size,
        keepalive_interval: 5000,
        negotiation: which.is_multiple_of(2).then_some(negotiation),
    }
}
