//! What is noted of a run.

use std::cell::{Ref, RefCell};
use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};
use std::rc::Rc;
use std::time::Duration;

use smbd_core::Instant;
use smbd_sim::loops::Stage;

use crate::{Breach, Chance};

/// What has the time of a run.
pub trait Timed {
    /// The time now.
    fn now(&self) -> Instant;
}

impl Timed for Stage {
    fn now(&self) -> Instant {
        Self::now(self)
    }
}

/// What came of a run so far. It is also a `T`: what only its swarm notes.
#[derive(Debug, Default)]
pub struct Seen<T> {
    /// The first law that was broken.
    pub breach: Option<Breach>,
    /// Steps, if they are wanted.
    pub steps: Option<Vec<String>>,
    more: T,
}

impl<T> Deref for Seen<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.more
    }
}

impl<T> DerefMut for Seen<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.more
    }
}

/// What is noted of a client and a server with one connection; `own` is what only its swarm notes.
#[derive(Debug, Default)]
pub struct OfPair<T> {
    /// There was no connection.
    pub is_refused: bool,
    /// Everything that was planned was done, and the connection closed in order.
    pub is_done: bool,
    /// What the plan has for the end has happened.
    pub is_struck: bool,
    /// The simulated devices were told to end a connection.
    pub is_asked: bool,
    /// What only this swarm notes.
    pub own: T,
}

/// What counts things by name.
pub trait Counted {
    /// The counts.
    fn counts(&mut self) -> &mut BTreeMap<&'static str, u64>;
}

impl<T: Counted> Counted for OfPair<T> {
    fn counts(&mut self) -> &mut BTreeMap<&'static str, u64> {
        self.own.counts()
    }
}

/// The notes of a run, whose time is that of `C`; clones are the same ones.
#[derive(Debug)]
pub struct Notes<T, C = Stage>(Rc<(C, RefCell<Seen<T>>)>);

impl<T, C> Clone for Notes<T, C> {
    fn clone(&self) -> Self {
        Self(Rc::clone(&self.0))
    }
}

impl<T: Default, C: Timed + Clone> Notes<T, C> {
    /// Notes of a run that begins. Steps are kept if it `is_loud`.
    pub fn new(clock: &C, is_loud: bool) -> Self {
        let seen = Seen { steps: is_loud.then(Vec::new), ..Seen::default() };
        Self(Rc::new((clock.clone(), RefCell::new(seen))))
    }
}

impl<T> Notes<T> {
    /// The stage of the run.
    pub fn stage(&self) -> &Stage {
        self.clock()
    }
}

impl<T, C> Notes<T, C> {
    /// What has the time of the run.
    pub fn clock(&self) -> &C {
        &self.0.0
    }

    /// What was noted. Nothing can be noted meanwhile.
    pub fn seen(&self) -> Ref<'_, Seen<T>> {
        self.0.1.borrow()
    }

    /// Notes something.
    pub fn note(&self, change: impl FnOnce(&mut Seen<T>)) {
        change(&mut self.0.1.borrow_mut());
    }

    /// A law is broken, or not.
    pub fn judge(&self, result: Result<(), Breach>) {
        if let Err(breach) = result {
            self.note(|seen| _ = seen.breach.get_or_insert(breach));
        }
    }
}

impl<T, C: Timed> Notes<T, C> {
    /// The time of the run.
    pub fn now(&self) -> Instant {
        self.clock().now()
    }

    /// A time from now on, at most so much later.
    pub fn soon(&self, chance: &mut Chance, most: Duration) -> Instant {
        let nanos = chance.size(0, most.as_nanos() as usize) as u64;
        self.now().saturating_add(Duration::from_nanos(nanos))
    }

    /// A step, for who wants to see them.
    pub fn step(&self, text: impl FnOnce() -> String) {
        let nanos = self.now().as_nanos();
        self.note(|seen| {
            if let Some(steps) = &mut seen.steps {
                steps.push(format!("{:>10}.{:03} us {}", nanos / 1000, nanos % 1000, text()));
            }
        });
    }
}

impl<T: Counted, C> Notes<T, C> {
    /// One more of these.
    pub fn count(&self, name: &'static str) {
        self.add(name, 1);
    }

    /// So many more of these.
    pub fn add(&self, name: &'static str, count: u64) {
        self.note(|seen| *seen.counts().entry(name).or_default() += count);
    }
}
