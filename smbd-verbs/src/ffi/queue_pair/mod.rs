//! A reliable queue pair that owns all memory its device may touch.

mod chain;
mod chain_error;
mod completion;
#[cfg(test)]
mod fake;
#[cfg(feature = "faults")]
mod limit;
mod poll;
mod receives;
mod sends;
mod slab;
mod windows;
mod work_list;

use std::{
    fmt, mem,
    os::fd::BorrowedFd,
    ptr::{self, NonNull},
    sync::Arc,
};

pub(crate) use chain::{Body, Message, SendFlags};
pub(crate) use chain_error::ChainError;
use completion::CompletionQueue;
pub(crate) use poll::Completion;
use poll::Polled;
use receives::Receives;
use sends::Sends;
pub(crate) use slab::slab_bytes;
use windows::Windows;

use super::{
    CallError, CmId, ProtectionDomain,
    error::{ok, ok_or_errno},
    sys::{
        ibv_modify_qp, ibv_qp, ibv_qp_attr, ibv_qp_attr_mask, ibv_qp_cap, ibv_qp_init_attr, ibv_qp_state,
        ibv_qp_type, rdma_create_qp, rdma_destroy_qp,
    },
};

/// How large a queue pair is made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizes {
    /// Receives that can be out.
    pub(crate) recv_wr: u32,
    /// Work requests of the send queue that can be out.
    pub(crate) send_wr: u32,
    /// Elements of a send.
    pub(crate) send_sge: u32,
    /// Bytes of a message that travel with the work request, if the device can.
    pub(crate) inline: u32,
    /// Completions that can wait. At least `recv_wr` and `send_wr` together: a flush makes one of each.
    pub(crate) cq_entries: u32,
    /// Receive buffers.
    pub(crate) recv_slots: u32,
    /// Their length in bytes.
    pub(crate) recv_len: u32,
    /// Send buffers.
    pub(crate) send_slots: u32,
    /// Their length in bytes.
    pub(crate) send_len: u32,
    /// Sends shorter than this are handed over alone; 0 for devices that have no trouble with chains of them.
    pub(crate) post_alone_below: u32,
}

/// What the device made of [`Sizes`]; of work requests never more than was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Granted {
    /// Work requests of the send queue that can be out.
    pub(crate) send_wr: u32,
    /// Receives that can be out.
    pub(crate) recv_wr: u32,
    /// Elements of a send.
    pub(crate) send_sge: u32,
    /// Bytes of a message that travel with the work request.
    pub(crate) inline: u32,
}

/// A chain was not accepted as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PostError {
    /// How many of it were.
    pub(crate) accepted: usize,
    /// Why the next one was not.
    pub(crate) errno: i32,
}

/// Counters of a queue pair, from its creation on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueCounters {
    /// Calls of `ibv_post_send`.
    pub send_posts: u64,
    /// Calls of `ibv_post_recv`.
    pub recv_posts: u64,
    /// Work requests that the send queue accepted.
    pub sends: u64,
    /// Receives that the receive queue accepted.
    pub recvs: u64,
    /// Calls of `ibv_poll_cq`.
    pub polls: u64,
    /// Those of them that returned no completion.
    pub empty_polls: u64,
    /// Completions of the send queue.
    pub completions_send: u64,
    /// Completions of the receive queue.
    pub completions_recv: u64,
}

/// A queue pair. Fields are in the order in which they are given up, after the queue pair itself.
pub(crate) struct QueuePair {
    /// `None` once destroyed.
    queue: Option<NonNull<ibv_qp>>,
    completions: CompletionQueue,
    sends: Sends,
    windows: Windows,
    receives: Receives,
    polled: Polled,
    granted: Granted,
    post_alone_below: u32,
    #[cfg(feature = "faults")]
    limit: limit::Limit,
    counters: QueueCounters,
    _domain: Arc<ProtectionDomain>,
    id: Arc<CmId>,
}

// SAFETY: calls of libibverbs on a queue pair may be made by any thread; calls of librdmacm that change it hold the
// lock of its id.
unsafe impl Send for QueuePair {}

impl QueuePair {
    /// Makes the queue pair of `id`, which has the device of `domain`, with its completion queue and buffers.
    pub(crate) fn create(
        id: &Arc<CmId>,
        domain: &Arc<ProtectionDomain>,
        sizes: &Sizes,
    ) -> Result<Self, CallError> {
        let completions = CompletionQueue::create(domain.device(), sizes.cq_entries)?;
        let recv_slab = Receives::slab(domain, sizes.recv_slots, sizes.recv_len)?;
        let send_slab = Sends::slab(domain, sizes.send_slots, sizes.send_len)?;
        let (queue, cap) = match create(id, domain, &completions, sizes, sizes.inline) {
            // Devices refuse more than they can do instead of granting less.
            Err(error) if error.errno() == libc::EINVAL && sizes.inline > 0 => {
                create(id, domain, &completions, sizes, 0)
            }
            result => result,
        }?;
        // Devices round up; the completion queue has room for what was asked.
        let granted = Granted {
            send_wr: cap.max_send_wr.min(sizes.send_wr),
            recv_wr: cap.max_recv_wr.min(sizes.recv_wr),
            send_sge: cap.max_send_sge,
            inline: cap.max_inline_data,
        };
        Ok(Self {
            queue: Some(queue),
            completions,
            sends: Sends::new(send_slab, granted.send_wr),
            windows: Windows::default(),
            receives: Receives::new(recv_slab, granted.recv_wr),
            polled: Polled::new(),
            granted,
            post_alone_below: sizes.post_alone_below,
            #[cfg(feature = "faults")]
            limit: limit::Limit::default(),
            counters: QueueCounters::default(),
            _domain: Arc::clone(domain),
            id: Arc::clone(id),
        })
    }

    /// What the device granted.
    pub(crate) const fn granted(&self) -> Granted {
        self.granted
    }

    /// What it has done.
    pub(crate) const fn counters(&self) -> QueueCounters {
        self.counters
    }

    /// Readable when an event waits, see [`arm`](Self::arm).
    pub(crate) fn completion_fd(&self) -> BorrowedFd<'_> {
        self.completions.fd()
    }

    /// Takes the events that wait; returns how many there were.
    pub(crate) fn take_completion_events(&mut self) -> Result<usize, CallError> {
        self.completions.take_events()
    }

    /// Takes an event; returns whether there was one.
    #[cfg(feature = "tokio")]
    pub(crate) fn take_completion_event(&mut self) -> Result<bool, CallError> {
        self.completions.take_event()
    }

    /// Asks for an event when the next completion comes. One that is there already raises none: poll again after it.
    pub(crate) fn arm(&mut self) -> Result<(), CallError> {
        self.completions.arm()
    }

    /// Has events wait for `count` completions or `period` microseconds. Software devices cannot (`EOPNOTSUPP`).
    pub(crate) fn set_moderation(&mut self, count: u16, period: u16) -> Result<(), CallError> {
        self.completions.moderate(count, period)
    }

    /// Chains a receive into `slot`, of `len` bytes. The slot is with the device from now on.
    #[inline]
    pub(crate) fn chain_recv(&mut self, wr_id: u64, slot: u16, len: u32) -> Result<(), ChainError> {
        self.receives.chain(wr_id, slot, len)
    }

    /// The message in `slot`; empty if it is with the device or holds none.
    #[inline]
    pub(crate) fn received(&self, slot: u16) -> &[u8] {
        self.receives.received(slot)
    }

    /// Hands over the chained receives. What was not accepted is forgotten.
    #[inline]
    pub(crate) fn ring_recvs(&mut self) -> Result<(), PostError> {
        let chained = self.receives.chained();
        if chained == 0 {
            return Ok(());
        }
        let post = |count| {
            let queue = self.queue.ok_or((0, libc::EINVAL))?;
            self.counters.recv_posts += 1;
            // SAFETY: the queue pair exists until `destroy`.
            unsafe { self.receives.hand_over(queue, count) }
        };
        #[cfg(feature = "faults")]
        let post = |count| self.limit.hold(count, post);
        let (accepted, result) = settle(chained, post);
        self.receives.end_chain(accepted);
        self.counters.recvs += accepted as u64;
        result
    }

    /// Hands over what is chained for the send queue. What was not accepted is forgotten.
    #[inline]
    pub(crate) fn ring_sends(&mut self) -> Result<(), PostError> {
        let chained = self.sends.chained();
        if chained == 0 {
            return Ok(());
        }
        let post = |count| {
            let queue = self.queue.ok_or((0, libc::EINVAL))?;
            // SAFETY: the queue pair exists until `destroy`.
            unsafe { self.sends.hand_over(queue, count, &mut self.counters.send_posts) }
        };
        #[cfg(feature = "faults")]
        let post = |count| self.limit.hold(count, post);
        let (accepted, result) = settle(chained, post);
        self.sends.end_chain(accepted);
        self.counters.sends += accepted as u64;
        result
    }

    /// Stops the queue pair; what is out is flushed.
    pub(crate) fn set_error(&self) -> Result<(), CallError> {
        let queue = self.queue.ok_or(CallError::new("ibv_modify_qp", libc::EINVAL))?;
        // SAFETY: integers and structures of them; all may be zero.
        let mut attributes: ibv_qp_attr = unsafe { mem::zeroed() };
        attributes.qp_state = ibv_qp_state::IBV_QPS_ERR;
        let mask = ibv_qp_attr_mask::IBV_QP_STATE.0 as i32;
        let (_, _alone) = self.id.exclusive();
        // SAFETY: the queue pair exists until `destroy`, and librdmacm is not changing its state.
        ok_or_errno("ibv_modify_qp", unsafe { ibv_modify_qp(queue.as_ptr(), &raw mut attributes, mask) })
    }

    /// Destroys the queue pair, and the windows that it bound. What was out is given up and not kept any longer;
    /// completions that are there can still be polled, and messages that arrived be read. Later work is refused with
    /// `EINVAL`. Waits for a [`connect`](CmId::connect) of the same id.
    pub(crate) fn destroy(&mut self) {
        self.receives.end_chain(0);
        self.sends.end_chain(0);
        if let Some(queue) = self.queue.take() {
            self.windows.free(queue);
            let (id, _alone) = self.id.exclusive();
            // SAFETY: the id exists, alone in its call, and has this queue pair, which is not used any more.
            unsafe { rdma_destroy_qp(id.as_ptr()) };
        }
        self.sends.give_up();
    }
}

/// All tables of a queue pair of these sizes, for whoever counts what they take.
#[cfg(test)]
pub(crate) fn queue_tables(sizes: &Sizes) -> impl Sized {
    let slab = |slots, len| slab::Slab::unregistered(slots, len).unwrap();
    let sends = Sends::new(slab(sizes.send_slots, sizes.send_len), sizes.send_wr);
    (sends, Receives::new(slab(sizes.recv_slots, sizes.recv_len), sizes.recv_wr), Polled::new())
}

/// Has `post` hand over a chain: how many were accepted, and what the caller hears of it.
#[inline]
fn settle(
    chained: usize,
    post: impl FnOnce(usize) -> Result<(), (usize, i32)>,
) -> (usize, Result<(), PostError>) {
    match post(chained) {
        Ok(()) => (chained, Ok(())),
        Err((accepted, errno)) => (accepted, Err(PostError { accepted, errno })),
    }
}

/// Makes the queue pair itself.
fn create(
    id: &CmId,
    domain: &ProtectionDomain,
    completions: &CompletionQueue,
    sizes: &Sizes,
    inline: u32,
) -> Result<(NonNull<ibv_qp>, ibv_qp_cap), CallError> {
    let mut attributes = ibv_qp_init_attr {
        qp_context: ptr::null_mut(),
        send_cq: completions.as_ptr(),
        recv_cq: completions.as_ptr(),
        srq: ptr::null_mut(),
        cap: ibv_qp_cap {
            max_send_wr: sizes.send_wr,
            max_recv_wr: sizes.recv_wr,
            max_send_sge: sizes.send_sge,
            max_recv_sge: 1,
            max_inline_data: inline,
        },
        qp_type: ibv_qp_type::IBV_QPT_RC,
        sq_sig_all: 0,
    };
    let (id, _alone) = id.exclusive();
    // SAFETY: the id exists, alone.
    let device = unsafe { (*id.as_ptr()).verbs };
    if device != domain.device().context().as_ptr() {
        return Err(CallError::new("rdma_create_qp", libc::EINVAL));
    }
    // SAFETY: the id exists, alone in its call, and has a device, the one of domain and completion queue. All of them
    // outlive the queue pair.
    ok("rdma_create_qp", unsafe { rdma_create_qp(id.as_ptr(), domain.as_ptr(), &raw mut attributes) })?;
    // SAFETY: as above.
    let queue = NonNull::new(unsafe { (*id.as_ptr()).qp });
    queue.map(|queue| (queue, attributes.cap)).ok_or(CallError::new("rdma_create_qp", libc::EINVAL))
}

impl Drop for QueuePair {
    fn drop(&mut self) {
        self.destroy();
    }
}

impl fmt::Debug for QueuePair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QueuePair")
            .field("id", &self.id)
            .field("granted", &self.granted)
            .field("counters", &self.counters)
            .finish_non_exhaustive()
    }
}
