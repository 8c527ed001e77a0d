//! Message ids that a client may use (3.3.1.1), and credits (3.3.1.2).

use alloc::collections::BTreeSet;

/// Connection.CommandSequenceWindow: ids that were granted and not yet used.
///
/// From the lowest of them to the highest there are never more than the limit. So a client that leaves one out gets no more credits
/// than that, and one that has used all gets at least one.
#[derive(Debug)]
pub(super) struct Window {
    /// The lowest id that was not used.
    low: u64,
    /// The first id that was not granted.
    high: u64,
    /// Those between that were used.
    used: BTreeSet<u64>,
    limit: u64,
}

impl Window {
    pub(super) const fn new(limit: u16) -> Self {
        Self { low: 0, high: 1, used: BTreeSet::new(), limit: limit as u64 }
    }

    /// One whose first id was used for NEGOTIATE, with so many granted. `None` if they are more than the limit, or none.
    pub(super) const fn behind_negotiate(limit: u16, granted: u16) -> Option<Self> {
        if granted == 0 || granted > limit {
            return None;
        }
        Some(Self {
            low: 1,
            high: (granted as u64).saturating_add(1),
            used: BTreeSet::new(),
            limit: limit as u64,
        })
    }

    /// Somebody else has granted so many. False if that is above the limit.
    pub(super) const fn was_granted(&mut self, count: u16) -> bool {
        self.high = self.high.saturating_add(count as u64);
        self.high.saturating_sub(self.low) <= self.limit
    }

    /// Takes `count` ids from `first` on out of the window; false, and nothing is taken, if one of them is not in it.
    pub(super) fn take(&mut self, first: u64, count: u64) -> bool {
        let Some(end) = first.checked_add(count) else { return false };
        if first < self.low || end > self.high || self.used.range(first..end).next().is_some() {
            return false;
        }
        self.used.extend(first..end);
        while self.used.remove(&self.low) {
            self.low = self.low.saturating_add(1);
        }
        true
    }

    /// How many credits a client gets that asks for so many: what it asks for within the limit, and at least one if it has none.
    pub(super) fn grant(&mut self, asked: u16) -> u16 {
        let span = self.high.saturating_sub(self.low);
        let is_empty = span == self.used.len() as u64;
        let wanted = if is_empty { asked.max(1) } else { asked };
        let room = self.limit.saturating_sub(span).max(u64::from(is_empty));
        let granted = wanted.min(u16::try_from(room).unwrap_or(u16::MAX));
        self.high = self.high.saturating_add(granted.into());
        granted
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_new_connection_may_use_0_and_nothing_else() {
        assert!(!Window::new(8).take(1, 1));
        let mut window = Window::new(8);
        assert!(window.take(0, 1));
        assert!(!window.take(0, 1), "twice");
    }

    #[test]
    fn behind_negotiate_as_many_ids_as_were_granted_may_be_used_and_no_others() {
        let mut window = Window::behind_negotiate(4, 3).unwrap();
        assert!(!window.take(0, 1), "that of NEGOTIATE");
        assert!(window.take(1, 3));
        assert!(!window.take(4, 1));
        assert!(window.was_granted(4));
        assert!(window.take(4, 4));
        assert_eq!(window.grant(100), 4);
        assert!(!window.was_granted(1));
        assert!(Window::behind_negotiate(4, 0).is_none());
        assert!(Window::behind_negotiate(4, 5).is_none());
    }

    #[test]
    fn an_id_that_was_left_out_may_come_later_and_stops_the_grants_until_then() {
        let mut window = Window::new(4);
        assert!(window.take(0, 1));
        assert_eq!(window.grant(100), 4);
        assert!(window.take(2, 3));
        assert_eq!(window.grant(100), 0);
        assert!(window.take(1, 1));
        assert_eq!(window.grant(100), 4);
    }

    #[test]
    fn ids_that_would_pass_the_end_of_all_numbers_are_refused() {
        assert!(!Window::new(4).take(u64::MAX, 2));
    }

    proptest! {
        /// Against a list of all ids, each with what became of it.
        #[test]
        fn credits_are_never_above_the_limit_and_no_client_has_none(
            limit in 1_u16..20,
            steps in prop::collection::vec((0_u64..40, 1_u64..5, 0_u16..30), 0..60),
        ) {
            let mut window = Window::new(limit);
            let mut free: Vec<u64> = alloc::vec![0];
            let mut next = 1;
            for (first, count, asked) in steps {
                let wanted: Vec<u64> = (first..first + count).collect();
                let is_free = wanted.iter().all(|id| free.contains(id));
                prop_assert_eq!(window.take(first, count), is_free);
                if is_free {
                    free.retain(|id| !wanted.contains(id));
                }
                let granted = window.grant(asked);
                prop_assert!(granted <= asked.max(1));
                for _ in 0..granted {
                    free.push(next);
                    next += 1;
                }
                prop_assert!(!free.is_empty(), "no credit is left");
                let span = free.iter().max().unwrap() - free.iter().min().unwrap() + 1;
                prop_assert!(span <= u64::from(limit), "{} ids, {} allowed", span, limit);
            }
        }
    }
}
