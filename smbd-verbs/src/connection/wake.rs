//! One file descriptor for everything that a connection waits for.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::event::{EventfdFlags, Timespec, eventfd};
use rustix::io::Errno;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime,
};

use crate::{Error, wait};

/// What an end waits for besides the deadline of its connection.
#[derive(Debug)]
pub(super) struct Wake {
    all: OwnedFd,
    call: OwnedFd,
    timer: OwnedFd,
}

/// What has something to say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Ready {
    /// The connection manager.
    pub(super) events: bool,
    /// The completion channel.
    pub(super) completions: bool,
    /// A call on another thread.
    pub(super) call: bool,
    /// The timer.
    pub(super) timer: bool,
}

const EVENTS: u64 = 0;
const COMPLETIONS: u64 = 1;
const CALL: u64 = 2;
const TIMER: u64 = 3;

impl Wake {
    pub(super) fn new(events: BorrowedFd<'_>) -> Result<Self, Error> {
        let all =
            epoll::create(CreateFlags::CLOEXEC).map_err(|errno| Error::system("epoll_create1", errno))?;
        let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
        let call = eventfd(0, flags).map_err(|errno| Error::system("eventfd", errno))?;
        let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
        let timer = timerfd_create(TimerfdClockId::Monotonic, flags)
            .map_err(|errno| Error::system("timerfd_create", errno))?;
        let wake = Self { all, call, timer };
        wake.add(events, EVENTS)?;
        wake.add(wake.call.as_fd(), CALL)?;
        wake.add(wake.timer.as_fd(), TIMER)?;
        Ok(wake)
    }

    /// The completion channel, once there is one. Removed by closing it.
    pub(super) fn add_completions(&self, channel: BorrowedFd<'_>) -> Result<(), Error> {
        self.add(channel, COMPLETIONS)
    }

    /// Somebody else waits for the completion channel from now on.
    #[cfg(feature = "tokio")]
    pub(super) fn remove_completions(&self, channel: BorrowedFd<'_>) -> Result<(), Error> {
        epoll::delete(&self.all, channel).map_err(|errno| Error::system("epoll_ctl", errno))
    }

    fn add(&self, fd: BorrowedFd<'_>, name: u64) -> Result<(), Error> {
        epoll::add(&self.all, fd, EventData::new_u64(name), EventFlags::IN)
            .map_err(|errno| Error::system("epoll_ctl", errno))
    }

    /// A handle for a thread to write to when its call is back.
    pub(super) fn call_handle(&self) -> Result<OwnedFd, Error> {
        self.call.try_clone().map_err(|error| {
            let errno = error.raw_os_error().map_or(Errno::MFILE, Errno::from_raw_os_error);
            Error::system("dup", errno)
        })
    }

    /// Looks, without waiting.
    pub(super) fn ready(&self) -> Ready {
        let mut events = [Event { flags: EventFlags::empty(), data: EventData::new_u64(0) }; 4];
        let got = epoll::wait(&self.all, &mut events[..], Some(&Timespec::default())).unwrap_or(0);
        let mut ready = Ready::default();
        for event in events.iter().take(got) {
            match event.data.u64() {
                EVENTS => ready.events = true,
                COMPLETIONS => ready.completions = true,
                CALL => ready.call = self.reset(&self.call),
                _ => ready.timer = self.reset(&self.timer),
            }
        }
        ready
    }

    /// Takes what made it readable. Both counters are eight bytes.
    fn reset(&self, fd: &OwnedFd) -> bool {
        rustix::io::read(fd, &mut [0; 8]).is_ok()
    }

    /// Lets the timer say something after `after`, once, instead of what it was set to.
    pub(super) fn set_timer(&self, after: Duration) {
        let after = after.max(Duration::from_nanos(1));
        let it_value = wait::timespec(after);
        let once = Itimerspec { it_interval: Timespec::default(), it_value };
        // Cannot fail: the descriptor is a timer and the time is valid.
        let _ = timerfd_settime(&self.timer, TimerfdTimerFlags::empty(), &once);
    }
}

impl AsFd for Wake {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.all.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::{Ready, Wake};
    use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
    use std::os::fd::AsFd;
    use std::time::Duration;

    fn wait(wake: &Wake) -> Ready {
        let mut fds = [PollFd::new(wake, PollFlags::IN)];
        poll(&mut fds, None).expect("a descriptor can be waited for");
        wake.ready()
    }

    #[test]
    fn each_source_is_told_from_the_others_and_those_of_this_end_are_taken() {
        let [events, completions] =
            [0, 1].map(|first| eventfd(first, EventfdFlags::empty()).expect("eventfd"));
        let wake = Wake::new(events.as_fd()).expect("wake");
        assert_eq!(wake.ready(), Ready::default());
        wake.add_completions(completions.as_fd()).expect("added");
        assert_eq!(wait(&wake), Ready { completions: true, ..Ready::default() });
        drop(completions);
        assert_eq!(wake.ready(), Ready::default());
        wake.set_timer(Duration::ZERO);
        assert_eq!(wait(&wake), Ready { timer: true, ..Ready::default() });
        let call = wake.call_handle().expect("dup");
        rustix::io::write(&call, &1_u64.to_ne_bytes()).expect("written");
        assert_eq!(wait(&wake), Ready { call: true, ..Ready::default() });
        assert_eq!(wake.ready(), Ready::default());
        rustix::io::write(&events, &1_u64.to_ne_bytes()).expect("written");
        assert_eq!(wait(&wake), Ready { events: true, ..Ready::default() });
        assert_eq!(wake.ready(), Ready { events: true, ..Ready::default() });
    }
}
