//! Who watches a run: the swarm's watchers, what the connections wait for, and who gets to see the frames.

use std::cell::RefCell;
use std::rc::Rc;

use smbd_core::{Action, Input, Instant, Misuse};

use crate::Side;
use crate::probe::{At, Frame, Probe};
use crate::watch::Watch;

pub(super) type Watchers = (Watch<Frames>, Deadlines);

/// Who gets to see the frames, and keeps what it has seen when the world is gone.
pub(super) struct Frames(pub(super) Rc<RefCell<dyn Probe>>);

impl Probe for Frames {
    fn wants_frames(&self) -> bool {
        self.0.borrow().wants_frames()
    }

    fn frame(&mut self, at: At, frame: &Frame<'_>) {
        self.0.borrow_mut().frame(at, frame);
    }
}

/// The times that the connections wait for.
#[derive(Debug, Default)]
pub(super) struct Deadlines([Option<Instant>; 2]);

impl Deadlines {
    pub(super) const fn of(&self, side: Side) -> Option<Instant> {
        self.0[side.index()]
    }
}

impl Probe for Deadlines {
    fn input(&mut self, at: At, _: &Input<'_>, _: Result<(), Misuse>) {
        self.0[at.side.index()] = None;
    }

    fn action(&mut self, at: At, action: &Action) {
        if let Action::Wait(until) = action {
            self.0[at.side.index()] = *until;
        }
    }
}
