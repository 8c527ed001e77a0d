//! How scripted peers manage credits.

use std::collections::VecDeque;

use crate::search::setup::Rules;
use crate::search::wire::Payload;

/// A message to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Pending {
    pub(super) payload: Option<Payload>,
    pub(super) granted: u16,
}

/// Both directions.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Ledger {
    rules: Rules,
    max: u16,
    target: u16,
    floor: u16,
    /// With the device.
    posted: u16,
    /// Posted, and the peer was not told.
    ungranted: u16,
    send: u16,
    queue: VecDeque<Pending>,
    /// SendImmediate, or an answer that is owed.
    immediate: bool,
}

impl Ledger {
    pub(super) const fn new(rules: Rules, max: u16) -> Self {
        Self {
            rules,
            max,
            target: 0,
            floor: 0,
            posted: 0,
            ungranted: 0,
            send: 0,
            queue: VecDeque::new(),
            immediate: false,
        }
    }

    /// Credits to send with, and credits given and not used, as the messages said.
    pub(super) fn on_the_wire(&self) -> (u32, u32) {
        (u32::from(self.send), u32::from(self.posted - self.ungranted))
    }

    fn post(&mut self, count: u16) {
        self.posted += count;
        self.ungranted += count;
    }

    /// The acceptor's first receives: CreditsGranted of its response.
    pub(super) fn accept(&mut self, requested: u16) -> u16 {
        self.target = requested;
        let first = requested.min(self.max).max(1);
        self.post(first);
        std::mem::take(&mut self.ungranted)
    }

    /// The initiator has its response.
    pub(super) fn connected(&mut self, requested: u16, granted: u16) {
        self.target = requested;
        self.send = granted;
        // 3.1.5.7. Literally, no message ever tells of these (CR-1).
        if self.rules == Rules::Literal {
            self.manage();
        }
    }

    pub(super) fn established(&mut self) {
        self.floor = if self.rules == Rules::Literal { 0 } else { 3 };
        self.refill();
    }

    pub(super) fn send(&mut self, payload: Option<Payload>) {
        self.queue.push_back(Pending { payload, granted: 0 });
        if self.rules == Rules::Literal {
            self.restart();
        }
    }

    /// A message took a receive. `false` if there is none.
    pub(super) fn receive(&mut self) -> bool {
        let covered = self.posted > self.ungranted || (self.rules == Rules::Literal && self.posted > 0);
        if covered {
            self.posted -= 1;
            self.ungranted = self.ungranted.min(self.posted);
        }
        covered
    }

    /// What its header means.
    pub(super) fn process(&mut self, requested: u16, granted: u16, asks: bool) {
        if self.rules != Rules::Literal {
            self.target = requested;
            self.send += granted;
            self.immediate |= asks;
            return self.refill();
        }
        // 3.1.5.8, in its order.
        if self.queue.is_empty() && self.manage() > 0 {
            self.immediate = true;
            self.restart();
        }
        self.target = requested;
        if asks {
            self.immediate = true;
            self.restart();
        }
        self.send += granted;
        if granted > 0 && !self.queue.is_empty() {
            self.restart();
        }
    }

    /// The next message that may leave, with its grant.
    pub(super) fn next(&mut self) -> Option<Pending> {
        match self.rules {
            Rules::Literal => self.next_literal(),
            Rules::Sound | Rules::Prompt | Rules::Miser => self.next_sound(),
        }
    }

    fn window(&self) -> u16 {
        self.target.min(self.max).max(self.floor)
    }

    fn refill(&mut self) {
        if self.rules != Rules::Literal && self.posted < self.window() {
            self.post(self.window() - self.posted);
        }
    }

    fn next_sound(&mut self) -> Option<Pending> {
        let outstanding = self.posted - self.ungranted;
        let grants = match self.rules {
            Rules::Sound => self.posted >= 2 && self.ungranted > outstanding,
            Rules::Prompt => self.ungranted > 0,
            Rules::Literal | Rules::Miser => false,
        };
        if self.send == 0 || (self.queue.is_empty() && !self.immediate && !grants) {
            return None;
        }
        if self.rules == Rules::Miser {
            self.send -= 1;
            self.immediate = false;
            return Some(self.queue.pop_front().unwrap_or(Pending { payload: None, granted: 0 }));
        }
        if self.send == 1 && self.ungranted == 0 {
            if self.posted > self.window() {
                return None;
            }
            self.post(1);
        }
        self.send -= 1;
        self.immediate = false;
        let payload = self.queue.pop_front().and_then(|pending| pending.payload);
        Some(Pending { payload, granted: std::mem::take(&mut self.ungranted) })
    }

    /// 3.1.5.9: how many credits were added.
    fn manage(&mut self) -> u16 {
        if self.posted > 0 && self.posted >= self.target {
            return 0;
        }
        let before = self.posted;
        let needed = u16::from(self.posted == 0 || (self.send == 1 && !self.queue.is_empty()));
        let wanted = self.target.min(self.max).max(self.posted + needed);
        self.post(wanted - before);
        wanted - before
    }

    /// The first half of 3.1.5.1; the loop is `next_literal`.
    fn restart(&mut self) {
        if self.queue.is_empty() && self.immediate {
            self.queue.push_back(Pending { payload: None, granted: 0 });
        }
        let added = self.manage();
        if let Some(first) = self.queue.front_mut() {
            first.granted += added;
        }
    }

    fn next_literal(&mut self) -> Option<Pending> {
        let granted = self.queue.front()?.granted;
        if self.send == 0 {
            return None;
        }
        if self.send == 1 && granted == 0 {
            let added = self.manage();
            let first = self.queue.front_mut().filter(|_| added > 0)?;
            first.granted = added;
        }
        let pending = self.queue.pop_front()?;
        self.send -= 1;
        self.immediate &= !self.queue.is_empty();
        // What the message says; the rest of what is posted the peer never hears of.
        self.ungranted = self.ungranted.saturating_sub(pending.granted);
        Some(pending)
    }
}
