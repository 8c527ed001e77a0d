//! What an owner hears on its own socket, and what it says there.

use std::sync::Arc;
use std::task::{Context, Poll};

use smbd_broker::owner::News;
use smbd_broker::socket::{PacketBuffer, PacketSocket};
use smbd_broker::wire::{Call, Newcomer, Refusal, Reply};

use super::asked::{Asked, parameters};
use super::held::{Held, Line};
use super::memory::Memory;
use super::{Owner, mischief};
use crate::ledger::{Key, Record};
use crate::slot::Slots;
use crate::socket::{End, Passed};
use smbd_testkit::{Breach, law};

/// Answers that may wait for an owner, and some in its socket.
const FLOODED_MAX: u64 = 330;

/// The number of a connection's devices, which its address is.
fn number_of(newcomer: &Newcomer) -> Option<usize> {
    newcomer.peer.strip_prefix("client ")?.parse().ok()
}

impl Owner {
    /// Takes a packet of the owner's socket. Whether there was one.
    pub(super) fn hear(&mut self, cx: &mut Context<'_>) -> bool {
        let Some(asking) = &mut self.asking else { return false };
        let mut packet = PacketBuffer::new();
        let passed = match asking.socket.poll_receive(cx, &mut packet) {
            Poll::Pending => return false,
            Poll::Ready(Err(_)) => {
                self.is_alone();
                return true;
            }
            Poll::Ready(Ok(passed)) => passed,
        };
        self.floods += mischief::answers_of_floods(packet.bytes());
        if self.floods > FLOODED_MAX {
            let floods = self.floods;
            self.shared
                .notes
                .judge(Err(format!("bounded: {floods} answers wait for an owner that asks too much")));
        }
        match asking.calls.received(packet.bytes()) {
            Ok(news) => {
                let mut passed = passed.into_iter();
                for news in news {
                    let with = if news.has_descriptor() { passed.next() } else { None };
                    let done = self.on_news(news, with);
                    self.shared.notes.judge(done);
                }
            }
            // Changed calls have other tags.
            Err(error) if self.plan.mischief.is_none() => {
                self.shared.notes.judge(Err(format!("wire: {error}")));
            }
            Err(_) => {}
        }
        true
    }

    /// The owner's socket has ended: the broker is gone, or does not want it.
    fn is_alone(&mut self) {
        self.step(|| "its socket has ended".into());
        self.asking = None;
        self.shared.ledger.borrow_mut().leaves(self.number);
        // Its memory went with the broker.
        self.memory = None;
        self.limits = None;
        self.held.clear();
        if self.shared.instance() == self.instance {
            let may_be = self.plan.mischief.is_some() || !self.shared.plan.is_gentle;
            if !may_be {
                self.shared
                    .notes
                    .judge(Err("ends: an owner that has done nothing wrong loses its socket".into()));
            }
            // It does not come again to the same broker.
            self.is_leaving = true;
        }
    }

    fn on_news(&mut self, news: News, with: Option<Passed>) -> Result<(), Breach> {
        match news {
            News::Answer { tag, result } => {
                let asked = self.asking.as_mut().and_then(|asking| asking.waiting.remove(&tag));
                match asked {
                    Some(asked) => self.on_answer(asked, result, with),
                    None => Ok(()),
                }
            }
            News::New(newcomer) => self.on_new(newcomer, with),
            News::Moved { connection } => {
                self.shared.notes.count("connections moved");
                self.step(|| format!("is told that connection {connection} has moved"));
                Ok(())
            }
            News::Fault { why } => {
                self.step(|| format!("is told of a mistake: {why}"));
                law!("wire", self.plan.mischief.is_some(), "a mistake of an owner that makes none: {why}");
                self.shared.notes.count("mistakes of owners told");
                Ok(())
            }
        }
    }

    fn on_new(&mut self, newcomer: Newcomer, with: Option<Passed>) -> Result<(), Breach> {
        let (Some(Passed::Socket(socket)), Some(limits)) = (with, self.limits) else {
            return Err("wire: NEW without a socket".into());
        };
        let Some(connection) = number_of(&newcomer) else {
            return Err(format!("wire: NEW of {:?}", newcomer.peer));
        };
        self.step(|| format!("gets connection {connection} by {:?}", newcomer.rule));
        self.shared.notes.count("connections given to owners");
        let mut ledger = self.shared.ledger.borrow_mut();
        // What a broker has said that is gone is still read.
        if self.shared.instance() == self.instance {
            ledger.comes(connection, self.number, newcomer.rule)?;
        }
        if let Some(record) = ledger.connections.get_mut(&connection) {
            record.is_spoiled |= self.plan.mischief.is_some();
        }
        let line = Line::new(socket, limits, &newcomer);
        self.held.push(Held::new(connection, newcomer, line));
        Ok(())
    }

    fn on_answer(
        &mut self,
        asked: Asked,
        result: Result<Reply, Refusal>,
        with: Option<Passed>,
    ) -> Result<(), Breach> {
        let (now, number) = (self.now(), self.number);
        self.step(|| format!("{asked:?}: {result:?}"));
        match (asked, result) {
            (Asked::Hello, Ok(Reply::Welcome(welcome))) => {
                law!("instance", Some(welcome.instance) == self.instance, "{welcome:?}");
                self.limits = Some(welcome.limits);
                self.memory = Some(Memory::new(welcome.limits.slot_len));
                self.begin();
                Ok(())
            }
            (Asked::Hold(key), result) => {
                let mut ledger = self.shared.ledger.borrow_mut();
                if self.plan.mischief.is_some() {
                    // What it has asked for may have been something else.
                    return Ok(());
                }
                ledger.answered(key, number, result.is_ok(), now)
            }
            (Asked::GiveUp(key), Ok(_)) => {
                self.shared.ledger.borrow_mut().gave_up(key, number);
                Ok(())
            }
            (Asked::Memory, Ok(Reply::Memory(memory))) => {
                let slabs: Slots = match with {
                    Some(Passed::Memory(slabs)) => slabs,
                    _ => Arc::default(),
                };
                let key = crate::words::key(0, number as u32, b'S');
                self.memory.as_mut().map_or(Ok(()), |known| known.add(memory, &slabs, key))
            }
            (Asked::Attach(connection), Ok(Reply::Attached { .. })) => match with {
                Some(Passed::Socket(socket)) => self.on_attached(connection, socket),
                _ => Err("wire: ATTACHED without a socket".into()),
            },
            (Asked::Attach(connection), Err(refusal)) => {
                // The connection has ended, or the owner has too many. Its socket is closed.
                let ledger = self.shared.ledger.borrow();
                // It may have gone to the owner of its session meanwhile, or was ended for what a former owner did.
                let is_gone = |record: &Record| record.is_over || record.binds.is_some() || record.is_spoiled;
                let is_over = ledger.connections.get(&connection).is_some_and(is_gone);
                let is_of_end = is_over && matches!(refusal, Refusal::Ended | Refusal::NotASocket);
                let is_due = !self.shared.plan.is_gentle || is_of_end;
                drop(ledger);
                law!("attach", is_due, "connection {connection}: {refusal}");
                self.held.retain(|held| held.connection != connection || !held.is_attaching);
                Ok(())
            }
            (Asked::GiveUp(_) | Asked::Hello | Asked::Memory, Err(refusal)) => {
                let may_be = !self.shared.plan.is_gentle || self.plan.mischief.is_some();
                let is_due = may_be || asked == Asked::Memory;
                if asked == Asked::Memory {
                    // It makes do with what it has.
                    self.plan.slots[1] = self.memory.as_ref().map_or(0, Memory::total);
                }
                law!("answers to calls", is_due, "{asked:?}: {refusal}");
                Ok(())
            }
            (Asked::Parameters, _) => Ok(()),
            (asked, reply) => {
                law!(
                    "answers to calls",
                    self.plan.mischief.is_some(),
                    "{asked:?} is answered with {reply:?}"
                );
                Ok(())
            }
        }
    }

    /// What it asks for when it is welcome.
    fn begin(&mut self) {
        let plan = self.plan.clone();
        if let Some(asking) = &mut self.asking {
            asking.ask(Asked::Memory, Call::GetMemParams { slots: plan.slots[0] }, None);
        }
        if plan.listens {
            self.hold(Key::Rest, true);
        }
        let most = &self.shared.plan.settings.params;
        let wanted = parameters(&plan, most, self.chance.size(1, 4) as u32);
        if plan.configures
            && let Some(asking) = &mut self.asking
        {
            asking.ask(Asked::Parameters, Call::SetParameters(Box::new(wanted)), None);
        }
        plan.sessions.iter().for_each(|session| self.hold(Key::Session(*session), true));
        plan.guids.iter().for_each(|guid| self.hold(Key::Client(*guid), true));
    }

    fn on_attached(&mut self, connection: usize, socket: End) -> Result<(), Breach> {
        let Some(limits) = self.limits else { return Ok(()) };
        let held = self.held.iter_mut().find(|held| held.connection == connection && held.is_attaching);
        let Some(held) = held else { return Ok(()) };
        held.is_attaching = false;
        let line = Line::new(socket, limits, &held.newcomer);
        let old = std::mem::replace(&mut held.line, line);
        held.old = (!std::mem::take(&mut held.is_between)).then_some(old);
        self.shared.notes.count("connections attached");
        Ok(())
    }

    /// Says what waits to be said on the owner's socket.
    pub(super) fn tell(&mut self, cx: &mut Context<'_>) -> bool {
        let Self { asking, chance, plan, .. } = self;
        let Some(asking) = asking else { return false };
        let mischief = plan.mischief;
        asking.flush(cx, |packet| {
            let rate = mischief.filter(|rate| chance.one_in(*rate))?;
            Some(if rate % 3 == 0 { mischief::flood() } else { mischief::change(packet, chance) })
        })
    }
}
