use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use super::poller::Reaper;

/// The backend of a connection that is over. Dropping it returns at once and passes the backend to the engine's
/// [`Reaper`], which destroys it.
///
/// The backend keeps its resources of the device until it is destroyed. Dropping the engine waits for that.
pub struct DeferredDestroy<B> {
    /// `None` only while this is dropped.
    end: Option<B>,
    reaper: Arc<dyn Reaper<B> + Send + Sync>,
}

impl<B> DeferredDestroy<B> {
    pub(super) fn new(end: B, reaper: &Arc<dyn Reaper<B> + Send + Sync>) -> Self {
        Self { end: Some(end), reaper: Arc::clone(reaper) }
    }
}

impl<B> Deref for DeferredDestroy<B> {
    type Target = B;

    #[expect(clippy::expect_used, reason = "only `drop` takes it")]
    fn deref(&self) -> &B {
        self.end.as_ref().expect("an end is there until it is dropped")
    }
}

impl<B> Drop for DeferredDestroy<B> {
    fn drop(&mut self) {
        if let Some(end) = self.end.take() {
            self.reaper.take(end);
        }
    }
}

impl<B: fmt::Debug> fmt::Debug for DeferredDestroy<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("DeferredDestroy").field(&self.end).finish()
    }
}
