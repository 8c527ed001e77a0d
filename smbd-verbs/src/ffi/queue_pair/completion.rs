//! A completion queue and its completion channel.

use std::{
    os::fd::BorrowedFd,
    ptr::{self, NonNull},
};

use crate::ffi::{
    CallError, Device,
    error::{non_null, ok, ok_or_errno},
    extended, set_nonblocking,
    sys::{
        ibv_ack_cq_events, ibv_comp_channel, ibv_cq, ibv_create_comp_channel, ibv_create_cq,
        ibv_destroy_comp_channel, ibv_destroy_cq, ibv_get_cq_event, ibv_poll_cq, ibv_req_notify_cq, ibv_wc,
    },
};

/// The channel of one queue.
struct Channel(NonNull<ibv_comp_channel>);

impl Drop for Channel {
    fn drop(&mut self) {
        // SAFETY: made by `ibv_create_comp_channel` and destroyed once, after its queue. An error leaves nothing to do.
        unsafe { ibv_destroy_comp_channel(self.0.as_ptr()) };
    }
}

/// A completion queue. The device stays open for ever, so nothing else has to be held.
pub(super) struct CompletionQueue {
    queue: NonNull<ibv_cq>,
    channel: Channel,
}

// SAFETY: calls of libibverbs on a queue and its channel may be made by any thread.
unsafe impl Send for CompletionQueue {}

impl CompletionQueue {
    pub(super) fn create(device: Device, entries: u32) -> Result<Self, CallError> {
        let context = device.context().as_ptr();
        let entries = i32::try_from(entries).map_err(|_| CallError::new("ibv_create_cq", libc::EINVAL))?;
        // SAFETY: a kept device is open.
        let channel =
            Channel(non_null("ibv_create_comp_channel", unsafe { ibv_create_comp_channel(context) })?);
        // SAFETY: the channel was just made and is open.
        set_nonblocking(unsafe { (*channel.0.as_ptr()).fd })?;
        // SAFETY: device and channel are open; the queue is destroyed before the channel.
        let queue = unsafe { ibv_create_cq(context, entries, ptr::null_mut(), channel.0.as_ptr(), 0) };
        Ok(Self { queue: non_null("ibv_create_cq", queue)?, channel })
    }

    pub(super) const fn as_ptr(&self) -> *mut ibv_cq {
        self.queue.as_ptr()
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the channel is open as long as `self` lives.
        unsafe { BorrowedFd::borrow_raw((*self.channel.0.as_ptr()).fd) }
    }

    /// Takes all events that wait and acknowledges them at once; returns how many there were.
    pub(super) fn take_events(&mut self) -> Result<usize, CallError> {
        let mut taken = 0;
        while self.take_event()? {
            taken += 1;
        }
        Ok(taken)
    }

    /// Takes an event and acknowledges it at once; returns whether there was one.
    pub(super) fn take_event(&mut self) -> Result<bool, CallError> {
        let (mut queue, mut context) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: the channel is open; both pointers are written if 0 is returned.
        let returned = unsafe { ibv_get_cq_event(self.channel.0.as_ptr(), &raw mut queue, &raw mut context) };
        match ok("ibv_get_cq_event", returned) {
            Ok(()) => {
                // SAFETY: the channel has one queue, so the event was of it; it is acknowledged once.
                unsafe { ibv_ack_cq_events(self.queue.as_ptr(), 1) };
                Ok(true)
            }
            Err(error) if error.errno() == libc::EAGAIN => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Asks for an event when the next completion comes.
    pub(super) fn arm(&mut self) -> Result<(), CallError> {
        // SAFETY: the queue exists.
        ok_or_errno("ibv_req_notify_cq", unsafe { ibv_req_notify_cq(self.queue.as_ptr(), 0) })
    }

    /// Fills the beginning of `out`; returns how many there were.
    #[inline]
    pub(super) fn poll(&mut self, out: &mut [ibv_wc]) -> Result<usize, CallError> {
        let room = i32::try_from(out.len()).unwrap_or(i32::MAX);
        // SAFETY: the queue exists, and `out` has room for that many.
        let got = unsafe { ibv_poll_cq(self.queue.as_ptr(), room, out.as_mut_ptr()) };
        usize::try_from(got).map_err(|_| CallError::new("ibv_poll_cq", libc::EIO))
    }

    /// See [`extended::moderate_cq`].
    pub(super) fn moderate(&mut self, count: u16, period: u16) -> Result<(), CallError> {
        // SAFETY: the queue exists.
        unsafe { extended::moderate_cq(self.queue, count, period) }
    }
}

impl Drop for CompletionQueue {
    fn drop(&mut self) {
        // SAFETY: made by `ibv_create_cq` and destroyed once, after its queue pair. It waits for events that were not
        // acknowledged, of which there are none. An error leaves nothing to do.
        unsafe { ibv_destroy_cq(self.queue.as_ptr()) };
    }
}
