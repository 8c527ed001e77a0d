//! The upper layer on the connection's side.

use std::collections::VecDeque;
use std::time::Duration;

use smbd_core::endpoint::Message;
use smbd_core::error::{CloseReason, CommandError, SendError};
use smbd_core::{Event, Fragment, Instant};

use super::work::{Opening, ReceiveScript, ScriptedMessage, TransmitScript};
use crate::CommandRefused;
use crate::host::{Context, Upper};

/// How an upper layer treats what it gets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Behaviour {
    /// In 1 of so many cases a fragment is held back; 0 is never.
    pub hold_one_in: u32,
    /// Most fragments held back at once.
    pub hold_max: u32,
    /// For how long.
    pub hold: Duration,
}

/// Says its script, hears those of the peer.
#[derive(Debug)]
pub(super) struct ScriptedUpper {
    behaviour: Behaviour,
    transmit: TransmitScript,
    pub(super) receive: ReceiveScript,
    held: VecDeque<(Instant, Fragment)>,
    full: bool,
    pub(super) established: bool,
    /// How the connection ended, if it did.
    pub(super) ended: Option<Outcome>,
}

/// How the connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Failed,
    Closed(CloseReason),
}

impl ScriptedUpper {
    pub(super) fn new(
        behaviour: Behaviour,
        opening: Opening,
        says: &[ScriptedMessage],
        hears: &[ScriptedMessage],
    ) -> Self {
        Self {
            behaviour,
            transmit: TransmitScript::new(says, opening),
            receive: ReceiveScript::new(hears),
            held: VecDeque::new(),
            full: false,
            established: false,
            ended: None,
        }
    }

    /// Everything was said and heard.
    pub(super) fn is_done(&self) -> bool {
        self.transmit.left() == 0 && self.receive.left() == 0
    }

    pub(super) fn left(&self) -> String {
        let (to_say, to_hear) = (self.transmit.left(), self.receive.left());
        format!("{to_say} messages to send, {to_hear} to hear, {} fragments held", self.held.len())
    }

    /// Says one thing more.
    pub(super) fn say(&mut self, scripted: ScriptedMessage, context: &mut Context<'_>) {
        self.transmit.add(scripted, context.now());
        self.speak(context);
    }

    fn speak(&mut self, context: &mut Context<'_>) {
        while self.established
            && !self.full
            && let Some(scripted) = self.transmit.due(context.now())
        {
            match context.send_bytes(scripted.bytes(), None) {
                Ok(_) => self.transmit.said(context.now()),
                Err(CommandRefused::Send(SendError::Command(CommandError::NoRoom { .. }))) => {
                    self.full = true;
                }
                // The connection is over; the run will see it.
                Err(_) => self.established = false,
            }
        }
        self.set_alarm(context);
    }

    fn hear(&mut self, fragment: Fragment, context: &mut Context<'_>) {
        self.receive.hear(context.fragment(&fragment), fragment.remaining());
        if fragment.is_last() {
            self.heard(context);
        }
        self.hold_or_release(fragment, context);
    }

    fn heard(&mut self, context: &mut Context<'_>) {
        if self.receive.count == 1 {
            self.transmit.heard(context.now());
            self.set_alarm(context);
        }
    }

    fn hold_or_release(&mut self, fragment: Fragment, context: &mut Context<'_>) {
        let Behaviour { hold_one_in, hold_max, hold } = self.behaviour;
        let room = self.held.len() < hold_max as usize;
        if hold_one_in > 0 && room && context.rng().chance(1, u64::from(hold_one_in)) {
            self.held.push_back((context.now().saturating_add(hold), fragment));
            self.set_alarm(context);
        } else {
            context.release(fragment);
        }
    }

    /// Gives back everything it has held until now.
    pub(super) fn give_back(&mut self, until: Instant, context: &mut Context<'_>) {
        while self.held.front().is_some_and(|(at, _)| *at <= until)
            && let Some((_, fragment)) = self.held.pop_front()
        {
            context.release(fragment);
        }
    }

    fn set_alarm(&self, context: &mut Context<'_>) {
        let held = self.held.front().map(|(at, _)| *at);
        let next = self.transmit.next().filter(|_| self.established && !self.full);
        if let Some(at) = [held, next].into_iter().flatten().min() {
            context.wake_at(at);
        }
    }
}

impl Upper for ScriptedUpper {
    fn event(&mut self, event: Event, context: &mut Context<'_>) {
        match event {
            Event::Established(_) => {
                self.established = true;
                self.transmit.begin(context.now());
                self.speak(context);
            }
            Event::Writable => {
                self.full = false;
                self.speak(context);
            }
            Event::Data(fragment) => self.hear(fragment, context),
            Event::ConnectFailed(_) => self.ended = Some(Outcome::Failed),
            Event::Closed(reason) => {
                self.established = false;
                self.ended = Some(Outcome::Closed(reason));
            }
            Event::Invalidated { .. }
            | Event::Sent { .. }
            | Event::RdmaDone { .. }
            | Event::Registered { .. }
            | Event::Deregistered { .. }
            | Event::Probed(_)
            | Event::Drained => {}
        }
    }

    fn message(&mut self, message: Message, context: &mut Context<'_>) {
        self.receive.hear(context.bytes(&message), 0);
        self.heard(context);
        if let Message::Borrowed(fragment) = message {
            self.hold_or_release(fragment, context);
        }
    }

    fn wake(&mut self, context: &mut Context<'_>) {
        self.give_back(context.now(), context);
        self.speak(context);
    }
}
