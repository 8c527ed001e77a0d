//! Unix sockets without a reactor.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::PacketSocket;
use super::buffer::PacketBuffer;
use super::system::{self, receive, send};

/// A connected socket that nothing watches: what is `Pending` wakes nobody. Whoever polls it waits
/// ([`Deadline::wait`]) and polls again.
#[derive(Debug)]
pub struct Packets(OwnedFd);

impl Packets {
    /// Of a connected socket. It does not wait in calls from now on, and neither do copies of it.
    ///
    /// # Errors
    /// It is no socket.
    pub fn new(socket: OwnedFd) -> io::Result<Self> {
        system::prepare(socket.as_fd())?;
        Ok(Self(socket))
    }

    /// Of a socket that listens at a path.
    ///
    /// # Errors
    /// Nobody listens there, or it is not allowed.
    pub fn connect(path: &Path) -> io::Result<Self> {
        Self::new(system::connect(path)?)
    }
}

impl AsFd for Packets {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl From<Packets> for OwnedFd {
    fn from(packets: Packets) -> Self {
        packets.0
    }
}

impl PacketSocket for Packets {
    type Descriptor = OwnedFd;

    fn poll_receive(
        &mut self,
        _: &mut Context<'_>,
        packet: &mut PacketBuffer,
    ) -> Poll<io::Result<Vec<OwnedFd>>> {
        at_once(|| receive(self.0.as_fd(), packet))
    }

    fn poll_send(
        &mut self,
        _: &mut Context<'_>,
        packet: &[u8],
        descriptor: Option<&OwnedFd>,
    ) -> Poll<io::Result<()>> {
        at_once(|| send(self.0.as_fd(), packet, descriptor.map(AsFd::as_fd)))
    }
}

/// `Pending` if the system would wait.
fn at_once<T>(mut work: impl FnMut() -> io::Result<T>) -> Poll<io::Result<T>> {
    loop {
        match work() {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Poll::Pending,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return Poll::Ready(result),
        }
    }
}

/// Until when a call waits.
#[derive(Clone, Copy, Debug)]
pub struct Deadline(Option<Instant>);

impl Deadline {
    /// After this time from now on; never with `None`.
    #[must_use]
    pub fn after(timeout: Option<Duration>) -> Self {
        Self(timeout.and_then(|timeout| now().checked_add(timeout)))
    }

    /// Waits until a socket is what is wanted, or closed. False if it is too late.
    ///
    /// # Errors
    /// The system refuses.
    pub fn wait(self, socket: BorrowedFd<'_>, wanted: Wanted) -> io::Result<bool> {
        let flags = match wanted {
            Wanted::Readable => PollFlags::IN,
            Wanted::Writable => PollFlags::OUT,
            Wanted::Either => PollFlags::IN | PollFlags::OUT,
        };
        loop {
            let left = self.0.map(|until| until.saturating_duration_since(now()));
            let time = left.map(Timespec::try_from).transpose().map_err(|_| io::ErrorKind::InvalidInput)?;
            match poll(&mut [PollFd::from_borrowed_fd(socket, flags)], time.as_ref()) {
                Ok(0) => return Ok(false),
                Ok(_) => return Ok(true),
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// What a socket is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// Something to receive.
    Readable,
    /// Room to send.
    Writable,
    /// One of both.
    Either,
}

#[expect(clippy::disallowed_methods, reason = "what waits by itself knows the time")]
fn now() -> Instant {
    Instant::now()
}
