//! A backend with a file descriptor in tokio's reactor.

use std::fmt;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use rustix::io::Errno;
use smbd_core::backend::{Backend, BackendOp, HostMemory, OutOfMemory, OutOfRange, ReceiveMemory};
use smbd_core::{Input, Instant, RecvId};
use smbd_link::handles::PollReady;
use tokio::io::unix::AsyncFd;
use tokio::time::{Sleep, sleep};

use super::told::Told;
use crate::{Error, VerbsConnection};

/// Longest time of a timer. A task that is woken early finds nothing to do and waits again.
const SLEEP_MAX: Duration = Duration::from_secs(3600);

/// A backend that tokio tasks can wait for: a [`VerbsConnection`], or another backend with a file descriptor.
pub struct AsyncEnd<B = VerbsConnection> {
    /// Dropped before `end`, whose descriptors they watch.
    readable: Readable,
    /// That of completions, when there is one.
    completions: Option<Readable>,
    timer: Option<(Instant, Pin<Box<Sleep>>)>,
    end: B,
}

/// A file descriptor in tokio's reactor.
pub(super) struct Readable(AsyncFd<OwnedFd>);

impl Readable {
    /// Registers a duplicate of `fd`, which stays open for as long as the reactor uses it.
    pub(super) fn new(fd: BorrowedFd<'_>) -> Result<Self, Error> {
        Self::over(fd.try_clone_to_owned().map_err(|error| of(&error))?)
    }

    #[expect(deprecated, reason = "the unsafe `register` asks for a descriptor that stays: an OwnedFd does")]
    fn over(fd: OwnedFd) -> Result<Self, Error> {
        AsyncFd::new(fd).map(Self).map_err(|error| of(&error))
    }

    /// Ready if the descriptor may be readable. The readiness is cleared before the caller reads, so later events are
    /// reported again.
    pub(super) fn poll(&self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        match self.0.poll_read_ready(cx) {
            Poll::Ready(Ok(mut guard)) => {
                guard.clear_ready();
                Poll::Ready(Ok(()))
            }
            Poll::Ready(Err(error)) => Poll::Ready(Err(of(&error))),
            Poll::Pending => Poll::Pending,
        }
    }
}

/// The error without an error number is that of a reactor that is shut down.
fn of(error: &io::Error) -> Error {
    Error::system("epoll", error.raw_os_error().map_or(Errno::SHUTDOWN, Errno::from_raw_os_error))
}

impl<B: Told> AsyncEnd<B> {
    /// Registers the file descriptor of `end` with tokio's reactor. Returns at once. Call it inside a runtime with I/O
    /// and time enabled.
    ///
    /// # Errors
    /// The descriptor cannot be duplicated or registered.
    pub fn new(end: B) -> Result<Self, Error> {
        Ok(Self { readable: Readable::new(end.as_fd())?, completions: None, timer: None, end })
    }

    /// Removes the backend from the reactor and returns it.
    ///
    /// # Errors
    /// Its descriptors cannot be joined.
    pub fn into_inner(mut self) -> Result<B, Error> {
        if self.completions.take().is_some() {
            self.end.join_completions()?;
        }
        Ok(self.end)
    }

    /// Whether the task need not sleep: something is to be done already, or a descriptor was readable.
    fn poll_input(&mut self, cx: &mut Context<'_>) -> Result<bool, Error> {
        loop {
            if self.end.arm_told()? {
                return Ok(true);
            }
            if self.completions.is_none() {
                self.completions = self.end.split_completions()?.map(Readable::over).transpose()?;
            }
            let Some(completions) = &self.completions else { break };
            if completions.poll(cx)?.is_pending() {
                break;
            }
            // Armed again, it says whether anything has come.
            self.end.completions_readable();
        }
        let is_readable = self.readable.poll(cx)?.is_ready();
        if is_readable {
            self.end.others_readable();
        }
        Ok(is_readable)
    }
}

impl<B> AsyncEnd<B> {
    /// The backend.
    pub const fn get_ref(&self) -> &B {
        &self.end
    }

    /// The backend.
    pub const fn get_mut(&mut self) -> &mut B {
        &mut self.end
    }
}

impl<B: Told> PollReady for AsyncEnd<B> {
    type Error = Error;

    fn poll_ready(&mut self, cx: &mut Context<'_>, until: Option<Instant>) -> Poll<Result<(), Error>> {
        if self.poll_input(cx)? {
            return Poll::Ready(Ok(()));
        }
        let Some(until) = until else {
            self.timer = None;
            return Poll::Pending;
        };
        let now = self.end.now();
        if until <= now {
            return Poll::Ready(Ok(()));
        }
        let wait = || Box::pin(sleep(until.saturating_since(now).min(SLEEP_MAX)));
        // Most deadlines move away with every message. A timer that is early is looked at for nothing, which costs less than to
        // set it every time.
        let (at, timer) = self.timer.get_or_insert_with(|| (until, wait()));
        if until < *at {
            (*at, *timer) = (until, wait());
        }
        if timer.as_mut().poll(cx).is_pending() {
            return Poll::Pending;
        }
        self.timer = None;
        Poll::Ready(Ok(()))
    }
}

impl<B: Backend> ReceiveMemory for AsyncEnd<B> {
    fn received(&self, id: RecvId) -> &[u8] {
        self.end.received(id)
    }
}

impl<B: Backend> Backend for AsyncEnd<B> {
    type Buffer = B::Buffer;

    fn now(&self) -> Instant {
        self.end.now()
    }

    fn execute(&mut self, step: BackendOp<'_, B::Buffer>) {
        self.end.execute(step);
    }

    fn ring_doorbell(&mut self) {
        self.end.ring_doorbell();
    }

    fn next_input(&mut self) -> Option<Input<'_>> {
        self.end.next_input()
    }
}

impl<B: HostMemory> HostMemory for AsyncEnd<B> {
    fn allocate(&mut self, len: u32) -> Result<B::Buffer, OutOfMemory> {
        self.end.allocate(len)
    }

    fn fill(&mut self, buffer: &B::Buffer, offset: u32, bytes: &[u8]) -> Result<(), OutOfRange> {
        self.end.fill(buffer, offset, bytes)
    }

    fn read(&self, buffer: &B::Buffer, offset: u32, out: &mut [u8]) -> Result<(), OutOfRange> {
        self.end.read(buffer, offset, out)
    }
}

impl<B: fmt::Debug> fmt::Debug for AsyncEnd<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("AsyncEnd").field(&self.end).finish()
    }
}
