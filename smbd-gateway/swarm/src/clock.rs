//! The time of the stage that a thread plays on, for code that may not know the stage.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use smbd_core::Instant;
use smbd_sim::loops::{Stage, Timer};
use smbd_testkit::host::Alarm;

thread_local! {
    static TIMERS: RefCell<Option<Timers>> = const { RefCell::new(None) };
}

struct Timers {
    stage: Stage,
    numbers: u64,
    running: BTreeMap<u64, Timer>,
    /// Who wakes later, and needs no timer of his own.
    late: Vec<(Instant, Timer)>,
}

/// From now on time is that of this stage; `None`: there is none.
pub fn of_stage(stage: Option<&Stage>) {
    let timers = stage.map(|stage| Timers {
        stage: stage.clone(),
        numbers: 0,
        running: BTreeMap::new(),
        late: Vec::new(),
    });
    drop(TIMERS.replace(timers));
}

fn with<T>(call: impl FnOnce(&mut Timers) -> T) -> Option<T> {
    TIMERS.with_borrow_mut(|timers| timers.as_mut().map(call))
}

/// The time of a run.
#[derive(Clone, Debug)]
pub struct Clock;

impl Clock {
    /// Nowhere it is always the same time.
    pub fn now(&self) -> Instant {
        with(|timers| timers.stage.now()).unwrap_or(Instant::ORIGIN)
    }

    pub fn sleep(&self, time: Duration) -> Sleep {
        let number = with(|timers| {
            timers.numbers += 1;
            timers.running.insert(timers.numbers, timers.stage.sleep(time));
            timers.numbers
        });
        Sleep { number: number.unwrap_or(0) }
    }
}

impl Alarm for Clock {
    fn wake_in(&self, time: Duration, waker: Waker) {
        let is_due = with(|timers| {
            let (now, mut timer) = (timers.stage.now(), timers.stage.sleep(time));
            timers.late.retain(|(at, _)| *at > now);
            let is_due = Pin::new(&mut timer).poll(&mut Context::from_waker(&waker)).is_ready();
            timers.late.push((now.saturating_add(time), timer));
            is_due
        });
        if is_due != Some(false) {
            waker.wake();
        }
    }
}

/// Ready at a time.
#[derive(Debug)]
#[must_use = "nobody waits unless it is polled"]
pub struct Sleep {
    number: u64,
}

impl Future for Sleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let polled =
            with(|timers| timers.running.get_mut(&self.number).map(|timer| Pin::new(timer).poll(cx)));
        polled.flatten().unwrap_or(Poll::Ready(()))
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        drop(with(|timers| timers.running.remove(&self.number)));
    }
}
