//! Signals as a file descriptor that the engine can watch.

use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

use signal_hook::consts::{SIGINT, SIGTERM, SIGUSR1};

/// Readable when a signal came.
#[derive(Debug)]
pub(crate) struct Signals {
    stop: UnixStream,
    show: UnixStream,
}

impl Signals {
    pub(crate) fn register() -> io::Result<Self> {
        Ok(Self { stop: pipe(&[SIGINT, SIGTERM])?, show: pipe(&[SIGUSR1])? })
    }

    pub(crate) fn fds(&self) -> [BorrowedFd<'_>; 2] {
        [self.stop.as_fd(), self.show.as_fd()]
    }

    /// Whether SIGINT or SIGTERM came since the last look.
    pub(crate) fn stop(&mut self) -> bool {
        came(&mut self.stop)
    }

    /// Whether SIGUSR1 came since the last look.
    pub(crate) fn show(&mut self) -> bool {
        came(&mut self.show)
    }
}

fn pipe(signals: &[i32]) -> io::Result<UnixStream> {
    let (receive, send) = UnixStream::pair()?;
    receive.set_nonblocking(true)?;
    for signal in signals {
        signal_hook::low_level::pipe::register(*signal, send.try_clone()?)?;
    }
    Ok(receive)
}

fn came(stream: &mut UnixStream) -> bool {
    let mut any = false;
    while matches!(stream.read(&mut [0; 64]), Ok(1..)) {
        any = true;
    }
    any
}
