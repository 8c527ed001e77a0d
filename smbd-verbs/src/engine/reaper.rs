//! Threads that destroy ends of connections. A device may need long for one, and no other connection should wait for
//! that: it is 69 s where rxe's connection manager repeats a message without an answer.

use std::any::Any;
use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use rustix::io::Errno;
use smbd_link::engine;

use crate::Error;

/// Most threads at a time. The limit of the listener bounds the ends that wait for one, because they still count.
const THREADS_MAX: usize = 64;
/// Size of the stack of such a thread, in bytes. It only calls librdmacm and libibverbs.
const STACK: usize = 128 << 10;

/// A value to destroy.
type Remains = Box<dyn Any + Send>;

/// Destroys values on its threads. One thread always exists. Others start when it is busy, and end when no value is
/// left.
pub(super) struct Reaper(Arc<Shared>);

#[derive(Default)]
struct Shared {
    // Shared: ends that are over go to threads that destroy them. Locked once for an end.
    state: Mutex<State>,
    /// Notified when there is a value to destroy, or the reaper is closed.
    // Shared: as the state.
    changed: Condvar,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Remains>,
    /// Values that wait or are being destroyed.
    pending: usize,
    threads: Vec<JoinHandle<()>>,
    /// Threads that were started and have not decided to end.
    live: usize,
    /// Of those, threads that wait for a value.
    idle: usize,
    closed: bool,
}

impl Reaper {
    /// A reaper with its first thread.
    ///
    /// # Errors
    /// The system cannot start a thread.
    pub(super) fn new() -> Result<Self, Error> {
        let reaper = Self(Arc::default());
        reaper.start(&mut reaper.0.lock()).map_err(|error| {
            let errno = error.raw_os_error().map_or(Errno::AGAIN, Errno::from_raw_os_error);
            Error::system("thread", errno)
        })?;
        Ok(reaper)
    }

    /// Destroys `remains` on another thread and returns at once. After [`close`](Self::close) it destroys it on this
    /// one.
    fn destroy(&self, remains: impl Any + Send) {
        let mut state = self.0.lock();
        if state.closed {
            // Not under the lock: it may take long.
            drop(state);
            drop(remains);
            return;
        }
        state.waiting.push_back(Box::new(remains));
        state.pending = state.pending.saturating_add(1);
        if state.idle < state.waiting.len() && state.live < THREADS_MAX {
            // If there is no other thread, one of those that are there comes to it.
            let _ = self.start(&mut state);
        }
        drop(state);
        self.0.changed.notify_one();
    }

    /// The number of values that are not destroyed yet.
    fn left(&self) -> usize {
        self.0.lock().pending
    }

    /// Waits until all values are destroyed.
    fn close(&self) {
        let mut state = self.0.lock();
        state.closed = true;
        let threads = std::mem::take(&mut state.threads);
        drop(state);
        self.0.changed.notify_all();
        for thread in threads {
            // Its panic would have been that of a destructor, which was caught.
            let _ = thread.join();
        }
    }

    fn start(&self, state: &mut State) -> io::Result<()> {
        let shared = Arc::clone(&self.0);
        let builder = thread::Builder::new().name("smbd-verbs reaper".into()).stack_size(STACK);
        let thread = builder.spawn(move || shared.work())?;
        state.live = state.live.saturating_add(1);
        state.threads.retain(|thread| !thread.is_finished());
        state.threads.push(thread);
        Ok(())
    }
}

impl Shared {
    /// Nothing that can panic happens under the lock.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The loop of a thread.
    fn work(&self) {
        let mut state = self.lock();
        loop {
            if let Some(remains) = state.waiting.pop_front() {
                drop(state);
                // A destructor that panics must not take the thread with it: others wait for theirs.
                let _ = catch_unwind(AssertUnwindSafe(|| drop(remains)));
                state = self.lock();
                state.pending = state.pending.saturating_sub(1);
            } else if state.closed || state.idle > 0 {
                state.live = state.live.saturating_sub(1);
                return;
            } else {
                state.idle = state.idle.saturating_add(1);
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                state.idle = state.idle.saturating_sub(1);
            }
        }
    }
}

impl<B: Send + 'static> engine::Reaper<B> for Reaper {
    fn take(&self, backend: B) {
        self.destroy(backend);
    }

    fn pending(&self) -> usize {
        self.left()
    }

    fn finish(&self) {
        self.close();
    }
}

impl Drop for Reaper {
    fn drop(&mut self) {
        self.close();
    }
}

impl fmt::Debug for Reaper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reaper").field("pending", &self.left()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::{Reaper, THREADS_MAX};
    use std::sync::mpsc::{Receiver, Sender, channel};

    /// Says when its destruction begins, and ends it when it is let.
    struct Slow {
        name: usize,
        begun: Sender<usize>,
        let_go: Receiver<()>,
    }

    impl Slow {
        /// One whose destruction nobody holds up.
        fn quick(name: usize, begun: &Sender<usize>) -> Self {
            let (_, let_go) = channel();
            Self { name, begun: begun.clone(), let_go }
        }
    }

    impl Drop for Slow {
        fn drop(&mut self) {
            self.begun.send(self.name).unwrap();
            // Or its other side is gone.
            let _ = self.let_go.recv();
        }
    }

    #[test]
    fn what_takes_long_holds_up_nothing_else() {
        let reaper = Reaper::new().unwrap();
        let (begun, seen) = channel();
        let mut holders = Vec::new();
        for name in 0..THREADS_MAX {
            let (holder, let_go) = channel();
            reaper.destroy(Slow { name, begun: begun.clone(), let_go });
            holders.push(holder);
        }
        let mut all: Vec<_> = (0..THREADS_MAX).map(|_| seen.recv().unwrap()).collect();
        all.sort_unstable();
        assert_eq!(all, (0..THREADS_MAX).collect::<Vec<_>>());
        // One more waits for the first that is done.
        reaper.destroy(Slow::quick(THREADS_MAX, &begun));
        assert_eq!((seen.try_recv().ok(), reaper.left()), (None, THREADS_MAX + 1));
        drop(holders.pop());
        assert_eq!(seen.recv(), Ok(THREADS_MAX));
        drop(holders);
        reaper.close();
        assert_eq!(reaper.left(), 0);
    }

    #[test]
    fn a_destructor_that_panics_ends_no_thread() {
        struct Bad;
        impl Drop for Bad {
            fn drop(&mut self) {
                std::panic::resume_unwind(Box::new(()));
            }
        }
        let reaper = Reaper::new().unwrap();
        let (begun, seen) = channel();
        reaper.destroy(Bad);
        reaper.destroy(Slow::quick(1, &begun));
        assert_eq!(seen.recv(), Ok(1));
    }

    #[test]
    fn all_is_destroyed_when_it_has_finished_and_at_once_afterwards() {
        let reaper = Reaper::new().unwrap();
        let (begun, seen) = channel();
        for name in 0..10 {
            reaper.destroy(Slow::quick(name, &begun));
        }
        reaper.close();
        assert_eq!(seen.try_iter().count(), 10);
        reaper.destroy(Slow::quick(10, &begun));
        assert_eq!(seen.try_recv(), Ok(10));
    }
}
