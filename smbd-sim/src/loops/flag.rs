//! A waker that remembers that it was called.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Wake;

/// Says that it was woken.
pub(super) struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Flag {
    pub(super) fn new(raised: bool) -> Arc<Self> {
        Arc::new(Self(AtomicBool::new(raised)))
    }

    pub(super) fn take(&self) -> bool {
        self.0.swap(false, Ordering::Relaxed)
    }

    pub(super) fn is_raised(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
