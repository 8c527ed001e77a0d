//! Who watches a run: the swarm's watchers, what the connections wait for, and who gets to see the frames.

use std::cell::RefCell;
use std::rc::Rc;

use smbd_core::{Action, Input, Instant, Misuse};

use crate::Side;
use crate::oracle::Law;
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

pub(super) fn time(at: Option<Instant>) -> String {
    at.map_or_else(|| "never".to_owned(), |at| format!("at {} us", at.as_nanos() / 1000))
}

/// Who sleeps is woken by its device, and comes back for every deadline of its connection.
pub(super) fn check_sleep((watch, deadlines): &mut Watchers, at: At, until: Option<Instant>, armed: bool) {
    let deadline = deadlines.of(at.side);
    let verdicts = watch.oracles.verdicts_mut();
    verdicts.at(at);
    verdicts.check(Law::Driven, armed, || "the loop sleeps, and its device will not wake it".to_owned());
    let in_time = deadline.is_none_or(|at| until.is_some_and(|until| until <= at));
    verdicts.check(Law::Driven, in_time, || {
        let (until, deadline) = (time(until), time(deadline));
        format!("the timer of the loop: {until}; the deadline of its connection: {deadline}")
    });
}
