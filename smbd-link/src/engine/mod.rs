//! Many connections on one thread.
//!
//! An engine waits in one place, its [`Poller`], for all its backends. A connection is in one of three states. It is
//! *due* when it has something to do. It is *hot* when it was driven and its backend is not [armed](Waitable::arm) yet.
//! Otherwise it is *asleep*.
//!
//! Before the engine waits, it polls hot backends for a short time, if recent waits were short ([`BusyPoll`]), and
//! drives all that are ready. While connections are busy, the poller is polled every 32 turns, so all other connections
//! and the watched objects get their turn. What was not driven for that long is armed, so idle connections cost the busy
//! ones nothing. A [`Reaper`] destroys the backends of connections that are over.

mod deferred;
mod driven;
mod hot;
mod poller;
mod slots;

use core::{fmt, mem};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::vec::Vec;

use crate::{BusyPoll, Waitable};
pub use deferred::DeferredDestroy;
use driven::{Driven, State};
pub use driven::{EngineError, Finished};
pub use poller::{Poller, Reaper};
pub use slots::Key;
use slots::Slots;
use smbd_core::Instant;
use smbd_core::backend::{Handler, Protocol, drive_at};

/// Turns after which the poller is polled although connections are busy. It is a system call, so not in every turn.
const POLL_EVENTS_EVERY: u32 = 32;

/// Connections that are driven at one time of the clock.
const DRIVES_OF_TIME: usize = 16;

/// Drives many connections on one thread. All have a machine of type `M` ([`Endpoint`](smbd_core::Endpoint) or
/// [`Connection`](smbd_core::Connection)), a backend of type `B` and an upper layer of type `U`.
///
/// Dropping it ends all connections at once and waits until their backends are destroyed.
pub struct Engine<U, M, B: Waitable, P> {
    poller: P,
    /// The time of this turn. Read once, since nothing in a turn waits.
    now: Instant,
    slots: Slots<Driven<U, M, B>>,
    deadlines: BTreeSet<(Instant, usize)>,
    due: Vec<usize>,
    /// An empty list for the next `due`, kept for its memory.
    spare: Vec<usize>,
    hot: Vec<usize>,
    finished: Vec<Finished<U, M, B>>,
    /// An empty list for the poller's names, kept for its memory.
    ready: Vec<usize>,
    /// Turns that drove something since the poller was polled.
    turns: u32,
    spin: BusyPoll,
    /// The caller's limit in microseconds; without it the limit of the backends counts.
    busy_poll_for: Option<u64>,
    reaper: Arc<dyn Reaper<B> + Send + Sync>,
}

impl<U: Handler<B, M>, M: Protocol, B: Waitable, P: Poller<B>> Engine<U, M, B, P> {
    /// An engine without connections, on `clock`.
    ///
    /// # Errors
    /// The poller or the reaper cannot be made.
    pub fn new(clock: P::Clock) -> Result<Self, P::Error> {
        let poller = P::open(clock)?;
        Ok(Self {
            reaper: poller.reaper()?,
            now: poller.now(),
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

    /// The clock of the engine. All backends that are passed to [`add`](Self::add) must use it.
    #[must_use]
    pub fn clock(&self) -> P::Clock {
        self.poller.clock()
    }

    /// The time of the last [`poll`](Self::poll), as the clock was read in it: while it looks for completions, after sixteen looks.
    #[must_use]
    pub const fn now(&self) -> Instant {
        self.now
    }

    /// The number of connections that are not over.
    #[must_use]
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether the engine has no connection.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of backends that were dropped and are not destroyed yet. A device may need more than a minute for
    /// one. No connection waits for that. Each backend keeps its resources of the device until it is destroyed.
    #[must_use]
    pub fn destroying(&self) -> usize {
        self.reaper.pending()
    }

    /// Adds a connection and returns its key. Returns at once. The connection is driven from the next
    /// [`poll`](Self::poll) on.
    ///
    /// # Errors
    /// The poller cannot wait for the backend. The connection is dropped then.
    pub fn add(&mut self, machine: M, end: B, upper: U) -> Result<Key, P::Error> {
        let driven = Driven {
            machine,
            end,
            upper,
            deadline: None,
            state: State::Asleep,
            is_hot: false,
            is_quiet: false,
        };
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

    /// Makes [`poll`](Self::poll) return `true` when `what` is ready: a listener, a signal, a queue of another thread.
    ///
    /// # Errors
    /// The poller cannot wait for it.
    pub fn watch(&self, what: P::Watched<'_>) -> Result<(), P::Error> {
        self.poller.watch(what)
    }

    /// Sets the longest time of polling for completions before the engine waits, in microseconds; 0 turns it off. The
    /// default is the largest [`busy_poll_micros_max`](Waitable::busy_poll_micros_max) of the backends.
    pub const fn busy_poll_for(&mut self, micros: u64) {
        self.busy_poll_for = Some(micros);
    }

    /// The machine, backend and upper layer of a connection, for commands; `None` if it is over. The connection is
    /// driven in the next [`poll`](Self::poll).
    pub fn get_mut(&mut self, key: Key) -> Option<(&mut M, &mut B, &mut U)> {
        self.slots.get(key)?;
        self.make_due(key.slot);
        self.slots.at_mut(key.slot).map(|driven| (&mut driven.machine, &mut driven.end, &mut driven.upper))
    }

    /// The machine, backend and upper layer of a connection; `None` if it is over.
    #[must_use]
    pub fn get(&self, key: Key) -> Option<(&M, &B, &U)> {
        self.slots.get(key).map(|driven| (&driven.machine, &driven.end, &driven.upper))
    }

    /// The keys of all connections that are not over.
    pub fn keys(&self) -> impl Iterator<Item = Key> {
        self.slots.keys()
    }

    /// Removes and returns a connection that is over, in no certain order; `None` if there is no other. Call it after
    /// each [`poll`](Self::poll) until it returns `None`.
    pub fn finished(&mut self) -> Option<Finished<U, M, B>> {
        self.finished.pop()
    }

    /// The latest time for the next [`poll`](Self::poll); `None` if no connection has a deadline. It is for a caller
    /// that waits for the poller itself, in an event loop of its own.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        if self.due.is_empty() { self.deadlines.first().map(|(at, _)| *at) } else { Some(Instant::ORIGIN) }
    }

    /// Drives all connections that are due, once each. If none is due, it waits until a connection is due, a watched
    /// object is ready, or the time `until` has come; without limit if that is `None`. Returns as soon as a connection
    /// was driven or is over.
    ///
    /// Returns `true` if a [watched](Self::watch) object is ready. While connections are busy this is checked every 32
    /// turns, because it is a system call. A server accepts one request for each `true`, so established connections get
    /// their turn between two requests.
    ///
    /// With an `until` in the past it does not wait, and arms all backends that it drove. The caller can then wait for
    /// the poller itself until [`deadline`](Self::deadline).
    ///
    /// # Errors
    /// The poller fails. An error of one connection is in the [`result`](Finished::result) of
    /// [`finished`](Self::finished).
    pub fn poll(&mut self, until: Option<Instant>) -> Result<bool, P::Error> {
        self.now = self.poller.now();
        loop {
            let driven = self.drive_due();
            if until.is_some_and(|until| until <= self.now) {
                self.arm_hot();
                return self.poll_events();
            }
            if driven {
                self.turns = self.turns.saturating_add(1);
                if self.turns < POLL_EVENTS_EVERY {
                    return Ok(false);
                }
                self.arm_quiet();
                return self.poll_events();
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

    /// Drives each connection that is due, once. Returns whether there was one.
    fn drive_due(&mut self) -> bool {
        if self.due.is_empty() {
            return false;
        }
        let spare = mem::take(&mut self.spare);
        let mut due = mem::replace(&mut self.due, spare);
        for (driven, slot) in due.drain(..).enumerate() {
            if driven > 0 && driven.is_multiple_of(DRIVES_OF_TIME) {
                self.now = self.poller.now();
            }
            self.drive_one(slot);
        }
        self.spare = due;
        true
    }

    fn drive_one(&mut self, slot: usize) {
        let Some(driven) = self.slots.at_mut(slot) else { return };
        let result = drive_at(self.now, &mut driven.machine, &mut driven.end, &mut driven.upper);
        driven.state = State::Hot;
        driven.is_quiet = false;
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

    /// Waits, and makes connections due. Returns whether a watched object is ready.
    fn sleep(&mut self, until: Option<Instant>) -> Result<bool, P::Error> {
        let start = self.now;
        let watched = self.wait(until)?;
        self.spin.waited(self.now.saturating_since(start));
        Ok(watched)
    }

    /// Does the same as [`sleep`](Self::sleep), but does not wait.
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
        self.now = self.poller.now();
        self.expire();
        watched
    }

    /// Makes all connections due whose deadline has come.
    fn expire(&mut self) {
        while let Some(&(at, slot)) = self.deadlines.first()
            && at <= self.now
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

/// The file descriptor of the poller, for an event loop that also waits for other descriptors.
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
