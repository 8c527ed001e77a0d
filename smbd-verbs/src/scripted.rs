//! A device for tests of the loops: a bell, and nothing behind it.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender};

use rustix::event::{EventfdFlags, eventfd};
use smbd_core::backend::{Backend, BackendOp, ReceiveMemory};
use smbd_core::error::DisconnectReason;
use smbd_core::{Input, Instant, RecvId};
use smbd_link::Waitable;

use crate::{Clock, Error};

/// A device that says something when its bell rings, or all the time.
pub(crate) struct Device {
    pub(crate) clock: Clock,
    pub(crate) bell: OwnedFd,
    pub(crate) never_pauses: bool,
    /// What a drive has taken of it, and whether it has asked to be woken since.
    pub(crate) said: bool,
    // Shared: for tests.
    pub(crate) armed: Arc<AtomicBool>,
    pub(crate) farewell: Option<Farewell>,
    /// It cannot be armed.
    pub(crate) is_broken: bool,
}

impl Device {
    pub(crate) fn new(clock: Clock, never_pauses: bool) -> Self {
        let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
        let bell = eventfd(0, flags).unwrap();
        Self {
            clock,
            bell,
            never_pauses,
            said: false,
            armed: Arc::default(),
            farewell: None,
            is_broken: false,
        }
    }

    pub(crate) fn ring_bell(&self) {
        rustix::io::write(&self.bell, &1_u64.to_ne_bytes()).unwrap();
    }
}

/// The destruction of a device takes until somebody allows it.
pub(crate) struct Farewell {
    pub(crate) begun: Sender<()>,
    pub(crate) allowed: Receiver<()>,
}

impl Drop for Farewell {
    fn drop(&mut self) {
        self.begun.send(()).unwrap();
        // Or nobody is there to allow it.
        let _ = self.allowed.recv();
    }
}

impl AsFd for Device {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }
}

impl ReceiveMemory for Device {
    fn received(&self, _: RecvId) -> &[u8] {
        &[]
    }
}

impl Backend for Device {
    type Buffer = ();

    fn now(&self) -> Instant {
        self.clock.now()
    }

    fn execute(&mut self, _: BackendOp<'_, ()>) {}

    fn ring_doorbell(&mut self) {}

    fn next_input(&mut self) -> Option<Input<'_>> {
        let rung = || rustix::io::read(&self.bell, &mut [0; 8]).is_ok();
        // One at a time, then a pause: a drive ends.
        self.said = !self.said && (self.never_pauses || rung());
        self.said.then_some(Input::Disconnected { reason: DisconnectReason::PeerClosed })
    }
}

impl Waitable for Device {
    type Error = Error;

    fn arm(&mut self) -> Result<bool, Error> {
        if self.is_broken {
            return Err(Error::system("ibv_req_notify_cq", rustix::io::Errno::IO));
        }
        self.armed.store(true, Ordering::Relaxed);
        Ok(self.never_pauses)
    }

    fn is_ready(&mut self) -> bool {
        self.never_pauses
    }

    fn busy_poll_micros_max(&self) -> u64 {
        10_000_000
    }
}
