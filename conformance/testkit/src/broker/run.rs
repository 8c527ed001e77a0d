//! One thing after the other, in the order of a tape.

use smbd_broker::broker::{ConnectionId, TransferId};
use smbd_broker::wire::{Age, Limits, Memory, Refusal, Reply};
use std::time::Duration;

use super::records::{Done, Owner, Phase, Socket, Stage, law, settings};
use super::world::World;

impl World<'_> {
    /// Until the tape is over; then everything ends, and nothing may be left.
    pub fn run(&mut self) -> Done {
        // An owner that takes everything, as in all use.
        self.joins()?;
        while !self.tape.is_over() {
            let is_late = self.step()?;
            if !is_late {
                self.done()?;
            }
        }
        self.done()?;
        self.end_all()
    }

    /// Returns whether what is to be done may be asked for later.
    fn step(&mut self) -> Done<bool> {
        match self.tape.below(32) {
            0 => self.joins()?,
            1..=6 => {
                if let Some(owner) = self.an_owner(|owner| owner.phase != Phase::Gone) {
                    self.ask(owner);
                }
            }
            7 if self.tape.once_in(6) => {
                if let Some(owner) = self.an_owner(|owner| owner.phase != Phase::Gone) {
                    self.leaves(owner);
                }
            }
            7 if self.tape.once_in(5) => self.noise(),
            8 | 9 => self.connect()?,
            10..=13 => {
                if let Some(client) = self.a_client(super::records::Client::wants_message) {
                    self.say(client);
                }
            }
            14..=19 => {
                if let Some(client) = self.a_client(|client| client.socket.is_some()) {
                    self.order(client);
                }
            }
            20..=22 => return Ok(self.takes()),
            23..=25 => self.completes(),
            26 => self.lapses()?,
            27 => self.makes(),
            28 => self.drains(),
            29 => self.negotiates(),
            30 if self.tape.once_in(4) => {
                if let Some(client) = self.a_client(|client| client.socket.is_some()) {
                    self.closes(client);
                }
            }
            31 if self.tape.once_in(2) => self.chats()?,
            31 => self.invents(),
            _ => {
                if let Some(client) = self.a_client(|_| true).filter(|_| self.tape.once_in(2)) {
                    self.ends(client);
                }
            }
        }
        Ok(false)
    }

    fn joins(&mut self) -> Done {
        let id = self.broker.owner_joined();
        self.trace(|| format!("joined: {id:?}"));
        let has_place = self.owners.len() < settings().quotas.owners_max;
        law("bounds", id.is_some() == has_place, || format!("{id:?} of {}", self.owners.len()))?;
        if let Some(id) = id {
            let before = self.owners.insert(id, Owner::new());
            law("isolation", before.is_none(), || format!("{id} a second time"))?;
        }
        Ok(())
    }

    fn leaves(&mut self, id: smbd_broker::broker::OwnerId) {
        self.trace(|| format!("{id} leaves"));
        let owner = self.owner(id);
        owner.phase = Phase::Gone;
        owner.is_over = true;
        owner.calls.clear();
        self.expel(id);
        self.frees(id);
        self.broker.owner_left(id);
    }

    /// An owner says more before SESSION_SETUP than a broker keeps, or nearly so.
    fn chats(&mut self) -> Done {
        let can = |client: &super::records::Client| client.is_open && client.is_listened_to();
        let Some(id) = self.a_client(can) else { return Ok(()) };
        for _ in 0..self.tape.below(32) {
            if !self.clients.get(&id).is_some_and(can) {
                break;
            }
            self.say_at_length(id);
            self.done()?;
            if self.clients.get(&id).is_some_and(|client| !client.transport.is_empty()) {
                self.taken(id);
                self.done()?;
            }
        }
        Ok(())
    }

    /// The transport takes a message.
    fn takes(&mut self) -> bool {
        let Some(id) = self.a_client(|client| !client.transport.is_empty()) else { return false };
        self.taken(id)
    }

    fn taken(&mut self, id: ConnectionId) -> bool {
        self.trace(|| format!("{id}: a message is taken"));
        let client = self.client(id);
        if let (Some((len, true)), Some(socket)) = (client.transport.pop_front(), &mut client.socket) {
            socket.sent += 1;
            socket.sent_len += len;
        }
        let is_late = client.moving.is_none();
        self.goes(id);
        self.broker.sent(id);
        is_late && self.tape.once_in(3)
    }

    fn completes(&mut self) {
        let Some(id) = self.a_client(|client| !client.transfers.is_empty()) else { return };
        let transfers: Vec<_> = self.client(id).transfers.keys().copied().collect();
        let Some(transfer) = self.tape.pick(&transfers) else { return };
        let is_success = !self.tape.once_in(4);
        self.trace(|| format!("{id}: {transfer:?} is done, {is_success}"));
        if let Some(running) = self.client(id).transfers.remove(&transfer) {
            self.transferred(id, running, is_success);
        }
        self.broker.transfer_done(id, transfer, is_success);
    }

    fn lapses(&mut self) -> Done {
        let by = Duration::from_secs(u64::from(self.tape.byte() % 8));
        self.now = self.now.saturating_add(by);
        let waits = |stage: Stage| matches!(stage, Stage::Waiting { .. });
        let first =
            self.clients.values().filter(|client| waits(client.stage)).map(|client| client.until).min();
        let deadline = self.broker.deadline();
        law("bounds", deadline == first, || format!("the next deadline is {first:?}, not {deadline:?}"))?;
        let now = self.now;
        let late = self.clients.iter().filter(|(_, client)| waits(client.stage) && client.until <= now);
        let late: Vec<_> = late.map(|(id, _)| *id).collect();
        for id in late {
            self.end(id);
        }
        self.broker.timeout(now);
        Ok(())
    }

    fn makes(&mut self) {
        let Some(id) = self.an_owner(|owner| owner.making.is_some()) else { return };
        let is_made = !self.tape.once_in(4);
        self.trace(|| format!("{id}: memory, {is_made}"));
        let owner = self.owner(id);
        if let Some((tag, count)) = owner.making.take() {
            let first = owner.slots;
            if is_made {
                owner.slots += count;
                let total = owner.slots;
                owner.answers(tag, Ok(Reply::Memory(Memory { first, count, total })));
            } else {
                owner.answers(tag, Err(Refusal::Memory));
                self.memory -= u64::from(count) * u64::from(settings().limits.slot_len);
            }
        }
        self.frees(id);
        self.broker.memory_made(id, is_made);
    }

    fn drains(&mut self) {
        let Some(id) = self.a_client(|client| client.moving.is_some_and(|moving| !moving.is_drained)) else {
            return;
        };
        self.trace(|| format!("{id} is drained"));
        self.drained(id);
        self.broker.drained(id);
    }

    fn drained(&mut self, id: ConnectionId) {
        if let Some(moving) = &mut self.client(id).moving {
            moving.is_drained = true;
        }
        self.goes(id);
    }

    fn negotiates(&mut self) {
        let Some(id) = self.a_client(|client| client.stage == Stage::Waiting { is_answering: true }) else {
            return;
        };
        let number = self.number();
        let response = (!self.tape.once_in(8)).then(|| number.to_be_bytes().to_vec());
        self.trace(|| format!("{id}: NEGOTIATE is answered, {response:?}"));
        let client = self.client(id);
        client.stage = Stage::Waiting { is_answering: false };
        match &response {
            None => self.end(id),
            Some(response) => {
                client.transport.push_back((response.len(), false));
                client.orders.push_back(response.clone());
                if client.remember(Age::PastResponse, response.clone()) {
                    self.end(id);
                }
            }
        }
        self.broker.negotiated(id, response.map(Into::into));
    }

    /// An owner closes the socket of a connection.
    fn closes(&mut self, id: ConnectionId) {
        self.trace(|| format!("the owner closes the socket of {id}"));
        let client = self.client(id);
        if client.moving.is_some() {
            self.drained(id);
        } else if client.stage == Stage::Held {
            client.must_close = true;
            self.end(id);
        }
        self.broker.socket_closed(id);
    }

    /// A packet of bytes that come as they like.
    fn noise(&mut self) {
        let len = self.tape.byte() % 64;
        let bytes: Vec<u8> = (0..len).map(|_| self.tape.byte()).collect();
        self.trace(|| format!("noise: {bytes:02x?}"));
        if self.tape.once_in(2) {
            if let Some(owner) = self.an_owner(|owner| owner.phase != Phase::Gone) {
                let sockets = [self.a_client(|_| true)];
                self.asked(owner, &bytes, &sockets);
            }
        } else if let Some(client) = self.a_client(|client| client.socket.is_some()) {
            self.ordered(client, &bytes);
        }
    }

    /// What has not happened.
    fn invents(&mut self) {
        let number = u64::from(self.tape.byte());
        let (connection, transfer) = (ConnectionId(1000 + number), TransferId(u64::MAX - number));
        self.broker.transfer_done(connection, transfer, true);
        self.broker.sent(connection);
        self.broker.drained(connection);
        self.broker.negotiated(connection, None);
        self.broker.socket_closed(connection);
        self.broker.packet(connection, b"noise");
        self.broker.ended(connection, String::new());
        self.broker.received(connection, b"noise".to_vec().into());
        self.broker.memory_made(smbd_broker::broker::OwnerId(1000 + number), true);
        self.broker.owner_packet(smbd_broker::broker::OwnerId(1000 + number), b"noise", &[]);
        self.broker.owner_left(smbd_broker::broker::OwnerId(1000 + number));
        if let Some(id) = self.a_client(|_| true) {
            self.broker.transfer_done(id, transfer, true);
        }
    }

    /// A connection ends, with all that is under way.
    fn ends(&mut self, id: ConnectionId) {
        self.trace(|| format!("{id} ends"));
        self.refuse_mover(id);
        let client = self.client(id);
        client.stage = Stage::Ending;
        client.is_ended = true;
        client.must_close = client.socket.is_some();
        let transfers: Vec<_> = std::mem::take(&mut client.transfers).into_values().collect();
        for running in transfers {
            self.transferred(id, running, false);
        }
        self.broker.ended(id, "over".into());
    }

    /// All that is to be done is done, and nothing that has to be done is missing.
    fn done(&mut self) -> Done {
        while let Some(action) = self.broker.poll() {
            self.acts(action)?;
        }
        self.clients_are_right()?;
        self.owners_are_right()?;
        let memory = self.broker.memory();
        let is_it = memory == self.memory && memory <= settings().quotas.memory_max;
        law("memory", is_it, || format!("{memory}, not {}", self.memory))?;
        let counts = (self.broker.owners(), self.broker.connections());
        let expected = (self.owners.len(), self.clients.len());
        law("bounds", counts == expected, || {
            format!("owners and connections: {counts:?}, not {expected:?}")
        })?;
        let takes = self.acceptor.is_some() || !self.sessions.is_empty() || !self.guids.is_empty();
        law("routing", self.broker.takes_connections() == takes, || {
            format!("connections are taken: {takes}")
        })?;
        let answers = self.broker.negotiation().is_some();
        law("isolation", answers == self.answers_negotiate, || format!("NEGOTIATE is answered: {answers}"))
    }

    fn clients_are_right(&mut self) -> Done {
        self.clients.retain(|_, client| !client.is_ended || client.must_close || client.must_end);
        for (id, client) in &self.clients {
            law("mistakes", !client.must_end, || format!("{id} is not ended"))?;
            let is_quiet = client.must_come.is_none() && client.must_negotiate.is_none();
            law("routing", is_quiet, || format!("{id} has to come to {:?}", client.must_come))?;
            let is_quiet = !client.must_drain && !client.must_close && client.must_tell_moved.is_none();
            law("moves", is_quiet, || format!("{id} does not go: {client:?}"))?;
            law("messages", client.orders.is_empty(), || format!("{id}: {:?} is not sent", client.orders))?;
            law("slots", client.starting.is_empty(), || format!("{id}: {:?} is not begun", client.starting))?;
            let wants = self.broker.wants_message(*id);
            law("messages", wants == client.wants_message(), || format!("{id} wants one: {wants}"))?;
            if let Some(Socket { past, done, sent, sent_len, .. }) = &client.socket {
                law("past", past.is_empty(), || format!("{id}: {past:?} is not told"))?;
                let is_told = client.pending.is_empty() || client.moving.is_some();
                law("messages", is_told, || format!("{id}: {:?} is not told", client.pending))?;
                law("transfers", done.is_empty(), || format!("{id}: {done:?} is not told"))?;
                let Limits { sends_max, send_bytes_max, .. } = settings().limits;
                let is_half = *sent >= u32::from(sends_max / 2) || *sent_len >= send_bytes_max as usize / 2;
                law("sent", *sent == 0 || !is_half, || format!("{id}: {sent} are not told"))?;
            }
        }
        Ok(())
    }

    fn owners_are_right(&self) -> Done {
        for (id, owner) in &self.owners {
            let is_told = !owner.must_fault && !owner.must_close;
            law("mistakes", is_told, || format!("{id} did wrong, and is not told"))?;
            law("memory", !owner.must_make && !owner.must_free, || format!("that of {id}: {owner:?}"))?;
            let left = owner.calls.iter().find(|(_, answer)| answer.is_some());
            law("calls", left.is_none(), || format!("{id} has no answer: {left:?}"))?;
            let waiting = owner.calls.len();
            let attaching = self.clients.values().filter(|client| {
                client.moving.is_some_and(|moving| {
                    moving.to == *id && matches!(moving.cause, super::records::Cause::Attach(_))
                })
            });
            let expected = attaching.count() + usize::from(owner.making.is_some());
            let is_it = if owner.is_there() { waiting == expected } else { waiting == 0 };
            law("calls", is_it, || format!("{waiting} calls of {id} wait, not {expected}"))?;
        }
        Ok(())
    }

    fn end_all(&mut self) -> Done {
        let clients: Vec<_> = self.clients.keys().copied().collect();
        for id in clients {
            self.ends(id);
            self.done()?;
        }
        while let Some(id) = self.an_owner(|owner| owner.making.is_some()) {
            self.trace(|| format!("memory of {id} at the end"));
            self.makes();
            self.done()?;
        }
        let owners: Vec<_> = self.owners.keys().copied().collect();
        for id in owners {
            if self.owner(id).phase != Phase::Gone {
                self.leaves(id);
            }
            self.done()?;
        }
        let left = (self.broker.owners(), self.broker.connections(), self.broker.memory());
        law("memory", left == (0, 0, 0), || format!("owners, connections, bytes: {left:?} are left"))?;
        law("memory", self.broker.poll().is_none() && self.broker.deadline().is_none(), || "something".into())
    }
}
