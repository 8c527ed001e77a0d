//! MessageIds and credits (3.2.4.1.2, 3.2.4.1.3, 3.2.4.1.6).

/// Connection.SequenceWindow. Ids are taken from its lower end, one after the other, so none is left out; each credit that is
/// granted lengthens its upper end by one.
#[derive(Debug)]
pub(super) struct Window {
    next: u64,
    end: u64,
    /// Credits that unanswered requests have asked for.
    asked: u64,
    /// How many credits the connection is to have.
    target: u16,
}

impl Window {
    /// That of a new connection: the id 0.
    pub(super) const fn new(target: u16) -> Self {
        Self { next: 0, end: 1, asked: 0, target }
    }

    /// The id that is taken next.
    pub(super) const fn next(&self) -> u64 {
        self.next
    }

    /// Credits that can be spent now.
    pub(super) const fn available(&self) -> u64 {
        self.end.saturating_sub(self.next)
    }

    /// Credits that there will be if the server grants what it was asked for.
    pub(super) const fn expected(&self) -> u64 {
        self.available().saturating_add(self.asked)
    }

    /// Takes the ids of a request that needs `credits` of them, and says how many credits it asks for: as many as bring the
    /// connection to its target, and never none if it would have none.
    pub(super) fn take(&mut self, credits: u16) -> Option<(u64, u16)> {
        let credits = u64::from(credits.max(1));
        let id = self.next;
        let next = id.checked_add(credits).filter(|next| *next <= self.end)?;
        self.next = next;
        let wanted = u64::from(self.target).saturating_sub(self.expected());
        let asked = u16::try_from(wanted).unwrap_or(u16::MAX);
        let asked = if self.expected() == 0 { asked.max(1) } else { asked };
        self.asked = self.asked.saturating_add(u64::from(asked));
        Some((id, asked))
    }

    /// An answer to a request that had asked for so many (3.2.5.1.4).
    pub(super) fn on_answer(&mut self, asked: u16, granted: u16) {
        self.asked = self.asked.saturating_sub(u64::from(asked));
        self.end = self.end.saturating_add(u64::from(granted));
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn ids_follow_each_other_and_never_exceed_what_was_granted(
            target in 1..200_u16, steps in prop::collection::vec((1..20_u16, 0..40_u16, any::<bool>()), 1..100),
        ) {
            let (mut window, mut granted, mut next) = (Window::new(target), 1_u64, 0_u64);
            let mut unanswered = Vec::new();
            for (credits, grant, answers) in steps {
                if let Some((id, asked)) = window.take(credits) {
                    prop_assert_eq!(id, next);
                    next += u64::from(credits);
                    unanswered.push(asked);
                    prop_assert!(window.expected() > 0);
                } else {
                    prop_assert!(next + u64::from(credits) > granted);
                }
                if let Some(asked) = answers.then(|| unanswered.pop()).flatten() {
                    window.on_answer(asked, grant);
                    granted += u64::from(grant);
                }
                prop_assert!(next <= granted);
                prop_assert_eq!(window.available(), granted - next);
            }
        }
    }

    #[test]
    fn a_server_that_grants_what_is_asked_brings_the_connection_to_its_target_and_keeps_it_there() {
        let mut window = Window::new(8);
        for credits in [1, 3, 8, 1] {
            let (_, asked) = window.take(credits).unwrap();
            window.on_answer(asked, asked);
            assert_eq!(window.available(), 8);
        }
    }

    #[test]
    fn a_connection_with_more_than_its_target_asks_for_none_until_it_has_shrunk() {
        let mut window = Window::new(4);
        let (_, asked) = window.take(1).unwrap();
        window.on_answer(asked, 6);
        assert_eq!([window.take(1), window.take(1)], [Some((1, 0)), Some((2, 0))]);
        assert_eq!(window.take(1), Some((3, 1)));
    }
}
