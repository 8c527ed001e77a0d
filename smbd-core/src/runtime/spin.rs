use core::time::Duration;

use crate::Instant;

/// One wait in so many looks although sleeping seems right: things may have changed.
const EXPLORE_EVERY: u32 = 32;

/// How long to look for something again and again before sleeping.
///
/// Looking is worth it if something is likely to come before a sleeper would have been woken. How long waits have lasted
/// lately says how likely that is.
#[derive(Clone, Copy, Debug)]
pub struct BusyPoll {
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
    /// Allows looking for this long, in microseconds.
    pub const fn limit_micros(&mut self, micros: u64) {
        self.max_nanos = micros.saturating_mul(1000);
    }

    /// How long to look this time.
    fn budget(&mut self) -> Duration {
        self.waits = self.waits.wrapping_add(1);
        let explore = self.waits.is_multiple_of(EXPLORE_EVERY);
        let worth_it = self.expected_nanos <= self.max_nanos || explore;
        if worth_it { Duration::from_nanos(self.max_nanos) } else { Duration::ZERO }
    }

    /// Something came after this long, or the sleep for it ended.
    pub fn waited(&mut self, time: Duration) {
        // Long waits count as a little longer than worth it, so that a single one is soon forgotten.
        let most = self.max_nanos.saturating_mul(4);
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX).min(most);
        self.expected_nanos = (self.expected_nanos.saturating_mul(3)).saturating_add(nanos) >> 2;
    }

    /// Looks until `found`, or as long as it is worth it by the clock `now`; whether it was found. `pause` is called
    /// between two looks: threads with other work may have their turn.
    pub fn look(
        &mut self,
        now: impl Fn() -> Instant,
        mut pause: impl FnMut(),
        mut found: impl FnMut() -> bool,
    ) -> bool {
        let budget = self.budget();
        if budget.is_zero() {
            return false;
        }
        let start = now();
        loop {
            if found() {
                self.waited(now().saturating_since(start));
                return true;
            }
            if now().saturating_since(start) >= budget {
                return false;
            }
            pause();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{BusyPoll, EXPLORE_EVERY};
    use core::time::Duration;

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
