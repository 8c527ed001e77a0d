//! Waiting for a device: looking again and again for a moment, then sleeping.
//!
//! Looking is worth it if something is likely to come before a sleeper would have been woken. How long waits have lasted
//! lately says how likely that is. A software device works on the same processors, so its row of the quirk table may
//! forbid looking altogether.

use std::os::fd::{AsFd, BorrowedFd};
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use smbd_core::Instant;
use smbd_core::backend::Backend;

use crate::{Clock, Error};

/// A backend that can be waited for together with others. Its file descriptor is readable when it has something to say,
/// if it was [armed](Self::arm) since it was driven.
pub trait Waitable: Backend + AsFd {
    /// To be called before sleeping on the file descriptor. `true` if there is something to say already: drive again, and
    /// do not sleep.
    ///
    /// # Errors
    /// The device does not answer.
    fn arm(&mut self) -> Result<bool, Error>;

    /// Whether there is something to say at once, without a system call.
    fn is_ready(&mut self) -> bool;

    /// How long looking at [`is_ready`](Self::is_ready) before sleeping may be worth it, in microseconds.
    fn busy_poll_micros_max(&self) -> u64;
}

/// One wait in so many looks although sleeping seems right: things may have changed.
const EXPLORE_EVERY: u32 = 32;

/// How long to look before sleeping.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BusyPoll {
    max_nanos: u64,
    /// What a wait lasts, lately.
    expected_nanos: u64,
    waits: u32,
}

impl Default for BusyPoll {
    /// Never looks until it is allowed to.
    fn default() -> Self {
        Self { max_nanos: 0, expected_nanos: 0, waits: 0 }
    }
}

impl BusyPoll {
    /// Allows looking for this long.
    pub(crate) const fn limit_micros(&mut self, micros: u64) {
        self.max_nanos = micros.saturating_mul(1000);
    }

    /// How long to look this time.
    pub(crate) fn budget(&mut self) -> Duration {
        self.waits = self.waits.wrapping_add(1);
        let explore = self.waits.is_multiple_of(EXPLORE_EVERY);
        let worth_it = self.expected_nanos <= self.max_nanos || explore;
        if worth_it { Duration::from_nanos(self.max_nanos) } else { Duration::ZERO }
    }

    /// Something came after this long.
    pub(crate) fn waited(&mut self, time: Duration) {
        // Long waits count as a little longer than worth it, so that a single one is soon forgotten.
        let most = self.max_nanos.saturating_mul(4);
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX).min(most);
        self.expected_nanos = (self.expected_nanos.saturating_mul(3)).saturating_add(nanos) >> 2;
    }
}

/// Looks until `found` or the time of `spin` is over. Processors that have other work get to it.
pub(crate) fn busy_poll(clock: Clock, spin: &mut BusyPoll, mut found: impl FnMut() -> bool) -> bool {
    let budget = spin.budget();
    if budget.is_zero() {
        return false;
    }
    let start = clock.now();
    loop {
        if found() {
            spin.waited(clock.now().saturating_since(start));
            return true;
        }
        if clock.now().saturating_since(start) >= budget {
            return false;
        }
        thread::yield_now();
    }
}

/// Sleeps until `fd` is readable or the time has come.
pub(crate) fn sleep(fd: BorrowedFd<'_>, clock: Clock, until: Option<Instant>) -> Result<(), Error> {
    let timeout = until.map(|until| timespec(until.saturating_since(clock.now())));
    match poll(&mut [PollFd::new(&fd, PollFlags::IN)], timeout.as_ref()) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(errno) => Err(Error::system("poll", errno)),
    }
}

/// As the system takes it.
pub(crate) fn timespec(time: Duration) -> Timespec {
    Timespec {
        tv_sec: i64::try_from(time.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: time.subsec_nanos().into(),
    }
}

#[cfg(test)]
mod tests {
    use super::{BusyPoll, EXPLORE_EVERY};
    use std::time::Duration;

    fn spin() -> BusyPoll {
        let mut spin = BusyPoll::default();
        spin.limit_micros(50);
        spin
    }

    #[test]
    fn what_is_not_allowed_to_look_never_does() {
        let mut spin = BusyPoll::default();
        assert!((0..100).all(|_| spin.budget().is_zero()));
    }

    #[test]
    fn long_waits_end_the_looking_but_for_a_try_now_and_then() {
        let mut spin = spin();
        assert_eq!(spin.budget(), Duration::from_micros(50));
        for _ in 0..8 {
            spin.waited(Duration::from_secs(1));
        }
        let looks = (0..EXPLORE_EVERY * 10).filter(|_| !spin.budget().is_zero()).count();
        assert_eq!(looks, 10);
    }

    #[test]
    fn short_waits_bring_it_back() {
        let mut spin = spin();
        (0..8).for_each(|_| spin.waited(Duration::from_secs(1)));
        (0..8).for_each(|_| spin.waited(Duration::from_micros(15)));
        assert!((0..10).all(|_| spin.budget() == Duration::from_micros(50)));
    }
}
