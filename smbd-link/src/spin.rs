use std::time::Duration;

use smbd_core::Instant;

/// Waits after which polling is tried although recent waits were long.
const EXPLORE_EVERY: u32 = 32;

/// Backends that are looked at in vain before the clock is read and others get the processor. Both may be calls of the system, which take
/// longer than looks: what comes meanwhile is seen late.
const LOOKS_OF_TIME: usize = 16;

/// Decides how long to poll before a thread sleeps.
///
/// Polling is useful if a result is likely to come before a sleeping thread would be woken. The average of recent waits
/// is the estimate: if it is above the limit, the thread sleeps at once, except for every 32nd wait.
#[derive(Clone, Copy, Debug)]
pub struct BusyPoll {
    max_nanos: u64,
    /// The moving average of recent waits.
    expected_nanos: u64,
    waits: u32,
}

impl Default for BusyPoll {
    /// A limit of 0: it never polls.
    fn default() -> Self {
        Self { max_nanos: 0, expected_nanos: 0, waits: 0 }
    }
}

impl BusyPoll {
    /// Sets the longest time of polling, in microseconds; 0 turns it off.
    pub const fn limit_micros(&mut self, micros: u64) {
        self.max_nanos = micros.saturating_mul(1000);
    }

    /// The time of polling for this wait.
    fn budget(&mut self) -> Duration {
        self.waits = self.waits.wrapping_add(1);
        let explore = self.waits.is_multiple_of(EXPLORE_EVERY);
        let worth_it = self.expected_nanos <= self.max_nanos || explore;
        if worth_it { Duration::from_nanos(self.max_nanos) } else { Duration::ZERO }
    }

    /// Adds the duration of a wait to the average.
    pub fn waited(&mut self, time: Duration) {
        // Long waits count as a little longer than worth it, so that a single one is soon forgotten.
        let most = self.max_nanos.saturating_mul(4);
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX).min(most);
        self.expected_nanos = (self.expected_nanos.saturating_mul(3)).saturating_add(nanos) >> 2;
    }

    /// Calls `found`, which looks at so many `backends`, until it returns `true` or the time of polling has passed since `now`. Returns
    /// whether it returned `true`; then the time that took is added to the average. After some calls in vain, sixteen if it looks at
    /// one backend, the clock is read (`read`), and `now` is that time. `pause` is called before, for example to yield to other threads.
    pub fn look(
        &mut self,
        now: &mut Instant,
        backends: usize,
        read: impl Fn() -> Instant,
        mut pause: impl FnMut(),
        mut found: impl FnMut() -> bool,
    ) -> bool {
        let budget = self.budget();
        if budget.is_zero() {
            return false;
        }
        let looks = LOOKS_OF_TIME.checked_div(backends).unwrap_or(1).max(1);
        let start = *now;
        loop {
            let is_found = (0..looks).any(|_| found());
            let waited = now.saturating_since(start);
            if is_found {
                self.waited(waited);
            }
            if is_found || waited >= budget {
                return is_found;
            }
            pause();
            *now = read();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::time::Duration;

    use super::{BusyPoll, EXPLORE_EVERY};
    use smbd_core::Instant;

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

    #[test]
    fn the_clock_is_read_and_others_get_the_processor_once_in_sixteen_backends() {
        for (backends, looks) in [(0, 1), (1, 16), (2, 8), (5, 3), (16, 1), (100, 1)] {
            let mut spin = spin();
            let (mut now, times, pauses) = (Instant::ORIGIN, Cell::new(0), Cell::new(0));
            let read = || {
                times.set(times.get() + 1);
                Instant::from_nanos(times.get() * 10_000)
            };
            let looked = Cell::new(0);
            let found = || {
                looked.set(looked.get() + 1);
                false
            };
            let is_found = spin.look(&mut now, backends, read, || pauses.set(pauses.get() + 1), found);
            // 50 us are over when the clock is read for the fifth time; then it looks once more.
            assert_eq!(
                (is_found, times.get(), pauses.get(), looked.get()),
                (false, 5, 5, 6 * looks),
                "{backends}"
            );
            assert_eq!(now, Instant::from_nanos(50_000));
        }
    }

    #[test]
    fn what_is_found_ends_the_looking_at_once() {
        let (mut spin, mut now, mut looks) = (spin(), Instant::ORIGIN, 0);
        let found = || {
            looks += 1;
            looks == 18
        };
        assert!(spin.look(&mut now, 1, || Instant::from_nanos(3000), || {}, found));
        assert_eq!((looks, now, spin.expected_nanos), (18, Instant::from_nanos(3000), 750));
    }
}
