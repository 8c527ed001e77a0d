//! What is noted of a run.

use std::cell::{Ref, RefCell};
use std::rc::Rc;
use std::time::Duration;

use smbd_core::Instant;
use smbd_sim::loops::Stage;

use super::law::Breach;
use crate::model::Chance;

/// What came of a run so far; `own` is what only its swarm notes.
#[derive(Debug, Default)]
pub struct Seen<T> {
    /// The first law that was broken.
    pub breach: Option<Breach>,
    /// There was no connection.
    pub is_refused: bool,
    /// Everything that was planned was done, and the connection closed in order.
    pub is_done: bool,
    /// What the plan has for the end has happened.
    pub is_struck: bool,
    /// The simulated devices were told to end a connection.
    pub is_asked: bool,
    /// Steps, if they are wanted.
    pub steps: Option<Vec<String>>,
    pub own: T,
}

/// The notes of a run; clones are the same ones.
#[derive(Debug)]
pub struct Notes<T>(Rc<(Stage, RefCell<Seen<T>>)>);

impl<T> Clone for Notes<T> {
    fn clone(&self) -> Self {
        Self(Rc::clone(&self.0))
    }
}

impl<T: Default> Notes<T> {
    pub fn new(stage: &Stage, is_loud: bool) -> Self {
        let seen = Seen { steps: is_loud.then(Vec::new), ..Seen::default() };
        Self(Rc::new((stage.clone(), RefCell::new(seen))))
    }
}

impl<T> Notes<T> {
    pub fn stage(&self) -> &Stage {
        &self.0.0
    }

    pub fn now(&self) -> Instant {
        self.stage().now()
    }

    /// A time from now on, at most so much later.
    pub fn soon(&self, chance: &mut Chance, most: Duration) -> Instant {
        let nanos = chance.size(0, most.as_nanos() as usize) as u64;
        self.now().saturating_add(Duration::from_nanos(nanos))
    }

    pub fn seen(&self) -> Ref<'_, Seen<T>> {
        self.0.1.borrow()
    }

    pub fn note(&self, change: impl FnOnce(&mut Seen<T>)) {
        change(&mut self.0.1.borrow_mut());
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
