//! A link for the other faces of this crate: one that drives it turn by turn and waits for its backend itself, and one that passes on what
//! comes to other tasks.

use smbd_core::backend::Backend;

use super::alarm::Alarm;
use super::orders::Orders;
use super::upper::Upper;
use super::{Closing, Event, Inbox, Link, Options};
use crate::Messages;

impl<B: Backend, N: Copy + PartialEq, C: Messages, E> Link<B, N, C, E> {
    /// A link that makes progress in its [turns](Self::turn).
    pub(crate) fn of_turns(machine: C, backend: B, options: Options) -> Self {
        Self {
            machine,
            backend,
            upper: Upper::new(options),
            orders: Orders::new(),
            alarm: Alarm::new(),
            is_asked: false,
            closing: Closing::No,
            ending: None,
            is_told: false,
        }
    }

    /// The backend, to wait for it.
    pub(crate) const fn backend_mut(&mut self) -> &mut B {
        &mut self.backend
    }

    /// Takes the first event in which `wanted` finds something, and returns that. Others stay, also those before it.
    /// [`Event::Ended`] is never among them.
    pub(crate) fn take_event<T>(&mut self, mut wanted: impl FnMut(&Event<N, E>) -> Option<T>) -> Option<T> {
        let mut events = self.upper.events.iter().enumerate();
        let (place, found) = events.find_map(|(place, event)| Some((place, wanted(event)?)))?;
        self.upper.events.remove(place);
        Some(found)
    }

    /// Drops the events of invalidated tokens whose registrations have ended.
    pub(crate) fn forget_invalidated(&mut self) {
        self.upper.forget_invalidated();
    }

    /// RDMA operations that have no result yet.
    pub(crate) fn operations(&self) -> usize {
        self.orders.operations().saturating_add(self.upper.operations())
    }

    /// Moves all messages that are here to an inbox of the owner, and counts what the owner has in it against the limits. Takes no message
    /// any more if that inbox does not.
    pub(crate) fn hand_over(&mut self, to: &mut Inbox) {
        if to.is_deaf() {
            self.ignore_messages();
        }
        self.upper.inbox.hand_over(to);
        self.is_asked |= self.may_resume();
    }

    /// Whether something was asked for that is done when the link is polled.
    pub(crate) const fn is_asked(&self) -> bool {
        self.is_asked
    }
}
