//! The platform of an engine: a poller that waits for backends, and a reaper that destroys them.

use std::error::Error;
use std::hint;
use std::sync::Arc;
use std::vec::Vec;

use crate::Waitable;
use smbd_core::Instant;

/// Waits for many backends at the same time, and for objects that the owner of the engine watches. It has the clock of
/// all backends.
pub trait Poller<B: Waitable>: Sized {
    /// The error of the poller. A backend has an error type of its own.
    type Error: Error;
    /// The clock. A clone shows the same time.
    type Clock: Clone;
    /// An object that can be watched besides backends.
    type Watched<'a>;

    /// A poller without backends and watched objects.
    ///
    /// # Errors
    /// The system cannot create it.
    fn open(clock: Self::Clock) -> Result<Self, Self::Error>;

    /// The clock of this poller.
    fn clock(&self) -> Self::Clock;

    /// The present time on the clock.
    fn now(&self) -> Instant;

    /// Adds `backend` to the backends that [`wait`](Self::wait) waits for. `name` stands for it there. A name may be
    /// used again after [`remove`](Self::remove).
    ///
    /// # Errors
    /// The system cannot add it.
    fn add(&mut self, backend: &B, name: usize) -> Result<(), Self::Error>;

    /// Removes `backend` from the backends that [`wait`](Self::wait) waits for.
    fn remove(&mut self, backend: &B, name: usize);

    /// Adds `what` to the watched objects that [`wait`](Self::wait) waits for.
    ///
    /// # Errors
    /// The system cannot wait for it.
    fn watch(&self, what: Self::Watched<'_>) -> Result<(), Self::Error>;

    /// Waits until an [armed](Waitable::arm) backend is ready, a watched object is ready, or the time `until` has come.
    /// Does not wait if that is in the past; waits without limit if it is `None`. Appends the names of ready backends
    /// to `ready`. Returns whether a watched object is ready. It may return early with nothing ready.
    ///
    /// # Errors
    /// A system call fails.
    fn wait(&mut self, until: Option<Instant>, ready: &mut Vec<usize>) -> Result<bool, Self::Error>;

    /// Called between two polls of hot backends. The default is [`hint::spin_loop`].
    fn pause(&self) {
        hint::spin_loop();
    }

    /// The reaper that destroys the backends of connections that are over. The default destroys a backend where it is
    /// dropped.
    ///
    /// # Errors
    /// The system cannot create it.
    fn reaper(&self) -> Result<Arc<dyn Reaper<B> + Send + Sync>, Self::Error> {
        Ok(Arc::new(AtOnce))
    }
}

/// Destroys backends without blocking the engine. A device may need more than a minute for one.
pub trait Reaper<B> {
    /// Takes a backend to destroy it, and returns at once. After [`finish`](Self::finish) it may block instead.
    fn take(&self, backend: B);

    /// The number of backends that were taken and are not destroyed yet.
    fn pending(&self) -> usize;

    /// Waits until all backends are destroyed.
    fn finish(&self);
}

/// Destroys a backend at once, on the calling thread.
struct AtOnce;

impl<B> Reaper<B> for AtOnce {
    fn take(&self, backend: B) {
        drop(backend);
    }

    fn pending(&self) -> usize {
        0
    }

    fn finish(&self) {}
}
