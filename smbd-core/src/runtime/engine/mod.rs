//! Many connections on one thread.
//!
//! An engine sleeps in one place, its [`Poller`], for all its backends. A connection is *due* when something is known to have
//! happened, *hot* when it was driven and its device was not asked to wake anybody yet, and asleep otherwise. Hot ones are
//! looked at for a moment before everything sleeps, as far as that has been worth it lately. However busy some are, the
//! others and what is watched are looked at every so many turns. What is over is destroyed
//! by its [`Reaper`].

mod deferred;
mod driven;
mod poller;
mod slots;

use alloc::collections::BTreeSet;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::{fmt, mem};

use crate::Instant;
use crate::backend::{Handler, Protocol, drive};
use crate::runtime::{BusyPoll, Waitable};
pub use deferred::DeferredDestroy;
use driven::{Driven, State};
pub use driven::{EngineError, Finished};
pub use poller::{Poller, Reaper};
pub use slots::Key;
use slots::Slots;

/// One turn in so many asks the system for events although nothing would sleep: it is a system call.
const POLL_EVENTS_EVERY: u32 = 32;

/// Drives many connections. Their machines are [`Endpoint`](crate::Endpoint)s or [`Connection`](crate::Connection)s, their
/// upper layers of one type, and so are their backends.
///
/// Dropped, it ends all connections at once and waits until their backends are destroyed.
pub struct Engine<U, M, B: Waitable, P> {
    poller: P,
    slots: Slots<Driven<U, M, B>>,
    deadlines: BTreeSet<(Instant, usize)>,
    due: Vec<usize>,
    /// What `due` was, emptied: kept for its memory.
    spare: Vec<usize>,
    hot: Vec<usize>,
    finished: Vec<Finished<U, M, B>>,
    /// What the poller named, emptied: kept for its memory.
    ready: Vec<usize>,
    /// Turns that drove something since the poller was asked for events.
    turns: u32,
    spin: BusyPoll,
    /// What the caller allows instead of what the devices' rows do.
    busy_poll_for: Option<u64>,
    reaper: Arc<dyn Reaper<B> + Send + Sync>,
}

impl<U: Handler<B, M>, M: Protocol, B: Waitable, P: Poller<B>> Engine<U, M, B, P> {
    /// An engine without connections.
    ///
    /// # Errors
    /// There is no room for a poller or a reaper.
    pub fn new(clock: P::Clock) -> Result<Self, P::Error> {
        let poller = P::open(clock)?;
        Ok(Self {
            reaper: poller.reaper()?,
            poller,
            slots: Slots::default(),
            deadlines: BTreeSet::new(),
            due: Vec::new(),
            spare: Vec::new(),
            hot: Vec::new(),
            finished: Vec::new(),
            ready: Vec::new(),
            turns: 0,
            spin: BusyPoll::default(),
            busy_poll_for: None,
        })
    }

    /// The clock that all backends given to [`add`](Self::add) have to share.
    #[must_use]
    pub fn clock(&self) -> P::Clock {
        self.poller.clock()
    }

    /// Connections that are not over.
    #[must_use]
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Backends that were dropped and are not destroyed yet: a device may take more than a minute for one. No connection
    /// waits for that, but each has what it took of the device until then.
    #[must_use]
    pub fn destroying(&self) -> usize {
        self.reaper.pending()
    }

    /// Takes a connection in. It is driven from the next [`poll`](Self::poll) on.
    ///
    /// # Errors
    /// The poller has no room for it.
    pub fn add(&mut self, machine: M, end: B, upper: U) -> Result<Key, P::Error> {
        let driven = Driven { machine, end, upper, deadline: None, state: State::Asleep, is_hot: false };
        let key = self.slots.insert(driven);
        let added = match self.slots.at(key.slot) {
            Some(driven) => self.poller.add(&driven.end, key.slot),
            None => Ok(()),
        };
        if let Err(error) = added {
            if let Some((_, driven)) = self.slots.remove(key.slot) {
                self.reaper.take(driven.end);
            }
            return Err(error);
        }
        self.make_due(key.slot);
        Ok(key)
    }

    /// Makes [`poll`](Self::poll) come back when `what` has something to say: a listener, a signal, a queue of another
    /// thread.
    ///
    /// # Errors
    /// It cannot be waited for.
    pub fn watch(&self, what: P::Watched<'_>) -> Result<(), P::Error> {
        self.poller.watch(what)
    }

    /// Allows looking for completions for so long before sleeping, in microseconds; 0 for never. Without this the
    /// backends decide.
    pub const fn busy_poll_for(&mut self, micros: u64) {
        self.busy_poll_for = Some(micros);
    }

    /// A connection, to give it commands. It is driven in the next turn.
    pub fn get_mut(&mut self, key: Key) -> Option<(&mut M, &mut B, &mut U)> {
        self.slots.get(key)?;
        self.make_due(key.slot);
        self.slots.at_mut(key.slot).map(|driven| (&mut driven.machine, &mut driven.end, &mut driven.upper))
    }

    /// A connection, to look at.
    #[must_use]
    pub fn get(&self, key: Key) -> Option<(&M, &B, &U)> {
        self.slots.get(key).map(|driven| (&driven.machine, &driven.end, &driven.upper))
    }

    /// The names of all connections.
    pub fn keys(&self) -> impl Iterator<Item = Key> {
        self.slots.keys()
    }

    /// A connection that is over. To be asked after every turn.
    pub fn finished(&mut self) -> Option<Finished<U, M, B>> {
        self.finished.pop()
    }

    /// When [`poll`](Self::poll) is due at the latest, for a caller that sleeps by itself on what the poller sleeps on.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        if self.due.is_empty() { self.deadlines.first().map(|(at, _)| *at) } else { Some(Instant::ORIGIN) }
    }

    /// Waits until something happens or `until`, then drives what it concerns. Comes back as soon as anything was driven
    /// or what is watched has something to say; says whether it has. While connections are busy that is looked at now and then
    /// only, so that a server need not ask its listener, which is a system call, after every message. Its owner takes one
    /// request for each `true`: connections that are there already have their turn in between.
    ///
    /// With an `until` in the past it does not wait, and leaves everything armed: then the poller can be waited for by
    /// somebody else.
    ///
    /// # Errors
    /// The system fails. What fails on one connection is told with what it [`finished`](Self::finished) with.
    pub fn poll(&mut self, until: Option<Instant>) -> Result<bool, P::Error> {
        loop {
            let driven = self.drive_due();
            if until.is_some_and(|until| until <= self.poller.now()) {
                self.arm_hot();
                return self.poll_events();
            }
            if driven {
                self.turns = self.turns.saturating_add(1);
                return if self.turns < POLL_EVENTS_EVERY { Ok(false) } else { self.poll_events() };
            }
            if self.busy_poll() {
                continue;
            }
            let finished = self.finished.len();
            self.arm_hot();
            if self.finished.len() > finished {
                // To be asked for: nothing may ever happen again that would end this turn.
                return Ok(false);
            }
            if self.due.is_empty() && self.sleep(self.deadline().into_iter().chain(until).min())? {
                return Ok(true);
            }
        }
    }

    /// Drives what is due, each once; whether there was something.
    fn drive_due(&mut self) -> bool {
        let spare = mem::take(&mut self.spare);
        let mut due = mem::replace(&mut self.due, spare);
        let any = !due.is_empty();
        for slot in due.drain(..) {
            self.drive_one(slot);
        }
        self.spare = due;
        any
    }

    fn drive_one(&mut self, slot: usize) {
        let Some(driven) = self.slots.at_mut(slot) else { return };
        let result = drive(&mut driven.machine, &mut driven.end, &mut driven.upper);
        driven.state = State::Hot;
        match result {
            Ok(next) if !driven.machine.is_drained() => {
                if !mem::replace(&mut driven.is_hot, true) {
                    self.hot.push(slot);
                }
                // Most deadlines move away with every message. The old one stays then: once it is there, it is looked at
                // for nothing, which costs less than moving it every time.
                if let Some(at) = next
                    && driven.deadline.is_none_or(|noted| at < noted)
                {
                    if let Some(noted) = driven.deadline.replace(at) {
                        self.deadlines.remove(&(noted, slot));
                    }
                    self.deadlines.insert((at, slot));
                }
            }
            Ok(_) => self.finish(slot, Ok(())),
            Err(error) => self.finish(slot, Err(error.into())),
        }
    }

    fn finish(&mut self, slot: usize, result: Result<(), EngineError<B::Error>>) {
        let Some((key, Driven { machine, end, upper, deadline, .. })) = self.slots.remove(slot) else {
            return;
        };
        if let Some(noted) = deadline {
            self.deadlines.remove(&(noted, slot));
        }
        self.poller.remove(&end, slot);
        let end = DeferredDestroy::new(end, &self.reaper);
        self.finished.push(Finished { key, machine, end, upper, result });
    }

    /// Looks at what was driven last, for as long as it is worth it.
    fn busy_poll(&mut self) -> bool {
        let Self { poller, slots, hot, spin, busy_poll_for, .. } = self;
        let allowed = |slot: &usize| slots.at(*slot).map(|driven| driven.end.busy_poll_micros_max());
        let Some(most) = hot.iter().filter_map(allowed).max() else { return false };
        spin.limit_micros(busy_poll_for.unwrap_or(most));
        let mut ready = None;
        let found = || {
            ready = hot
                .iter()
                .copied()
                .find(|slot| slots.at_mut(*slot).is_some_and(|driven| driven.end.is_ready()));
            ready.is_some()
        };
        spin.look(|| poller.now(), || poller.pause(), found);
        let Some(slot) = ready else { return false };
        self.make_due(slot);
        true
    }

    /// Asks the devices of what was driven to say when something completes.
    fn arm_hot(&mut self) {
        while let Some(slot) = self.hot.pop() {
            let Some(driven) = self.slots.at_mut(slot) else { continue };
            driven.is_hot = false;
            if driven.state != State::Hot {
                continue;
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

    /// Sleeps; makes due what has something to say. Whether what is watched has.
    fn sleep(&mut self, until: Option<Instant>) -> Result<bool, P::Error> {
        let start = self.poller.now();
        let watched = self.wait(until)?;
        self.spin.waited(self.poller.now().saturating_since(start));
        Ok(watched)
    }

    /// As [`sleep`](Self::sleep), without sleeping.
    fn poll_events(&mut self) -> Result<bool, P::Error> {
        self.wait(Some(Instant::ORIGIN))
    }

    fn wait(&mut self, until: Option<Instant>) -> Result<bool, P::Error> {
        self.turns = 0;
        let mut ready = mem::take(&mut self.ready);
        let watched = self.poller.wait(until, &mut ready);
        for slot in ready.drain(..) {
            self.make_due(slot);
        }
        self.ready = ready;
        self.expire();
        watched
    }

    /// Makes due what has waited long enough.
    fn expire(&mut self) {
        let now = self.poller.now();
        while let Some(&(at, slot)) = self.deadlines.first()
            && at <= now
        {
            self.deadlines.pop_first();
            if let Some(driven) = self.slots.at_mut(slot) {
                driven.deadline = None;
            }
            self.make_due(slot);
        }
    }

    fn make_due(&mut self, slot: usize) {
        if let Some(driven) = self.slots.at_mut(slot)
            && driven.state != State::Due
        {
            driven.state = State::Due;
            self.due.push(slot);
        }
    }
}

impl<U, M, B: Waitable, P> Drop for Engine<U, M, B, P> {
    fn drop(&mut self) {
        // All at the same time.
        self.finished.clear();
        for driven in self.slots.drain() {
            self.reaper.take(driven.end);
        }
        self.reaper.finish();
    }
}

/// What the poller sleeps on, for an event loop that has others to wait for.
#[cfg(unix)]
impl<U, M, B: Waitable, P: std::os::fd::AsFd> std::os::fd::AsFd for Engine<U, M, B, P> {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.poller.as_fd()
    }
}

impl<U, M, B: Waitable, P> fmt::Debug for Engine<U, M, B, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine").field("connections", &self.slots.len()).finish_non_exhaustive()
    }
}
