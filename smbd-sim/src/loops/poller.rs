//! Waits for the one backend of an engine.

use std::rc::Rc;
use std::sync::Arc;
use std::task::Waker;

use smbd_core::Instant;
use smbd_link::engine::Poller;

use super::end::LoopEnd;
use super::hub::{Flag, Hub};
use super::notes::Stuck;
use crate::Side;

pub(super) struct HubPoller {
    hub: Rc<Hub>,
    side: Side,
    name: usize,
}

impl Poller<LoopEnd> for HubPoller {
    type Error = Stuck;
    type Clock = (Rc<Hub>, Side);
    type Watched<'a> = ();

    fn open((hub, side): Self::Clock) -> Result<Self, Stuck> {
        Ok(Self { hub, side, name: 0 })
    }

    fn clock(&self) -> Self::Clock {
        (Rc::clone(&self.hub), self.side)
    }

    fn now(&self) -> Instant {
        self.hub.now()
    }

    fn add(&mut self, _: &LoopEnd, name: usize) -> Result<(), Stuck> {
        self.name = name;
        Ok(())
    }

    fn remove(&mut self, _: &LoopEnd, _: usize) {}

    fn watch(&self, (): ()) -> Result<(), Stuck> {
        Ok(())
    }

    fn wait(&mut self, until: Option<Instant>, ready: &mut Vec<usize>) -> Result<bool, Stuck> {
        self.hub.count()?;
        if until.is_none_or(|until| until > self.now()) && !self.hub.is_woken(self.side) {
            let flag = Flag::new(false);
            self.hub.sleep(self.side, Waker::from(Arc::clone(&flag)), until);
            while !flag.is_raised() {
                self.hub.turn_or_stop()?;
            }
        }
        // Not for the time: that is for the engine to see.
        if self.hub.take_woken(self.side) {
            ready.push(self.name);
        }
        Ok(false)
    }
}
