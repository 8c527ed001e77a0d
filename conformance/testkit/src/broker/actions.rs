//! Whether what a broker does is what it has to do.

use smbd_broker::broker::{Action, Attachment, ConnectionId, OwnerId, TransferId};
use smbd_broker::wire::{Age, Answer, Area, Event, Memory, Messages, Newcomer, Notice, Packet, Reply};

use super::records::{Client, Done, GIVEN_MIN, Owner, Phase, Running, Socket, WITHIN_MAX, law};
use super::world::World;

impl World<'_> {
    pub fn acts(&mut self, action: Action) -> Done {
        match action {
            Action::Log(log) => {
                self.trace(|| format!("    {log:?}"));
                Ok(())
            }
            Action::ToOwner { owner, packet, attachment } => self.told_owner(owner, &packet, attachment),
            Action::CloseOwner(id) => {
                let must = std::mem::take(&mut self.owner_of("isolation", id)?.must_close);
                law("isolation", must, || format!("{id} is closed"))
            }
            Action::MakeMemory { owner: id, first, count } => {
                let owner = self.owner_of("memory", id)?;
                let must =
                    std::mem::take(&mut owner.must_make) && owner.making.is_some_and(|(_, is)| is == count);
                law("memory", must && first == owner.slots, || {
                    format!("{count} slots from {first} on for {id}")
                })
            }
            Action::FreeMemory(id) => self.freed(id),
            Action::ToSocket { connection, packet } => self.told(connection, &packet),
            Action::CloseSocket(id) => self.socket_ends(id),
            Action::DrainSocket(id) => {
                let must = std::mem::take(&mut self.client_of(id)?.must_drain);
                law("moves", must, || format!("the socket of {id} is read for nobody"))
            }
            Action::Negotiate { connection, request } => {
                let must = self.client_of(connection)?.must_negotiate.take();
                law("messages", must.as_deref() == Some(&request[..]), || {
                    format!("{connection}: NEGOTIATE to be answered")
                })
            }
            Action::Send { connection, message, .. } => self.sent_to_client(connection, &message),
            Action::Transfer { connection, id, owner, areas, .. } => {
                self.starts(connection, id, owner, &areas)
            }
            Action::Disconnect { connection, within } => {
                law("bounds", within <= WITHIN_MAX, || format!("{connection} ends in {within} ms"))?;
                let client = self.client_of(connection)?;
                let must = std::mem::take(&mut client.must_end) && !client.is_disconnected;
                client.is_disconnected = true;
                law("isolation", must, || format!("{connection} is disconnected without a reason"))
            }
        }
    }

    fn client_of(&mut self, id: ConnectionId) -> Done<&mut Client> {
        self.clients.get_mut(&id).ok_or_else(|| Self::breach("last", format!("{id} is over")))
    }

    fn owner_of(&mut self, law: &'static str, id: OwnerId) -> Done<&mut Owner> {
        self.owners.get_mut(&id).ok_or_else(|| Self::breach(law, format!("{id} is over")))
    }

    fn told_owner(&mut self, id: OwnerId, packet: &Packet, attachment: Option<Attachment>) -> Done {
        for message in Messages::of(packet.bytes()) {
            let message = message.map_err(|error| Self::breach("packets", error.to_string()))?;
            let answer =
                Answer::parse(&message).map_err(|error| Self::breach("packets", error.to_string()))?;
            if let Some(answer) = answer {
                self.answered(id, answer, attachment)?;
                continue;
            }
            let notice =
                Notice::parse(&message).map_err(|error| Self::breach("packets", error.to_string()))?;
            self.noticed(id, notice.ok_or_else(|| Self::breach("packets", "no notice"))?, attachment)?;
        }
        Ok(())
    }

    fn answered(&mut self, id: OwnerId, answer: Answer, attachment: Option<Attachment>) -> Done {
        self.trace(|| format!("    {id} <- {answer:?} {attachment:?}"));
        let owner = self.owner_of("last", id)?;
        law("last", !owner.is_over, || format!("{answer:?} behind the end of {id}"))?;
        let Answer { tag, result } = answer;
        let at = owner.calls.iter().position(|call| *call == (tag, Some(result)));
        let Some(at) = at else {
            return Err(Self::breach(
                "calls",
                format!("{answer:?} for {id}, which has asked {:?}", owner.calls),
            ));
        };
        owner.calls.remove(at);
        let expected = match result {
            Ok(Reply::Memory(Memory { first, count, .. })) if count > 0 => {
                Some(Attachment::Memory { owner: id, first })
            }
            Ok(Reply::Attached { connection }) => Some(Attachment::Socket(ConnectionId(connection))),
            _ => None,
        };
        law("isolation", attachment == expected, || format!("{attachment:?} with {answer:?} for {id}"))?;
        if let Ok(Reply::Attached { connection }) = result {
            let client = self.client_of(ConnectionId(connection))?;
            law("moves", client.socket.is_none(), || format!("a second socket of {connection}"))?;
            client.socket = Some(Socket::default());
        }
        Ok(())
    }

    fn noticed(&mut self, id: OwnerId, notice: Notice, attachment: Option<Attachment>) -> Done {
        self.trace(|| format!("    {id} <- {notice:?}"));
        let owner = self.owner_of("last", id)?;
        match notice {
            Notice::Fault { .. } => {
                let must = std::mem::take(&mut owner.must_fault);
                owner.is_over = true;
                law("isolation", must, || format!("{id} is told that it did wrong"))
            }
            Notice::Moved { connection } => {
                law("last", !owner.is_over, || format!("MOVED behind the end of {id}"))?;
                let client = self.client_of(ConnectionId(connection))?;
                let must = client.must_tell_moved.take();
                law("moves", must == Some(id), || format!("{id} is told that {connection} has moved"))
            }
            Notice::New(new) => {
                law("last", !owner.is_over, || format!("NEW behind the end of {id}"))?;
                self.comes(id, &new, attachment)
            }
        }
    }

    fn comes(&mut self, id: OwnerId, new: &Newcomer, attachment: Option<Attachment>) -> Done {
        let connection = ConnectionId(new.connection);
        let client = self.client_of(connection)?;
        let must = client.must_come.take();
        law("routing", must == Some((id, new.rule)), || {
            format!("{connection} comes to {id} by {:?}, and has to come to {must:?}", new.rule)
        })?;
        law("moves", client.socket.is_none(), || format!("a second socket of {connection}"))?;
        law("isolation", attachment == Some(Attachment::Socket(connection)), || format!("{attachment:?}"))?;
        let past = std::mem::take(&mut client.past);
        let is_negotiated = past.iter().any(|(age, _)| *age == Age::PastResponse);
        law("past", new.is_negotiated == is_negotiated, || format!("{connection}: {is_negotiated}"))?;
        client.socket = Some(Socket { past: past.into(), ..Socket::default() });
        Ok(())
    }

    fn freed(&mut self, id: OwnerId) -> Done {
        let owner = self.owner_of("memory", id)?;
        let may = owner.must_free && owner.phase == Phase::Gone && owner.used.is_empty();
        law("memory", may, || format!("that of {id} is freed: {owner:?}"))?;
        let bytes = u64::from(owner.slots) * 4096;
        self.memory -= bytes;
        self.owners.remove(&id);
        Ok(())
    }

    fn sent_to_client(&mut self, id: ConnectionId, message: &[u8]) -> Done {
        let client = self.client_of(id)?;
        law("order", !client.is_disconnected, || format!("a message behind the end of {id}"))?;
        let first = client.orders.pop_front();
        law("messages", first.as_deref() == Some(message), || {
            format!(
                "{id}: {} bytes are sent, and {:?} have to be",
                message.len(),
                first.map(|first| first.len())
            )
        })
    }

    fn starts(&mut self, id: ConnectionId, transfer: TransferId, owner: OwnerId, areas: &[Area]) -> Done {
        self.trace(|| format!("    {id} {transfer:?} {areas:?}"));
        let client = self.client_of(id)?;
        law("order", !client.is_disconnected, || format!("a transfer behind the end of {id}"))?;
        let running = client.starting.pop_front();
        let is_it = running.as_ref().is_some_and(|running| running.owner == owner && running.areas == areas);
        law("slots", is_it, || format!("{id} uses {areas:?} of {owner}, and {running:?} has to begin"))?;
        if let Some(running) = running {
            let before = client.transfers.insert(transfer, running);
            law("transfers", before.is_none(), || format!("{transfer:?} a second time"))?;
        }
        Ok(())
    }

    /// The owner's socket of a connection is closed: nothing comes any more.
    fn socket_ends(&mut self, id: ConnectionId) -> Done {
        self.trace(|| format!("    the socket of {id} is closed"));
        let client = self.client_of(id)?;
        let must = std::mem::take(&mut client.must_close);
        law("moves", must, || format!("the socket of {id} is closed without a reason"))?;
        let socket = client.socket.take();
        let Some(socket) = socket else { return Err(Self::breach("moves", format!("{id} has no socket"))) };
        law("last", !client.is_ended || socket.is_lost, || format!("{id} is over, and nobody was told"))?;
        // Whoever has closed it itself is told nothing.
        let is_owed = client.is_ended || !client.must_end;
        let is_all = socket.done.is_empty() && socket.sent == 0 && client.transfers.is_empty();
        law("transfers", !is_owed || is_all, || format!("{id}: {socket:?} was not told"))
    }

    fn told(&mut self, id: ConnectionId, packet: &Packet) -> Done {
        let mut events = Vec::new();
        for message in Messages::of(packet.bytes()) {
            let event = message.and_then(|message| Event::parse(&message));
            events.push(event.map_err(|error| Self::breach("packets", error.to_string()))?);
        }
        for event in events {
            self.trace(|| match &event {
                Event::Received { age, remaining, bytes } => {
                    format!("    {id} <- {age:?} {} and {remaining}", bytes.len())
                }
                other => format!("    {id} <- {other:?}"),
            });
            self.event(id, event)?;
        }
        Ok(())
    }

    fn event(&mut self, id: ConnectionId, event: Event<'_>) -> Done {
        let client = self.client_of(id)?;
        let Client { socket: Some(socket), pending, transfers, is_ended, .. } = client else {
            return Err(Self::breach("last", format!("{event:?} for {id}, which has no socket")));
        };
        law("last", !socket.is_lost, || format!("{event:?} behind LOST of {id}"))?;
        match event {
            Event::Received { age, remaining, bytes } => {
                socket.begun.extend_from_slice(bytes);
                if remaining > 0 {
                    return Ok(());
                }
                let message = std::mem::take(&mut socket.begun);
                if age == Age::New {
                    law("past", socket.past.is_empty(), || format!("{id}: {:?} is left", socket.past))?;
                    let first = pending.pop_front();
                    socket.given.push_back(message.len().max(GIVEN_MIN));
                    return law("messages", first.as_ref().is_some_and(|first| *first == message), || {
                        format!("{id}: {message:02x?} comes, and {first:02x?} has to come")
                    });
                }
                let first = socket.past.pop_front();
                let is_it = first.as_ref().is_some_and(|(is, first)| *is == age && *first == message);
                law("past", is_it, || {
                    format!("{id}: {age:?} of {} bytes, {first:?} has to come", message.len())
                })
            }
            Event::Sent { count } => {
                let is_it = count > 0 && count == socket.sent;
                law("sent", is_it, || format!("{id}: {count} of {}", socket.sent))?;
                socket.sent -= count;
                socket.sent_len = 0;
                Ok(())
            }
            Event::RdmaDone { tag, is_success } => {
                let at = socket.done.iter().position(|done| *done == (tag, is_success));
                law("transfers", at.is_some(), || format!("{id}: {tag} of {:?}", socket.done))?;
                at.map(|at| socket.done.remove(at));
                Ok(())
            }
            Event::Invalidated { .. } => Err(Self::breach("isolation", "a token that nobody has")),
            Event::Lost { .. } => {
                let running: Vec<&Running> = transfers.values().collect();
                let is_all = running.is_empty() && socket.done.is_empty();
                law("transfers", is_all, || {
                    format!("{id} is lost before {:?} and {running:?}", socket.done)
                })?;
                law("last", *is_ended, || format!("{id} is lost before its end"))?;
                law("sent", socket.sent == 0, || format!("{id} is lost before {} were told", socket.sent))?;
                socket.is_lost = true;
                Ok(())
            }
        }
    }
}
