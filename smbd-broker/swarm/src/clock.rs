//! Virtual time, for code that may not know the devices.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use smbd_core::Instant;
use smbd_testkit::host::Alarm;
use smbd_testkit::swarm::notes::Timed;

/// The time of a run. Clones are the same clock.
#[derive(Clone, Debug)]
pub struct Clock(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    now: Instant,
    numbers: u64,
    /// Who sleeps, by number.
    sleepers: BTreeMap<u64, (Instant, Waker)>,
}

impl Clock {
    pub fn new() -> Self {
        Self(Arc::new(Mutex::new(State { now: Instant::ORIGIN, numbers: 0, sleepers: BTreeMap::new() })))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn now(&self) -> Instant {
        self.lock().now
    }

    /// It is so late, or later. Wakes who has slept until then.
    pub fn pass_to(&self, at: Instant) {
        let mut state = self.lock();
        state.now = state.now.max(at);
        let now = state.now;
        let due: Vec<u64> =
            state.sleepers.iter().filter(|(_, (at, _))| *at <= now).map(|(number, _)| *number).collect();
        let woken: Vec<_> = due.iter().filter_map(|number| state.sleepers.remove(number)).collect();
        drop(state);
        woken.into_iter().for_each(|(_, waker)| waker.wake());
    }

    /// When the next of those who sleep wakes.
    pub fn next_time(&self) -> Option<Instant> {
        self.lock().sleepers.values().map(|(at, _)| *at).min()
    }

    pub fn sleep_until(&self, at: Instant) -> Sleep {
        let mut state = self.lock();
        state.numbers += 1;
        Sleep { clock: self.clone(), number: state.numbers, at }
    }

    pub fn sleep(&self, time: Duration) -> Sleep {
        let at = self.now().saturating_add(time);
        self.sleep_until(at)
    }
}

impl Timed for Clock {
    fn now(&self) -> Instant {
        Self::now(self)
    }
}

impl Alarm for Clock {
    fn wake_in(&self, time: Duration, waker: Waker) {
        let mut state = self.lock();
        state.numbers += 1;
        let (number, at) = (state.numbers, state.now.saturating_add(time));
        state.sleepers.insert(number, (at, waker));
    }
}

/// Ready at a time.
#[derive(Debug)]
#[must_use = "nobody waits unless it is polled"]
pub struct Sleep {
    clock: Clock,
    number: u64,
    at: Instant,
}

impl Sleep {
    /// Wakes the task of `cx` at another time.
    pub fn wake_at(&mut self, at: Instant, cx: &Context<'_>) {
        self.at = at;
        self.clock.lock().sleepers.insert(self.number, (at, cx.waker().clone()));
    }
}

impl Future for Sleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let mut state = self.clock.lock();
        if self.at <= state.now {
            state.sleepers.remove(&self.number);
            return Poll::Ready(());
        }
        state.sleepers.insert(self.number, (self.at, cx.waker().clone()));
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        self.clock.lock().sleepers.remove(&self.number);
    }
}
