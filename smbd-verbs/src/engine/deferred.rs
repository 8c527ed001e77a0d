//! An end whose connection is over.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use super::reaper::Reaper;

/// An end whose connection is over. Dropping it never waits: its engine has a thread that destroys it.
///
/// Until that is done it has what it took of the device, and counts against the limits of its listener. An engine that is
/// dropped waits for all of its ends.
pub struct DeferredDestroy<B> {
    /// `None` only while this is dropped.
    end: Option<B>,
    destroy_queue: DestroyQueue<B>,
}

/// Where ends go.
pub(super) struct DestroyQueue<B> {
    reaper: Arc<Reaper>,
    /// That `B` may move to another thread is known where this is made, and need not be said by all who have one.
    take: fn(&Reaper, B),
}

impl<B: Send + 'static> DestroyQueue<B> {
    pub(super) fn new(reaper: Reaper) -> Self {
        Self { reaper: Arc::new(reaper), take: Reaper::take }
    }
}

impl<B> DestroyQueue<B> {
    /// Destroys an end on another thread.
    pub(super) fn take(&self, end: B) {
        (self.take)(&self.reaper, end);
    }

    /// The same for an end that can still be looked at.
    pub(super) fn push(&self, end: B) -> DeferredDestroy<B> {
        let destroy_queue = Self { reaper: Arc::clone(&self.reaper), take: self.take };
        DeferredDestroy { end: Some(end), destroy_queue }
    }

    /// Ends that are being destroyed, or wait for that.
    pub(super) fn pending(&self) -> usize {
        self.reaper.pending()
    }

    /// Waits until all are destroyed.
    pub(super) fn finish(&self) {
        self.reaper.finish();
    }
}

impl<B> Deref for DeferredDestroy<B> {
    type Target = B;

    fn deref(&self) -> &B {
        self.end.as_ref().expect("an end is there until it is dropped")
    }
}

impl<B> Drop for DeferredDestroy<B> {
    fn drop(&mut self) {
        if let Some(end) = self.end.take() {
            self.destroy_queue.take(end);
        }
    }
}

impl<B: fmt::Debug> fmt::Debug for DeferredDestroy<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("DeferredDestroy").field(&self.end).finish()
    }
}
