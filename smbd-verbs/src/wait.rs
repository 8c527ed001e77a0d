//! Sleeping on a file descriptor.

use std::os::fd::BorrowedFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use smbd_core::Instant;

use crate::{Clock, Error};

/// Sleeps until `fd` is readable or the time has come.
pub(crate) fn sleep(fd: BorrowedFd<'_>, clock: Clock, until: Option<Instant>) -> Result<(), Error> {
    let timeout = until.map(|until| timespec(until.saturating_since(clock.now())));
    match poll(&mut [PollFd::new(&fd, PollFlags::IN)], timeout.as_ref()) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(errno) => Err(Error::system("poll", errno)),
    }
}

/// Whether `fd` is readable at this moment.
#[cfg(feature = "tokio")]
pub(crate) fn is_readable(fd: BorrowedFd<'_>) -> bool {
    poll(&mut [PollFd::new(&fd, PollFlags::IN)], Some(&Timespec::default())).is_ok_and(|got| got > 0)
}

/// As the system takes it.
pub(crate) fn timespec(time: Duration) -> Timespec {
    Timespec {
        tv_sec: i64::try_from(time.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: time.subsec_nanos().into(),
    }
}
