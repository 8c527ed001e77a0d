//! Upper layers for runs: a client and a server that use a connection as SMB2 does.
//!
//! They send requests and answers of all sizes. The server answers a read by RDMA Write into a buffer of the client,
//! and the answer behind it invalidates the token. It fetches the data of a write by RDMA Read. There are messages
//! without an answer, probes, and fragments that are released late. Every byte that arrives is compared with the byte
//! that was sent.

mod client;
mod either;
mod server;
mod workload;

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::Duration;

use smbd_core::endpoint::Message;
use smbd_core::error::{CommandError, SendError};
use smbd_core::{Fragment, Instant, Token};

pub use client::{Client, Task, TaskKind};
pub use either::WorkloadUpper;
pub use server::Server;
pub use workload::{CONTENT_MAX, Carried, Kind, QueuedMessage, Workload, Wrong, content};

use crate::host::Context;
use crate::memory::{Buffer, Buffers};
use crate::{CommandRefused, Side};

/// How an upper layer behaves besides its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Behaviour {
    /// In 1 of so many cases a fragment is held back; 0 is never.
    pub hold_one_in: u32,
    /// Most fragments held back at once.
    pub hold_max: u32,
    /// For how long.
    pub hold: Duration,
    /// After how many messages the peer is asked for a keepalive response; 0 is never.
    pub probe_every: u32,
    /// After how many messages a senseless command is tried; 0 is never.
    pub senseless_every: u32,
    /// Tokens of the peer may be invalidated: it registers with memory windows.
    pub invalidates: bool,
    /// Waits for the result of an RDMA Write before it answers.
    pub patient: bool,
    /// Notices to send.
    pub notices: u32,
    /// Time between two of them.
    pub notice_pause: Duration,
    /// The results of 1 of so many messages are not waited for; 0 is none.
    pub unsignalled_one_in: u16,
}

/// A message that waits for room.
#[derive(Clone, Debug)]
struct Waiting {
    queued: QueuedMessage,
    invalidate: Option<Token>,
}

/// A fragment that is held back.
#[derive(Debug)]
struct Held {
    until: Instant,
    fragment: Fragment,
    /// The message, if the fragment is all of it and an endpoint has borrowed it.
    borrowed: Option<QueuedMessage>,
}

/// What client and server have in common.
#[derive(Debug)]
pub struct Common {
    workload: Rc<RefCell<Workload>>,
    side: Side,
    behaviour: Behaviour,
    established: bool,
    waiting: VecDeque<Waiting>,
    held: VecDeque<Held>,
    /// Notices to send, by number.
    notices: VecDeque<u32>,
    notice_at: Option<Instant>,
    retry_at: Option<Instant>,
    /// Buffers the device may still use: freed when the connection is drained.
    unused: Vec<Buffer>,
    heard: u32,
}

impl Common {
    fn new(side: Side, behaviour: Behaviour, workload: Rc<RefCell<Workload>>) -> Self {
        Self {
            workload,
            side,
            behaviour,
            established: false,
            waiting: VecDeque::new(),
            held: VecDeque::new(),
            notices: (0..behaviour.notices).collect(),
            notice_at: None,
            retry_at: None,
            unused: Vec::new(),
            heard: 0,
        }
    }

    /// Sends, now or when there is room.
    fn send(&mut self, queued: QueuedMessage, invalidate: Option<Token>, context: &mut Context<'_>) {
        self.waiting.push_back(Waiting { queued, invalidate });
        self.send_waiting(context);
    }

    fn send_waiting(&mut self, context: &mut Context<'_>) {
        while let Some(Waiting { queued, invalidate }) = self.waiting.front() {
            let bytes = content(queued.key, 0, queued.len);
            // The keys are drawn already: as good as a number drawn for it.
            let is_unsignalled = queued.key.checked_rem(self.behaviour.unsignalled_one_in) == Some(0);
            match context.send_static(bytes, *invalidate, is_unsignalled) {
                Ok(_) => {
                    self.workload.borrow_mut().sent(self.side, queued.clone());
                    self.waiting.pop_front();
                }
                Err(CommandRefused::Send(SendError::Command(CommandError::NoRoom { .. }))) => return,
                // The connection is over, and with it everything that waits.
                Err(_) => return self.waiting.clear(),
            }
        }
    }

    fn on_fragment(&mut self, fragment: Fragment, context: &mut Context<'_>) -> Option<QueuedMessage> {
        let queued = self.workload.borrow_mut().received(self.side, &fragment, context.fragment(&fragment));
        self.hold_or_release(fragment, None, context);
        self.on_letter(queued, context)
    }

    fn on_message(&mut self, message: Message, context: &mut Context<'_>) -> Option<QueuedMessage> {
        let queued = self.workload.borrow_mut().received_whole(self.side, context.bytes(&message));
        if let Message::Borrowed(fragment) = message {
            self.hold_or_release(fragment, queued.clone(), context);
        }
        self.on_letter(queued, context)
    }

    fn hold_or_release(
        &mut self,
        fragment: Fragment,
        borrowed: Option<QueuedMessage>,
        context: &mut Context<'_>,
    ) {
        let Behaviour { hold_one_in, hold_max, hold, .. } = self.behaviour;
        if hold_one_in > 0
            && self.held.len() < hold_max as usize
            && context.rng().chance(1, u64::from(hold_one_in))
        {
            self.workload.borrow_mut().carried.held += 1;
            let until = context.now().saturating_add(hold);
            self.held.push_back(Held { until, fragment, borrowed });
            self.set_alarm(context);
        } else {
            context.release(fragment);
        }
    }

    fn on_letter(
        &mut self,
        queued: Option<QueuedMessage>,
        context: &mut Context<'_>,
    ) -> Option<QueuedMessage> {
        if queued.is_some() {
            self.heard += 1;
            self.now_and_then(context);
        }
        queued
    }

    /// Gives a fragment back that was held.
    fn give_back(&self, held: Held, context: &mut Context<'_>) {
        if let Some(queued) = &held.borrowed {
            self.workload.borrow_mut().held(self.side, queued, context.fragment(&held.fragment));
        }
        context.release(held.fragment);
    }

    fn now_and_then(&mut self, context: &mut Context<'_>) {
        let due = |every: u32| every > 0 && self.heard.is_multiple_of(every);
        let (probe, senseless) = (due(self.behaviour.probe_every), due(self.behaviour.senseless_every));
        if probe {
            // May be refused: there is one at a time.
            let _busy = context.probe();
        }
        if senseless {
            self.say_nonsense(context);
        }
    }

    /// Commands that have to be refused and to change nothing.
    fn say_nonsense(&self, context: &mut Context<'_>) {
        let empty = context.send_bytes(&[], None);
        let buffer = context.memory().alloc(64);
        let range = crate::memory::Range { buffer, offset: 0, len: 64 };
        let nowhere = context.rdma(smbd_core::RdmaVerb::Read, range, &[].into(), 0);
        context.memory().free(buffer);
        if empty.is_err() && nowhere.is_err() {
            self.workload.borrow_mut().carried.senseless += 2;
        }
    }

    fn set_alarm(&self, context: &mut Context<'_>) {
        let held = self.held.iter().map(|held| held.until).min();
        let notice = self.notice_at.filter(|_| self.established);
        let retry = self.retry_at.filter(|_| self.established);
        if let Some(at) = [held, notice, retry].into_iter().flatten().min() {
            context.wake_at(at);
        }
    }

    fn on_established(&mut self, context: &Context<'_>) {
        self.established = true;
        self.notice_at =
            (!self.notices.is_empty()).then(|| context.now().saturating_add(self.behaviour.notice_pause));
    }

    /// `true` if it is time to try again what failed.
    fn on_wake(&mut self, context: &mut Context<'_>) -> bool {
        let now = context.now();
        for _ in 0..self.held.len() {
            match self.held.pop_front() {
                Some(held) if held.until <= now => self.give_back(held, context),
                Some(later) => self.held.push_back(later),
                None => {}
            }
        }
        let mut retry = false;
        if self.established {
            if self.notice_at.is_some_and(|at| at <= now) {
                self.send_notice(context);
            }
            retry = self.retry_at.is_some_and(|at| at <= now);
            if retry {
                self.retry_at = None;
            }
        }
        retry
    }

    fn send_notice(&mut self, context: &mut Context<'_>) {
        self.notice_at = None;
        let Some(number) = self.notices.pop_front() else { return };
        let rng = context.rng();
        let len = u32::try_from(rng.between(1, 300)).unwrap_or(1);
        let key = u16::try_from(rng.below(1 << 16)).unwrap_or(0);
        self.send(QueuedMessage { kind: Kind::Notice { number }, len, key }, None, context);
        if !self.notices.is_empty() {
            self.notice_at = Some(context.now().saturating_add(self.behaviour.notice_pause));
        }
    }

    fn key(context: &mut Context<'_>) -> u16 {
        u16::try_from(context.rng().below(1 << 16)).unwrap_or(0)
    }

    /// Gives nothing back before `until`.
    fn keep(&mut self, until: Instant) {
        for held in &mut self.held {
            held.until = until;
        }
    }

    /// Gives back everything held: for an end in good order.
    fn release_all(&mut self, context: &mut Context<'_>) {
        while let Some(held) = self.held.pop_front() {
            self.give_back(held, context);
        }
    }

    fn renew(&mut self, lost: VecDeque<QueuedMessage>, buffers: &mut Buffers) {
        self.established = false;
        let waiting = std::mem::take(&mut self.waiting).into_iter().map(|w| w.queued);
        for queued in lost.into_iter().chain(waiting) {
            if let Kind::Notice { number } = queued.kind {
                self.notices.push_back(number);
            }
        }
        (self.notice_at, self.retry_at) = (None, None);
        for buffer in self.unused.drain(..) {
            buffers.free(buffer);
        }
    }
}
