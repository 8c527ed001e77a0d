//! How connections go from one owner to another.

use std::task::Context;

use smbd_broker::wire::Call;

use super::asked::Asked;
use super::held::Held;
use super::{Mail, Owner};
use crate::socket::Passed;

impl Owner {
    /// Gives a connection to another owner, now and then.
    pub(super) fn hand_over(&mut self) -> bool {
        let rate = self.plan.hands_over;
        if rate == 0 || self.held.is_empty() || !self.chance.one_in(rate * 10) {
            return false;
        }
        let at = self.chance.below(self.held.len());
        if !self.held[at].can_go() {
            return false;
        }
        let to = self.shared.somebody(self.number, &mut self.chance);
        let held = self.held.swap_remove(at);
        self.step(|| format!("gives connection {} to owner {to}", held.connection));
        if let Some(Mail::Connection(back)) = self.shared.give(to, Mail::Connection(Box::new(held))) {
            self.held.push(*back);
        }
        true
    }

    pub(super) fn take_mail(&mut self, cx: &mut Context<'_>) -> bool {
        let mut any = false;
        while let Some(mail) = self.shared.take(self.number, cx.waker()) {
            any = true;
            match mail {
                Mail::Slots(areas) => {
                    let back = self.memory.as_mut().map_or(Ok(()), |memory| memory.back(&areas).map(drop));
                    self.shared.notes.judge(back);
                }
                Mail::Connection(held) => self.attach(*held),
            }
        }
        any
    }

    fn attach(&mut self, mut held: Held) {
        if self.plan.mischief.is_some()
            && let Some(record) = self.shared.ledger.borrow_mut().connections.get_mut(&held.connection)
        {
            record.is_spoiled = true;
        }
        let Some(asking) = self.asking.as_mut().filter(|_| self.limits.is_some()) else {
            // It has no broker: the connection ends.
            return self.step(|| format!("cannot take connection {}", held.connection));
        };
        let socket = Passed::Socket(held.line.socket.clone());
        asking.ask(Asked::Attach(held.connection), Call::Attach, Some(socket));
        held.is_attaching = true;
        self.step(|| format!("attaches connection {}", held.connection));
        self.held.push(held);
    }
}
