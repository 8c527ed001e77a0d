//! What is noted of a run.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use smbd_core::Instant;

use crate::clock::Clock;
use crate::law::Breach;
use crate::model::Chance;

/// The notes of a run; clones are the same.
#[derive(Clone, Debug)]
pub struct Notes(Rc<(Clock, RefCell<Seen>)>);

/// What came of it so far.
#[derive(Debug, Default)]
pub struct Seen {
    /// The first law that was broken.
    pub breach: Option<Breach>,
    /// Steps, if they are wanted.
    pub steps: Option<Vec<String>>,
    pub counts: BTreeMap<&'static str, u64>,
    /// Clients that have done all that they wanted.
    pub done: usize,
    /// Clients that have not, and who were served by somebody who does what he must not, or do so themselves.
    pub excused: usize,
    /// Something has happened that ends connections, or stops owners.
    pub is_disturbed: bool,
}

impl Notes {
    pub fn new(clock: &Clock, is_loud: bool) -> Self {
        let seen = Seen { steps: is_loud.then(Vec::new), ..Seen::default() };
        Self(Rc::new((clock.clone(), RefCell::new(seen))))
    }

    pub fn clock(&self) -> &Clock {
        &self.0.0
    }

    pub fn now(&self) -> Instant {
        self.clock().now()
    }

    /// A time from now on, at most so much later.
    pub fn soon(&self, chance: &mut Chance, most: Duration) -> Instant {
        let nanos = chance.size(0, most.as_nanos() as usize) as u64;
        self.now().saturating_add(Duration::from_nanos(nanos))
    }

    pub fn look<T>(&self, look: impl FnOnce(&Seen) -> T) -> T {
        look(&self.0.1.borrow())
    }

    pub fn note(&self, change: impl FnOnce(&mut Seen)) {
        change(&mut self.0.1.borrow_mut());
    }

    pub fn count(&self, what: &'static str, more: u64) {
        self.note(|seen| *seen.counts.entry(what).or_default() += more);
    }

    /// A law is broken, or not.
    pub fn judge(&self, result: Result<(), Breach>) {
        if let Err(breach) = result {
            self.note(|seen| _ = seen.breach.get_or_insert(breach));
        }
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
