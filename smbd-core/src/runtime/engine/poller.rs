//! What an engine is made on: who waits, and who destroys.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::error::Error;
use core::hint;

use crate::Instant;
use crate::runtime::Waitable;

/// Waits for many backends at the same time, and for what the owner of the engine watches. It has the clock of them all.
pub trait Poller<B: Waitable>: Sized {
    /// What goes wrong here. What goes wrong with a backend is an error of its own.
    type Error: Error;
    /// The clock. Clones are the same clock.
    type Clock: Clone;
    /// What can be watched besides backends.
    type Watched<'a>;

    /// A poller that waits for nothing yet.
    ///
    /// # Errors
    /// The system has no room for one.
    fn open(clock: Self::Clock) -> Result<Self, Self::Error>;

    /// The clock.
    fn clock(&self) -> Self::Clock;

    /// The time on the clock.
    fn now(&self) -> Instant;

    /// From now on waits for `backend` as well; `name` says that it has something to say. A name is used again after
    /// [`remove`](Self::remove).
    ///
    /// # Errors
    /// There is no room for it.
    fn add(&mut self, backend: &B, name: usize) -> Result<(), Self::Error>;

    /// No longer waits for `backend`.
    fn remove(&mut self, backend: &B, name: usize);

    /// From now on waits for something else as well.
    ///
    /// # Errors
    /// It cannot be waited for.
    fn watch(&self, what: Self::Watched<'_>) -> Result<(), Self::Error>;

    /// Waits until a backend that was armed has something to say, what is watched has, or `until` has come. Does not wait
    /// if it has come already; waits as long as it takes if there is none. Appends the names of the backends to `ready`;
    /// whether what is watched has something. May come back for nothing.
    ///
    /// # Errors
    /// The system fails.
    fn wait(&mut self, until: Option<Instant>, ready: &mut Vec<usize>) -> Result<bool, Self::Error>;

    /// Between two looks at backends that may have something to say soon.
    fn pause(&self) {
        hint::spin_loop();
    }

    /// Who destroys the backends of connections that are over. Without one it is whoever drops them.
    ///
    /// # Errors
    /// The system has no room for one.
    fn reaper(&self) -> Result<Arc<dyn Reaper<B> + Send + Sync>, Self::Error> {
        Ok(Arc::new(AtOnce))
    }
}

/// Destroys backends where nobody waits for that: a device may take its time.
pub trait Reaper<B> {
    /// Destroys a backend, without waiting for it. After [`finish`](Self::finish) it may wait.
    fn take(&self, backend: B);

    /// Backends that are being destroyed, or wait for that.
    fn pending(&self) -> usize;

    /// Waits until all are destroyed.
    fn finish(&self);
}

/// Where nothing takes long.
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
