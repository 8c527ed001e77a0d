//! What an owner does with its connections.

use std::collections::VecDeque;
use std::task::Context;

use bytes::Bytes;
use smbd_broker::owner::{Happened, SendError, TransferError};
use smbd_broker::wire::{AREAS_MAX, Age, Call, Direction, Transfer};
use smbd_smb2::wire::{Command, Header};

use super::asked::Asked;
use super::held::{Came, Held, Moving, Todo};
use super::{Mail, Owner, mischief};
use crate::words::{Answer, Kind, Request, key, pattern};
use smbd_testkit::{Breach, law};

/// How long what was ordered may take when a connection is ended, in milliseconds.
const END_WITHIN: u32 = 60_000;

impl Owner {
    /// Goes on with all connections. Whether something has happened.
    pub(super) fn work(&mut self, cx: &mut Context<'_>) -> bool {
        let mut any = false;
        let mut all = std::mem::take(&mut self.held);
        for held in &mut all {
            let done = self.go_on(held, cx);
            match done {
                Ok(more) => any |= more,
                Err(breach) => {
                    let connection = held.connection;
                    self.shared
                        .notes
                        .judge(Err(format!("{breach} (connection {connection}, owner {})", self.number)));
                }
            }
        }
        all.retain(|held| !held.is_over);
        self.held.append(&mut all);
        any |= self.hand_over();
        any
    }

    fn go_on(&mut self, held: &mut Held, cx: &mut Context<'_>) -> Result<bool, Breach> {
        let mut any = self.read(held, cx)?;
        if held.is_over {
            return Ok(true);
        }
        if !held.is_attaching {
            any |= self.act(held)?;
            self.misbehave(held);
            any |= held.line.flush(cx);
            if held.is_closing && held.line.outgoing.is_empty() {
                held.is_over = true;
                return Ok(true);
            }
        }
        if !any {
            held.line.take(usize::MAX);
            any |= !held.is_attaching && held.line.flush(cx);
        }
        Ok(any)
    }

    /// Reads what has come, the old socket first.
    fn read(&mut self, held: &mut Held, cx: &mut Context<'_>) -> Result<bool, Breach> {
        if held.is_between {
            return Ok(false);
        }
        let line = held.old.as_mut().unwrap_or(&mut held.line);
        let is_strict = self.plan.mischief.is_none() && !line.is_changed;
        match line.read(cx, is_strict)? {
            Came::Nothing => Ok(false),
            Came::Events(events) => {
                for event in events {
                    self.on(held, event)?;
                }
                Ok(true)
            }
            Came::End => {
                self.on_end(held)?;
                Ok(true)
            }
        }
    }

    /// The socket has ended.
    fn on_end(&mut self, held: &mut Held) -> Result<(), Breach> {
        let is_gone = self.shared.instance() != self.instance;
        let is_attached = held.old.is_some();
        let line = held.old.as_mut().unwrap_or(&mut held.line);
        let (unsent, running) = (line.machine.unsent(), line.machine.transfers());
        let is_quiet = unsent == 0 && running == 0;
        let may_be = is_gone || self.plan.mischief.is_some() || line.is_changed;
        law!(
            "results",
            is_quiet || may_be,
            "its socket ends, {unsent} messages and {running} transfers are open"
        );
        if is_attached || held.is_attaching {
            law!("messages", !line.is_amid || may_be, "the former socket ends amid a message");
            held.is_between = held.is_attaching;
            held.old = None;
        } else {
            self.step(|| format!("the socket of connection {} ends", held.connection));
            held.is_over = true;
        }
        Ok(())
    }

    fn on(&mut self, held: &mut Held, event: Happened) -> Result<(), Breach> {
        match event {
            Happened::Message { age: Age::New, bytes } => self.on_message(held, &bytes),
            Happened::Message { age, bytes } => {
                let (is_request, at) = held.note_past(age);
                let mut ledger = self.shared.ledger.borrow_mut();
                let record = ledger.connections.entry(held.connection).or_default();
                record.past(is_request, at, &bytes)?;
                if is_request {
                    held.next = at + 1;
                }
                Ok(())
            }
            Happened::Sent { .. } | Happened::Invalidated { .. } => Ok(()),
            Happened::Done { tag, areas, is_success } => {
                let Some(moving) = held.running.remove(&tag) else { return Ok(()) };
                self.on_done(held, &moving, &areas, is_success)
            }
            Happened::Lost { why } => {
                let line = held.old.as_ref().unwrap_or(&held.line);
                let open = line.machine.transfers();
                let is_done = open == 0 || self.plan.mischief.is_some();
                law!("results", is_done, "the connection is lost, and {open} transfers have no result");
                self.step(|| format!("connection {} is lost: {why}", held.connection));
                held.is_over = true;
                Ok(())
            }
        }
    }

    fn on_message(&mut self, held: &mut Held, bytes: &[u8]) -> Result<(), Breach> {
        let at = held.next;
        held.next += 1;
        {
            let mut ledger = self.shared.ledger.borrow_mut();
            let record = ledger.connections.entry(held.connection).or_default();
            if !held.is_introduced {
                record.introduced(held.past[0], held.past[1], at)?;
            }
            record.got(at, bytes)?;
            // What is in a former socket was given to the former owner.
            if held.old.is_none() && !held.is_attaching {
                ledger.routed(held.connection, self.number, at)?;
            }
        }
        held.is_introduced = true;
        self.step(|| format!("gets message {at} of connection {}, {} bytes", held.connection, bytes.len()));
        self.shared.notes.count("messages of clients");
        if let Some(limits) = &self.limits {
            let line = held.old.as_mut().unwrap_or(&mut held.line);
            line.add_untaken(bytes.len(), limits)?;
        }
        if let Some(todo) = todo(held.connection, bytes) {
            let due = self.shared.notes.soon(&mut self.chance, self.plan.thinks);
            let due = held.todo.back().map_or(due, |(before, _)| due.max(*before));
            let ends = match &todo {
                Todo::Say(..) => Request::parse(bytes).map(|request| request.kind),
                _ => None,
            };
            held.todo.push_back((due, todo));
            match ends {
                Some(Kind::Close) => held.todo.push_back((due, Todo::End(false))),
                Some(Kind::Disconnect) => held.todo.push_back((due, Todo::End(true))),
                _ => {}
            }
        }
        if self.chance.one_in(4) {
            let count = self.chance.size(1, 4);
            held.line.take(if held.old.is_none() && !held.is_attaching { count } else { 0 });
        }
        Ok(())
    }

    fn on_done(
        &mut self,
        held: &mut Held,
        moving: &Moving,
        areas: &[smbd_broker::wire::Area],
        is_success: bool,
    ) -> Result<(), Breach> {
        let Moving { request, len, owner } = moving;
        self.step(|| {
            format!(
                "has moved for request {} of connection {}: {is_success}",
                request.number, held.connection
            )
        });
        self.shared.notes.count("transfers");
        let is_hostile = self.shared.ledger.borrow().is_hostile(held.connection);
        let is_sound = !is_hostile && self.plan.mischief.is_none();
        law!(
            "results",
            is_success || !is_sound || !self.shared.plan.is_gentle,
            "request {}: nothing was wrong, and the transfer has failed",
            request.number
        );
        if is_success && areas.len() == AREAS_MAX {
            self.shared.notes.count("transfers over 64 areas");
        }
        if *owner != self.number {
            // Whose slots they are knows what has to be in them. It may be gone.
            self.shared.give(*owner, Mail::Slots(areas.to_vec()));
        } else if let Some(memory) = &mut self.memory {
            let read = memory.back(areas)?;
            if !is_sound {
                // It may have named anything.
            } else if is_success && request.kind == Kind::Read {
                let all =
                    pattern(key(held.connection, request.number, b'R'), (request.offset + len) as usize);
                let expected = &all[request.offset as usize..];
                law!(
                    "isolation",
                    read == expected,
                    "request {}: what was read is not the client's",
                    request.number
                );
                self.shared.notes.add("bytes read by RDMA", u64::from(*len));
            } else if is_success {
                self.shared.notes.add("bytes written by RDMA", u64::from(*len));
            }
            if self.chance.one_in(4) {
                memory.check()?;
            }
        }
        let moved = if is_success { *len } else { 0 };
        let answer = Answer { number: request.number, is_success, moved };
        let bytes = said(held.connection, request, answer);
        let token =
            request.remote.first().map(|first| first.token).filter(|_| request.invalidates && is_success);
        held.todo.push_front((self.now(), Todo::Say(bytes, token)));
        Ok(())
    }

    /// Does what is due.
    fn act(&mut self, held: &mut Held) -> Result<bool, Breach> {
        let now = self.now();
        let mut any = false;
        while let Some((at, todo)) = held.todo.pop_front() {
            let left = if at > now { Some(todo) } else { self.try_to(held, todo)? };
            if let Some(todo) = left {
                held.todo.push_front((at, todo));
                break;
            }
            any = true;
        }
        Ok(any)
    }

    /// Does something; it comes back if there is no room.
    fn try_to(&mut self, held: &mut Held, todo: Todo) -> Result<Option<Todo>, Breach> {
        match todo {
            Todo::Say(bytes, token) => match held.line.machine.send(&bytes, token) {
                Ok(packets) => {
                    packets.iter().for_each(|packet| held.line.put(packet));
                    let mut ledger = self.shared.ledger.borrow_mut();
                    let record = ledger.connections.entry(held.connection).or_default();
                    let (nth, len) = (record.said.len(), bytes.len());
                    record.said.push(Bytes::from(bytes));
                    drop(ledger);
                    self.step(|| {
                        format!("sends message {nth} of connection {}, {len} bytes", held.connection)
                    });
                    self.shared.notes.count("messages to clients");
                    Ok(None)
                }
                Err(SendError::Full) => Ok(Some(Todo::Say(bytes, token))),
                // Its client receives less.
                Err(SendError::TooLong { max, .. }) => {
                    let short = bytes[..bytes.len().min(max as usize)].to_vec();
                    self.try_to(held, Todo::Say(short, token))
                }
                Err(_) => Ok(None),
            },
            Todo::Move(request) => self.start(held, request),
            Todo::End(with_command) => {
                self.step(|| format!("ends connection {}, with DISCONNECT: {with_command}", held.connection));
                held.is_ending = true;
                if with_command {
                    let packet = held.line.machine.disconnect(END_WITHIN);
                    held.line.put(&packet);
                } else {
                    held.is_closing = true;
                }
                Ok(None)
            }
        }
    }

    fn start(&mut self, held: &mut Held, request: Request) -> Result<Option<Todo>, Breach> {
        let Some(memory) = &mut self.memory else { return Ok(None) };
        let most = u32::from(self.plan.slots[1]).saturating_mul(memory.slot_len());
        let len = request.len.min(held.newcomer.max_read_write_size).min(most);
        if !held.line.machine.has_transfer() {
            return Ok(Some(Todo::Move(request)));
        }
        // An owner that gets no more slots makes do with those it has.
        let all = u32::from(memory.total()).saturating_mul(memory.slot_len());
        let is_asking =
            self.asking.as_ref().is_some_and(|a| a.waiting.values().any(|asked| *asked == Asked::Memory));
        let may_grow = memory.total() < self.plan.slots[1];
        let len = if len > all && !may_grow { all } else { len };
        let taken = if len == 0 { None } else { memory.take(len, &mut self.chance) };
        let Some(areas) = taken else {
            if len == 0 {
                let answer = Answer { number: request.number, is_success: false, moved: 0 };
                return Ok(Some(Todo::Say(said(held.connection, &request, answer), None)));
            }
            if !is_asking
                && may_grow
                && let Some(asking) = &mut self.asking
            {
                let slots = memory.total().saturating_mul(2).clamp(1, self.plan.slots[1]);
                asking.ask(Asked::Memory, Call::GetMemParams { slots }, None);
            }
            return Ok(Some(Todo::Move(request)));
        };
        let direction = if request.kind == Kind::Read { Direction::Read } else { Direction::Write };
        if direction == Direction::Write {
            memory.fill(&areas, &pattern(key(held.connection, request.number, b'W'), len as usize));
        }
        let transfer = Transfer {
            direction,
            offset: request.offset.into(),
            remote: request.remote.clone(),
            areas: areas.clone(),
        };
        match held.line.machine.start(transfer) {
            Ok((tag, packet)) => {
                held.line.put(&packet);
                self.step(|| {
                    format!(
                        "moves {len} bytes for request {} of connection {}",
                        request.number, held.connection
                    )
                });
                held.running.insert(tag, Moving { request, len, owner: self.number });
                Ok(None)
            }
            Err(TransferError::Lost | TransferError::Full) => {
                memory.back(&areas)?;
                Ok(None)
            }
            Err(error) => Err(format!("plan: {error}")),
        }
    }

    fn misbehave(&mut self, held: &mut Held) {
        let Some(rate) = self.plan.mischief else { return };
        let waiting: VecDeque<_> = std::mem::take(&mut held.line.outgoing);
        for packet in waiting {
            if !self.chance.one_in(rate) {
                held.line.outgoing.push_back(packet);
                continue;
            }
            self.shared.notes.count("packets changed by owners");
            held.line.is_changed = true;
            let changed = match self.chance.below(4) {
                0 => mischief::commands(&mut self.chance),
                _ => mischief::change(&packet, &mut self.chance),
            };
            held.line.outgoing.push_back(changed);
        }
    }
}

/// What a message of a client asks for.
fn todo(connection: usize, bytes: &[u8]) -> Option<Todo> {
    if let Ok(header) = Header::parse(bytes) {
        let said = match header.command {
            Command::NEGOTIATE => b"nres".to_vec(),
            _ => b"sres".to_vec(),
        };
        let mut said = said;
        said.extend_from_slice(&pattern(key(connection, 0, b'N'), 100));
        return Some(Todo::Say(said, None));
    }
    let request = Request::parse(bytes)?;
    let moves = matches!(request.kind, Kind::Read | Kind::Write);
    if !moves || request.remote.is_empty() || request.len == 0 {
        let answer = Answer { number: request.number, is_success: true, moved: 0 };
        return Some(Todo::Say(said(connection, &request, answer), None));
    }
    Some(Todo::Move(request))
}

/// The bytes of an answer.
fn said(connection: usize, request: &Request, answer: Answer) -> Vec<u8> {
    // A client that is hostile may ask for anything.
    let len = request.answer_len.min(200_000) as usize;
    answer.write(&pattern(key(connection, request.number, b'A'), len))
}
