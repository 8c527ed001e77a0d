//! Locks that are held briefly: what the clients of a server wait for one another for.
//!
//! A call of the system may wait for a disk, a network or another program, so none is made under such a lock. [`may_wait`] stands before each
//! call that looks up, opens, reads or changes a file; debug builds, and so all tests, panic there with such a lock held.

use std::ops::{Deref, DerefMut};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// A value behind a lock that is held briefly.
#[derive(Debug, Default)]
pub(crate) struct Brief<T> {
    value: Mutex<T>,
    changed: Condvar,
    /// Threads that wait in [`Brief::lock_unless`].
    #[cfg(test)]
    pub(crate) waiting: std::sync::atomic::AtomicUsize,
}

/// The value, locked.
pub(crate) struct Held<'a, T> {
    // Unlocked first.
    value: MutexGuard<'a, T>,
    _mark: Mark,
}

impl<T> Brief<T> {
    pub(crate) fn new(value: T) -> Self {
        Self {
            value: Mutex::new(value),
            changed: Condvar::new(),
            #[cfg(test)]
            waiting: std::sync::atomic::AtomicUsize::new(0),
        }
    }

    /// Locks it. A thread that has panicked with the value has left it as whole as an error would have.
    pub(crate) fn lock(&self) -> Held<'_, T> {
        Held { value: self.value.lock().unwrap_or_else(PoisonError::into_inner), _mark: Mark::new() }
    }

    /// Locks it when `is_busy` no longer holds, which is looked at after each [`Self::changed`]. Returns whether this thread had to wait.
    pub(crate) fn lock_unless(&self, mut is_busy: impl FnMut(&T) -> bool) -> (Held<'_, T>, bool) {
        let Held { mut value, _mark } = self.lock();
        let mut has_waited = false;
        while is_busy(&value) {
            has_waited = true;
            #[cfg(test)]
            self.waiting.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            value = self.changed.wait(value).unwrap_or_else(PoisonError::into_inner);
            #[cfg(test)]
            self.waiting.fetch_sub(1, std::sync::atomic::Ordering::SeqCst);
        }
        (Held { value, _mark }, has_waited)
    }

    /// Wakes those who wait for a change.
    pub(crate) fn changed(&self) {
        self.changed.notify_all();
    }
}

impl<T> Deref for Held<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> DerefMut for Held<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.value
    }
}

#[cfg(debug_assertions)]
mod mark {
    use std::cell::Cell;

    thread_local! {
        /// Locks that this thread holds.
        static HELD: Cell<u32> = const { Cell::new(0) };
    }

    pub(crate) struct Mark(());

    impl Mark {
        pub(super) fn new() -> Self {
            HELD.with(|held| held.set(held.get().saturating_add(1)));
            Self(())
        }
    }

    impl Drop for Mark {
        fn drop(&mut self) {
            HELD.with(|held| held.set(held.get().saturating_sub(1)));
        }
    }

    /// Stands before a call of the system that may wait.
    pub(crate) fn may_wait() {
        assert_eq!(HELD.with(Cell::get), 0, "a call of the system under a lock that others wait for");
    }
}

#[cfg(not(debug_assertions))]
mod mark {
    pub(crate) struct Mark;

    impl Mark {
        pub(super) const fn new() -> Self {
            Self
        }
    }

    pub(crate) const fn may_wait() {}
}

use self::mark::Mark;
pub(crate) use self::mark::may_wait;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "a call of the system under a lock")]
    fn a_call_of_the_system_under_the_lock_panics() {
        let brief = Brief::new(0);
        let _held = brief.lock();
        may_wait();
    }

    #[test]
    fn without_the_lock_a_call_of_the_system_is_made() {
        let brief = Brief::new(0);
        drop(brief.lock());
        drop(brief.lock_unless(|_| false));
        may_wait();
    }

    #[test]
    fn who_waits_goes_on_after_the_change() {
        let brief = Brief::new(true);
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| brief.lock_unless(|is_busy| *is_busy).1);
            *brief.lock() = false;
            brief.changed();
            // It has waited, or came when it was over.
            waits.join().unwrap();
        });
        assert!(!brief.lock_unless(|is_busy| *is_busy).1);
    }
}
