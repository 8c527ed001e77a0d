//! Hot connections: they were driven, and their backends are not armed since.

use std::mem;

use super::driven::{Driven, EngineError, State};
use super::{Engine, Poller};
use crate::Waitable;
use smbd_core::backend::{Handler, Protocol};

impl<U: Handler<B, M>, M: Protocol, B: Waitable, P: Poller<B>> Engine<U, M, B, P> {
    /// Polls the hot backends for the time that [`BusyPoll`](crate::BusyPoll) allows. Returns whether any is ready.
    /// All that are ready are due then: if it were the first one, a connection that never pauses would keep the turns of those
    /// behind it.
    pub(super) fn busy_poll(&mut self) -> bool {
        let Self { poller, now, slots, hot, due, spin, busy_poll_for, .. } = self;
        let allowed = |slot: &usize| slots.at(*slot).map(|driven| driven.end.busy_poll_micros_max());
        let Some(most) = hot.iter().filter_map(allowed).max() else { return false };
        spin.limit_micros(busy_poll_for.unwrap_or(most));
        let backends = hot.len();
        let found = || {
            for slot in hot.iter() {
                if let Some(driven) = slots.at_mut(*slot)
                    && driven.state == State::Hot
                    && driven.end.is_ready()
                {
                    driven.state = State::Due;
                    due.push(*slot);
                }
            }
            !due.is_empty()
        };
        spin.look(now, backends, || poller.now(), || poller.pause(), found)
    }

    /// Arms the backends of all hot connections.
    pub(super) fn arm_hot(&mut self) {
        while let Some(slot) = self.hot.pop() {
            self.arm(slot);
        }
    }

    /// Arms the backends of hot connections that were not driven since the last call.
    pub(super) fn arm_quiet(&mut self) {
        let mut hot = mem::take(&mut self.hot);
        hot.retain(|slot| {
            let is_quiet = |driven: &mut Driven<U, M, B>| mem::replace(&mut driven.is_quiet, true);
            let stays = self.slots.at_mut(*slot).is_some_and(|driven| !is_quiet(driven));
            if !stays {
                self.arm(*slot);
            }
            stays
        });
        self.hot = hot;
    }

    /// Arms the backend of a connection that is taken from the list of hot ones.
    fn arm(&mut self, slot: usize) {
        let Some(driven) = self.slots.at_mut(slot) else { return };
        driven.is_hot = false;
        if driven.state != State::Hot {
            return;
        }
        driven.state = State::Asleep;
        match driven.end.arm() {
            Ok(false) => {}
            Ok(true) => self.make_due(slot),
            // The others go on.
            Err(error) => self.finish(slot, Err(EngineError::Backend(error))),
        }
    }
}
