//! What owners order on connections.

use smbd_broker::broker::ConnectionId;
use smbd_broker::wire::{Age, Area, Command, Direction, Messages, Packet, Transfer};
use smbd_core::{BufferDescriptorV1, Token};

use super::records::{MAX_READ_WRITE_SIZE, MAX_SEND_SIZE, Running, settings};
use super::world::World;

impl World<'_> {
    /// A packet on a connection: mostly what its owner may order, and a mistake now and then.
    pub fn order(&mut self, id: ConnectionId) {
        let mut packet = Packet::new();
        for _ in 0..=self.tape.below(8) / 6 {
            let number = self.number();
            match self.tape.below(8) {
                0..=3 => self.message(id, number, &mut packet),
                4..=6 => self.transfer(id, number, &mut packet),
                _ if self.tape.once_in(4) => {
                    let within = if self.tape.once_in(2) { u32::MAX } else { 100 };
                    Command::Disconnect { within }.write(&mut packet);
                }
                _ if self.tape.once_in(8) => Command::Taken { count: 7 }.write(&mut packet),
                _ => {
                    let given = self.client(id).socket.as_ref().map_or(0, |socket| socket.given.len());
                    let count = u32::try_from(given).expect("few");
                    if count > 0 {
                        Command::Taken { count }.write(&mut packet);
                    }
                }
            }
        }
        let mut bytes = packet.bytes().to_vec();
        if self.tape.once_in(40) {
            self.damage(&mut bytes);
        }
        self.ordered(id, &bytes);
    }

    fn message(&mut self, id: ConnectionId, number: u64, packet: &mut Packet) {
        let len = match self.tape.byte() {
            len @ 0..=200 => usize::from(len) + 8,
            len if len > 252 => MAX_SEND_SIZE as usize + 1,
            len => usize::from(len) * 10,
        };
        let mut bytes = number.to_le_bytes().to_vec();
        bytes.resize(len, 0xAA);
        let piece = (usize::from(self.tape.byte()) * 16).max(1);
        let mut remaining = bytes.len();
        for piece in bytes.chunks(piece) {
            remaining -= piece.len();
            let command = Command::Send {
                remaining: u32::try_from(remaining).expect("short"),
                invalidate: None,
                bytes: piece,
            };
            if packet.has_room(command.body_len()) {
                command.write(packet);
            }
            // The rest does not come.
            if self.tape.once_in(60) {
                break;
            }
        }
        self.trace(|| format!("{id} sends {len} bytes in pieces of {piece}"));
    }

    /// A message as long as one may be.
    pub fn say_at_length(&mut self, id: ConnectionId) {
        let mut bytes = self.number().to_le_bytes().to_vec();
        bytes.resize(MAX_SEND_SIZE as usize, 0xBB);
        let mut packet = Packet::new();
        Command::Send { remaining: 0, invalidate: None, bytes: &bytes }.write(&mut packet);
        self.trace(|| format!("{id} sends {} bytes", bytes.len()));
        self.ordered(id, packet.bytes());
    }

    fn transfer(&mut self, id: ConnectionId, tag: u64, packet: &mut Packet) {
        let mut areas: Vec<Area> = Vec::new();
        let owner = self.client(id).holder;
        let slots = owner.map_or(0, |owner| self.owners.get(&owner).map_or(0, |owner| owner.slots));
        for _ in 0..=self.tape.below(3) {
            let (which, len) = (self.tape.byte(), self.tape.byte());
            let len = if len > 250 { 4097 } else { u32::from(len) + 1 };
            let slot = if which > 250 { slots } else { u16::from(which) % slots.max(1) };
            let used = owner.and_then(|owner| self.owners.get(&owner)).map(|owner| &owner.used);
            let is_used = used.is_some_and(|used| used.contains(&slot));
            let is_named = areas.iter().any(|area| area.slot == slot);
            // Slots that are not the owner's are a mistake: not too many of these.
            if (is_used || is_named || slot >= slots || len > 4096) && !self.tape.once_in(12) {
                continue;
            }
            areas.push(Area { slot, len });
        }
        if areas.is_empty() {
            return;
        }
        let direction = if self.tape.once_in(2) { Direction::Read } else { Direction::Write };
        let remote = vec![BufferDescriptorV1 { offset: 1, token: Token(2), length: 1 << 16 }];
        self.trace(|| format!("{id} moves {tag}: {areas:?}"));
        Command::Rdma { tag, transfer: Transfer { direction, offset: 0, remote, areas } }.write(packet);
    }

    /// A packet on a connection, whatever is in it.
    pub fn ordered(&mut self, id: ConnectionId, bytes: &[u8]) {
        for message in Messages::of(bytes) {
            if !self.client(id).is_listened_to() {
                break;
            }
            match message.and_then(|message| Command::parse(&message)) {
                Ok(Command::Send { remaining, bytes, .. }) => self.sends(id, remaining, bytes),
                Ok(Command::Taken { count }) => self.takes_given(id, count as usize),
                Ok(_) if self.client(id).begun.is_some() => self.end(id),
                Ok(Command::Rdma { tag, transfer }) => self.moves(id, tag, transfer),
                Ok(Command::Disconnect { .. }) | Err(_) => self.end(id),
            }
        }
        self.broker.packet(id, bytes);
    }

    fn takes_given(&mut self, id: ConnectionId, count: usize) {
        let given = self.client(id).socket.as_mut().map(|socket| &mut socket.given);
        match given {
            Some(given) if count <= given.len() => drop(given.drain(..count)),
            _ => self.end(id),
        }
    }

    fn sends(&mut self, id: ConnectionId, remaining: u32, bytes: &[u8]) {
        let limits = settings().limits;
        let client = self.client(id);
        let all = u64::from(remaining) + bytes.len() as u64;
        let mut message = match client.begun.take() {
            Some((begun, missing)) if u64::from(missing) == all => begun,
            None if all <= MAX_SEND_SIZE.into() => Vec::new(),
            _ => return self.end(id),
        };
        message.extend_from_slice(bytes);
        if remaining > 0 {
            client.begun = Some((message, remaining));
            return;
        }
        let own = client.transport.iter().filter(|(_, is_own)| *is_own);
        let (count, len) = own.fold((0, 0), |(count, sum), (len, _)| (count + 1, sum + len));
        if count >= usize::from(limits.sends_max) || len >= limits.send_bytes_max as usize {
            return self.end(id);
        }
        client.transport.push_back((message.len(), true));
        client.orders.push_back(message.clone());
        if client.is_open && client.remember(Age::PastResponse, message) {
            self.end(id);
        }
    }

    fn moves(&mut self, id: ConnectionId, tag: u64, transfer: Transfer) {
        let limits = settings().limits;
        let client = self.client(id);
        let count = client.transfers.len() + client.starting.len();
        let owner = client.holder.expect("somebody has it");
        let holder = self.owner(owner);
        let mut named = std::collections::BTreeSet::new();
        let are_its = transfer.areas.iter().all(|area| {
            area.slot < holder.slots
                && area.len <= limits.slot_len
                && !holder.used.contains(&area.slot)
                && named.insert(area.slot)
        });
        let is_short = transfer.len() <= MAX_READ_WRITE_SIZE.into();
        if !are_its || !is_short || count >= usize::from(limits.transfers_max) {
            return self.end(id);
        }
        holder.used.extend(named);
        self.client(id).starting.push_back(Running { owner, tag, areas: transfer.areas });
    }
}
