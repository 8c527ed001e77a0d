//! A backend that keeps outstanding work as that of `smbd-verbs` does, above a device.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::mem;

use smbd_core::backend::{
    Backend, BackendOp, Payload, Push, Queue, ReceiveMemory, Request, TransportReports, WorkQueues,
};
use smbd_core::error::DisconnectReason;
use smbd_core::{Budget, BufferDescriptorV1, Head, Input, Instant, Limits, RecvId, RegId, Token};
use smbd_link::Waitable;
use smbd_testkit::slab::{BATCH, Batch, Completion, Slab};

use super::hardware::{Chained, Hardware, Message};

pub const NOW: Instant = Instant::ORIGIN;
const LIMITS: Limits = Limits {
    read_depth: 16,
    send_queue: u16::MAX,
    rdma_len_max: u32::MAX,
    registration_requests: 0,
    send_with_invalidate: true,
    reads_in_order: true,
};

/// A backend and its device.
#[derive(Clone)]
pub struct Device {
    queues: WorkQueues,
    link: TransportReports,
    chain: Vec<Chained>,
    polled: Batch,
    /// The queue was empty behind the batch that was taken last.
    is_short: bool,
    reports: VecDeque<Report>,
    /// How long what lies in each receive buffer is.
    held: Vec<usize>,
    receives: Slab,
    sends: Slab,
    segments: [BufferDescriptorV1; 1],
    hardware: Hardware,
}

#[derive(Clone, Copy)]
enum Report {
    Registered(RegId),
    Deregistered(RegId),
}

impl Device {
    pub fn new(budget: &Budget) -> Self {
        let slots = usize::try_from(budget.recv_slots).expect("a number of slots");
        Self {
            queues: WorkQueues::new(budget),
            link: TransportReports::default(),
            chain: Vec::with_capacity(1024),
            polled: Batch::with_capacity(BATCH),
            is_short: false,
            reports: VecDeque::with_capacity(16),
            held: vec![0; slots],
            receives: Slab::new(budget.recv_slots, budget.recv_buffer_len),
            sends: Slab::new(budget.send_slots, budget.send_buffer_len),
            segments: [BufferDescriptorV1 { offset: 0, token: Token(0), length: 1 << 20 }],
            hardware: Hardware::new(),
        }
    }

    /// A message has come from the peer.
    pub fn arrive(&mut self, message: Message) {
        self.hardware.arrive(message, &mut self.receives);
    }

    /// It is one of many that have nothing to do.
    pub fn forget_memory(&mut self) {
        self.receives.forget();
        self.sends.forget();
        self.hardware.shrink();
        self.chain.shrink_to_fit();
    }

    /// What was sent, for whoever carries it to the peer.
    pub const fn sent(&mut self) -> &mut Vec<Message> {
        &mut self.hardware.sent
    }

    /// The token of the last registration.
    pub const fn token(&self) -> Token {
        self.segments[0].token
    }

    // Once for each kind of request, as that of `smbd-verbs`.
    #[inline(always)]
    fn post(&mut self, request: Request, chained: Chained) {
        if self.queues.chain().is_some_and(|queue| queue != request.queue()) {
            self.ring();
        }
        if self.queues.push(request) == Push::Chain {
            self.chain.push(chained);
        }
    }

    #[inline]
    fn ring(&mut self) {
        if let Some(queue) = self.queues.chain() {
            self.hand_over(queue);
        }
    }

    #[inline(never)]
    fn hand_over(&mut self, queue: Queue) {
        match queue {
            Queue::Recv => self.hardware.post_recv(&mut self.chain),
            Queue::Send => self.hardware.post_send(&mut self.chain, &self.sends),
        }
        self.queues.doorbell_rung();
    }

    #[inline(never)]
    fn report(&mut self) -> Option<Input<'_>> {
        Some(match self.reports.pop_front()? {
            Report::Registered(id) => Input::Registered { id, segments: &self.segments, bind_complete: true },
            Report::Deregistered(id) => Input::Deregistered { id },
        })
    }

    /// The next work request that is back: of those that were taken at once, or of those that there are.
    fn completion(&mut self) -> Option<Completion> {
        if self.polled.is_empty() {
            // Behind a batch that was not full the queue was empty: that is said once, without another look, as by that of `smbd-verbs`.
            if mem::take(&mut self.is_short) {
                return None;
            }
            self.look();
        }
        self.polled.pop_front()
    }

    fn look(&mut self) {
        self.hardware.poll(&mut self.polled);
        self.is_short = (1..BATCH).contains(&self.polled.len());
    }
}

impl ReceiveMemory for Device {
    fn received(&self, id: RecvId) -> &[u8] {
        let held = self.held.get(usize::from(id.slot()));
        held.map_or(&[], |len| &self.receives.slot(id.slot())[..*len])
    }
}

impl Backend for Device {
    type Buffer = u64;

    fn now(&self) -> Instant {
        NOW
    }

    #[inline(always)]
    fn execute(&mut self, step: BackendOp<'_, u64>) {
        match step {
            BackendOp::PostRecv { id, .. } => self.post(Request::Recv(id), Chained::Recv(id)),
            BackendOp::PostSend { id, head, body, invalidate, signal, .. } => {
                let (slot, head) = (self.sends.slot_mut(id.slot()), head.as_bytes());
                let mut len = head.len();
                slot[..len].copy_from_slice(head);
                if let Some(body) = body {
                    if let Payload::Copy(bytes) = body {
                        slot[len..][..bytes.len()].copy_from_slice(bytes);
                    }
                    len += body.len();
                }
                let chained = Chained::Send { id, is_signalled: signal, len, invalidate };
                self.post(Request::Send { id, signal }, chained);
                // As that of `smbd-verbs`: one that is alone does not wait for what is decided behind it.
                if signal && self.queues.queue(Queue::Send).used() == 1 {
                    self.ring();
                }
            }
            BackendOp::PostRdma { id, signal, .. } => {
                let chained = Chained::Rdma { id: id.into(), is_signalled: signal };
                self.post(Request::Rdma { id, signal }, chained);
            }
            BackendOp::Register { id, .. } => {
                self.ring();
                self.segments[0].token.0 += 1;
                self.reports.push_back(Report::Registered(id));
            }
            BackendOp::Deregister { id, .. } => {
                self.ring();
                self.reports.push_back(Report::Deregistered(id));
            }
            BackendOp::Connect | BackendOp::Accept => {
                self.ring();
                self.link.connected(LIMITS);
            }
            BackendOp::Disconnect => {
                self.queues.flush();
                self.link.disconnected(DisconnectReason::Local);
            }
        }
    }

    fn ring_doorbell(&mut self) {
        self.ring();
    }

    #[inline(always)]
    fn next_input(&mut self) -> Option<Input<'_>> {
        if !self.reports.is_empty() {
            return self.report();
        }
        loop {
            if let Some(input) = self.queues.poll() {
                return Some(input);
            }
            match self.completion() {
                Some(Completion::Work(id)) => self.queues.complete(id, Ok(())).expect("posted"),
                Some(Completion::Received { id, len, invalidated }) => {
                    self.queues.received(id).expect("posted");
                    self.held[usize::from(id.slot())] = len;
                    let head = Head::of(self.received(id));
                    let len = u32::try_from(len).expect("the length of a message");
                    return Some(Input::Received { id, head, len, invalidated });
                }
                // As that of `smbd-verbs`, it looks at its link when there is news of it.
                None if self.link.has_news() => return self.link.poll_end(),
                None => return None,
            }
        }
    }
}

impl Waitable for Device {
    type Error = Infallible;

    fn arm(&mut self) -> Result<bool, Infallible> {
        Ok(self.is_ready())
    }

    fn is_ready(&mut self) -> bool {
        if self.polled.is_empty() {
            self.look();
        }
        !self.reports.is_empty() || !self.polled.is_empty()
    }

    fn busy_poll_micros_max(&self) -> u64 {
        0
    }
}

/// Carries to one device what the other one has sent. Whether there was something.
pub fn carry(from: &mut Device, to: &mut Device) -> bool {
    let mut sent = mem::take(from.sent());
    let any = !sent.is_empty();
    sent.drain(..).for_each(|message| to.arrive(message));
    *from.sent() = sent;
    any
}
