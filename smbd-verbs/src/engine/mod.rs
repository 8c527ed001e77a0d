//! Many connections on one thread.
//!
//! An engine sleeps on one file descriptor for all its ends. A connection is *due* when something is known to have
//! happened, *hot* when it was driven and its device was not asked to wake anybody yet, and asleep otherwise. Hot ones are
//! looked at for a moment before everything sleeps, as far as that has been worth it lately. However busy some are, the
//! others and what is watched are looked at every so many turns. What is over is destroyed on threads of its own.

mod deferred;
mod driven;
mod reaper;
mod slots;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::fmt;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io::Errno;
use smbd_core::backend::{Handler, Protocol, drive};
use smbd_core::{Endpoint, Instant};

use crate::wait::{self, BusyPoll, Waitable};
use crate::{Clock, Error, VerbsConnection};
pub use deferred::DeferredDestroy;
use deferred::DestroyQueue;
use driven::{Driven, State};
pub use driven::{EngineError, Finished};
use reaper::Reaper;
pub use slots::Key;
use slots::Slots;

/// Events taken from the system at a time.
const EVENTS_MAX: usize = 64;
/// One turn in so many asks the system for events although nothing would sleep: it is a system call.
const POLL_EVENTS_EVERY: u32 = 32;
/// Name of a watched descriptor: no slot is that high.
const WATCHED: u64 = u64::MAX;

/// Drives many connections. Their machines are [`Endpoint`]s or [`Connection`](smbd_core::Connection)s, their upper layers
/// of one type, and so are their backends: [`VerbsConnection`]s unless said otherwise.
///
/// Dropped, it ends all connections at once and waits until their ends are destroyed.
pub struct Engine<U, M = Endpoint, B = VerbsConnection> {
    clock: Clock,
    all: OwnedFd,
    slots: Slots<Driven<U, M, B>>,
    deadlines: BTreeSet<(Instant, usize)>,
    due: Vec<usize>,
    /// What `due` was, emptied: kept for its memory.
    spare: Vec<usize>,
    hot: Vec<usize>,
    finished: Vec<Finished<U, M, B>>,
    /// Turns that drove something since the system was asked for events.
    turns: u32,
    spin: BusyPoll,
    /// What the caller allows instead of what the devices' rows do.
    busy_poll_for: Option<u64>,
    destroy_queue: DestroyQueue<B>,
}

impl<U: Handler<B, M>, M: Protocol, B: Waitable + Send + 'static> Engine<U, M, B> {
    /// An engine without connections.
    ///
    /// # Errors
    /// The system has no file descriptor left, or starts no thread.
    pub fn new(clock: Clock) -> Result<Self, Error> {
        let all =
            epoll::create(CreateFlags::CLOEXEC).map_err(|errno| Error::system("epoll_create1", errno))?;
        Ok(Self {
            clock,
            all,
            slots: Slots::default(),
            deadlines: BTreeSet::new(),
            due: Vec::new(),
            spare: Vec::new(),
            hot: Vec::new(),
            finished: Vec::new(),
            turns: 0,
            spin: BusyPoll::default(),
            busy_poll_for: None,
            destroy_queue: DestroyQueue::new(Reaper::new()?),
        })
    }

    /// The clock that all backends given to [`add`](Self::add) have to share.
    #[must_use]
    pub const fn clock(&self) -> Clock {
        self.clock
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

    /// Ends that were dropped and are not destroyed yet: a device may take more than a minute for one. No connection waits
    /// for that, but each counts against the limits of its listener until then.
    #[must_use]
    pub fn destroying(&self) -> usize {
        self.destroy_queue.pending()
    }

    /// Takes a connection in. It is driven from the next [`poll`](Self::poll) on.
    ///
    /// # Errors
    /// The system takes no more file descriptors.
    pub fn add(&mut self, machine: M, end: B, upper: U) -> Result<Key, Error> {
        let driven = Driven { machine, end, upper, deadline: None, state: State::Asleep, is_hot: false };
        let key = self.slots.insert(driven);
        let added = match self.slots.at(key.slot) {
            Some(driven) => self.watch_as(driven.end.as_fd(), name_of(key.slot)),
            None => Ok(()),
        };
        if let Err(error) = added {
            if let Some((_, driven)) = self.slots.remove(key.slot) {
                self.destroy_queue.take(driven.end);
            }
            return Err(error);
        }
        self.make_due(key.slot);
        Ok(key)
    }

    /// Makes [`poll`](Self::poll) come back when `fd` is readable: a listener, a signal, a queue of another thread.
    ///
    /// # Errors
    /// The descriptor cannot be waited for.
    pub fn watch(&self, fd: BorrowedFd<'_>) -> Result<(), Error> {
        self.watch_as(fd, WATCHED)
    }

    fn watch_as(&self, fd: BorrowedFd<'_>, name: u64) -> Result<(), Error> {
        epoll::add(&self.all, fd, EventData::new_u64(name), EventFlags::IN)
            .map_err(|errno| Error::system("epoll_ctl", errno))
    }

    /// Allows looking for completions for so long before sleeping, in microseconds; 0 for never. Without this the quirk
    /// table decides.
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

    /// When [`poll`](Self::poll) is due at the latest, for a caller that sleeps by itself on the engine's descriptor.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        if self.due.is_empty() { self.deadlines.first().map(|(at, _)| *at) } else { Some(Instant::ORIGIN) }
    }

    /// Waits until something happens or `until`, then drives what it concerns. Comes back as soon as anything was driven
    /// or a watched descriptor is readable; says whether one is. While connections are busy that is looked at now and then
    /// only, so that a server need not ask its listener, which is a system call, after every message. Its owner takes one
    /// request for each `true`: connections that are there already have their turn in between.
    ///
    /// With an `until` in the past it does not wait, and leaves everything armed: then the engine's descriptor is readable
    /// when something happens.
    ///
    /// # Errors
    /// The system fails. What fails on one connection is told with what it [`finished`](Self::finished) with.
    pub fn poll(&mut self, until: Option<Instant>) -> Result<bool, Error> {
        loop {
            let driven = self.drive_due();
            if until.is_some_and(|until| until <= self.clock.now()) {
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
        let spare = std::mem::take(&mut self.spare);
        let mut due = std::mem::replace(&mut self.due, spare);
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
                if !std::mem::replace(&mut driven.is_hot, true) {
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

    fn finish(&mut self, slot: usize, result: Result<(), EngineError>) {
        let Some((key, Driven { machine, end, upper, deadline, .. })) = self.slots.remove(slot) else {
            return;
        };
        if let Some(noted) = deadline {
            self.deadlines.remove(&(noted, slot));
        }
        // Its descriptor goes with the end, and with it its place among those waited for.
        let _ = epoll::delete(&self.all, end.as_fd());
        let end = self.destroy_queue.push(end);
        self.finished.push(Finished { key, machine, end, upper, result });
    }

    /// Looks at what was driven last, for as long as it is worth it.
    fn busy_poll(&mut self) -> bool {
        let Self { clock, slots, hot, spin, busy_poll_for, .. } = self;
        let allowed = |slot: &usize| slots.at(*slot).map(|driven| driven.end.busy_poll_micros_max());
        let Some(most) = hot.iter().filter_map(allowed).max() else { return false };
        spin.limit_micros(busy_poll_for.unwrap_or(most));
        let mut ready = None;
        wait::busy_poll(*clock, spin, || {
            ready = hot
                .iter()
                .copied()
                .find(|slot| slots.at_mut(*slot).is_some_and(|driven| driven.end.is_ready()));
            ready.is_some()
        });
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
                Err(error) => self.finish(slot, Err(error.into())),
            }
        }
    }

    /// Sleeps; makes due what has something to say. Whether a watched descriptor has.
    fn sleep(&mut self, until: Option<Instant>) -> Result<bool, Error> {
        let start = self.clock.now();
        let timeout = until.map(|until| wait::timespec(until.saturating_since(start)));
        let watched = self.take_events(timeout.as_ref())?;
        self.spin.waited(self.clock.now().saturating_since(start));
        Ok(watched)
    }

    /// As [`sleep`](Self::sleep), without sleeping.
    fn poll_events(&mut self) -> Result<bool, Error> {
        self.take_events(Some(&wait::timespec(Duration::ZERO)))
    }

    fn take_events(&mut self, timeout: Option<&Timespec>) -> Result<bool, Error> {
        self.turns = 0;
        let mut events = [Event { flags: EventFlags::empty(), data: EventData::new_u64(0) }; EVENTS_MAX];
        let got = match epoll::wait(&self.all, &mut events[..], timeout) {
            Ok(got) => got,
            Err(Errno::INTR) => 0,
            Err(errno) => return Err(Error::system("epoll_wait", errno)),
        };
        let mut watched = false;
        for event in events.iter().take(got) {
            match usize::try_from(event.data.u64()) {
                Ok(slot) if event.data.u64() != WATCHED => self.make_due(slot),
                _ => watched = true,
            }
        }
        self.expire();
        Ok(watched)
    }

    /// Makes due what has waited long enough.
    fn expire(&mut self) {
        let now = self.clock.now();
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

/// A slot as the system gives it back.
fn name_of(slot: usize) -> u64 {
    u64::try_from(slot).unwrap_or(WATCHED)
}

impl<U, M, B> Drop for Engine<U, M, B> {
    fn drop(&mut self) {
        // All at the same time.
        self.finished.clear();
        for driven in self.slots.drain() {
            self.destroy_queue.take(driven.end);
        }
        self.destroy_queue.finish();
    }
}

impl<U, M, B> AsFd for Engine<U, M, B> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.all.as_fd()
    }
}

impl<U, M, B> fmt::Debug for Engine<U, M, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine").field("connections", &self.slots.len()).finish_non_exhaustive()
    }
}
