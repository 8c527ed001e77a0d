//! One epoll file descriptor for all connections of an engine.

use std::fmt;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::thread;

use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io::Errno;
use smbd_core::Instant;
use smbd_link::Waitable;
use smbd_link::engine::{self, Poller};

use super::reaper::Reaper;
use crate::{Clock, Error, wait};

/// Most events of one `epoll_wait`.
const EVENTS_MAX: usize = 64;
/// The name of all watched descriptors. No backend has it.
const WATCHED: u64 = u64::MAX;

/// Waits with epoll for backends with a file descriptor that is readable when they have input. The backends are
/// destroyed on other threads.
pub struct Epoll {
    clock: Clock,
    all: OwnedFd,
}

impl Epoll {
    fn add(&self, fd: BorrowedFd<'_>, name: u64) -> Result<(), Error> {
        epoll::add(&self.all, fd, EventData::new_u64(name), EventFlags::IN)
            .map_err(|errno| Error::system("epoll_ctl", errno))
    }
}

impl<B: Waitable + AsFd + Send + 'static> Poller<B> for Epoll {
    type Error = Error;
    type Clock = Clock;
    type Watched<'a> = BorrowedFd<'a>;

    fn open(clock: Clock) -> Result<Self, Error> {
        let all =
            epoll::create(CreateFlags::CLOEXEC).map_err(|errno| Error::system("epoll_create1", errno))?;
        Ok(Self { clock, all })
    }

    fn clock(&self) -> Clock {
        self.clock
    }

    fn now(&self) -> Instant {
        self.clock.now()
    }

    fn add(&mut self, backend: &B, name: usize) -> Result<(), Error> {
        Self::add(self, backend.as_fd(), u64::try_from(name).unwrap_or(WATCHED))
    }

    fn remove(&mut self, backend: &B, _: usize) {
        // One that is not there is not waited for either.
        let _ = epoll::delete(&self.all, backend.as_fd());
    }

    /// Watches a file descriptor: it is ready when it is readable.
    fn watch(&self, fd: BorrowedFd<'_>) -> Result<(), Error> {
        Self::add(self, fd, WATCHED)
    }

    fn wait(&mut self, until: Option<Instant>, ready: &mut Vec<usize>) -> Result<bool, Error> {
        let timeout = until.map(|until| match until {
            // Asked for without a look at the clock.
            Instant::ORIGIN => wait::timespec(std::time::Duration::ZERO),
            until => wait::timespec(until.saturating_since(self.clock.now())),
        });
        let mut events = [Event { flags: EventFlags::empty(), data: EventData::new_u64(0) }; EVENTS_MAX];
        let got = match epoll::wait(&self.all, &mut events[..], timeout.as_ref()) {
            Ok(got) => got,
            Err(Errno::INTR) => 0,
            Err(errno) => return Err(Error::system("epoll_wait", errno)),
        };
        let mut watched = false;
        for event in events.iter().take(got) {
            match usize::try_from(event.data.u64()) {
                Ok(name) if event.data.u64() != WATCHED => ready.push(name),
                _ => watched = true,
            }
        }
        Ok(watched)
    }

    fn pause(&self) {
        // Processors that have other work get to it.
        thread::yield_now();
    }

    fn reaper(&self) -> Result<Arc<dyn engine::Reaper<B> + Send + Sync>, Error> {
        Ok(Arc::new(Reaper::new()?))
    }
}

impl AsFd for Epoll {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.all.as_fd()
    }
}

impl fmt::Debug for Epoll {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Epoll").finish_non_exhaustive()
    }
}
