//! A backend that keeps outstanding work as that of `smbd-verbs` does, above one of two devices that carry messages and data to each other.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::mem;
use std::sync::Arc;
use std::task::{Context, Poll};

use smbd_core::backend::{
    Backend, BackendOp, BufferSlice, Payload, Push, Queue, ReceiveMemory, Request, TransportReports,
    WorkQueues,
};
use smbd_core::error::DisconnectReason;
use smbd_core::{
    BufferDescriptorV1, Config, Endpoint, Head, Input, Instant, Limits, RecvId, RegId, Role, Token,
};
use smbd_link::PollReady;
use smbd_link::link::{Link, Options};
use smbd_link::transport::Heap;

use super::hardware;
use super::parts::{Cable, Chained};
use crate::slab::{BATCH, Batch, Completion, Slab};

const LIMITS: Limits = Limits {
    read_depth: 16,
    send_queue: u16::MAX,
    rdma_len_max: u32::MAX,
    registration_requests: 0,
    send_with_invalidate: true,
    reads_in_order: true,
};

/// A backend and its device.
pub struct Device {
    cable: Cable,
    side: usize,
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
    next_token: u32,
}

#[derive(Clone, Copy)]
enum Report {
    Registered(RegId, BufferDescriptorV1),
    Deregistered(RegId),
}

/// Links over two such backends that have not been driven.
pub fn links<N: Copy + PartialEq, O: Copy + PartialEq>(
    initiator: &Config,
    acceptor: &Config,
) -> (Link<Device, N>, Link<Device, O>) {
    let cable = Cable::default();
    let backend = |side: usize, config: &Config| Device::new(Arc::clone(&cable), side, config);
    let machine = |role, config: &Config| Endpoint::new(role, config, Instant::ORIGIN);
    (
        Link::new(machine(Role::Initiator, initiator), backend(0, initiator), Options::default()),
        Link::new(machine(Role::Acceptor, acceptor), backend(1, acceptor), Options::default()),
    )
}

impl Device {
    fn new(cable: Cable, side: usize, config: &Config) -> Self {
        let budget = config.budget();
        let slots = usize::try_from(budget.recv_slots).expect("a number of slots");
        Self {
            cable,
            side,
            queues: WorkQueues::new(&budget),
            link: TransportReports::default(),
            chain: Vec::with_capacity(1024),
            polled: Batch::with_capacity(BATCH),
            is_short: false,
            reports: VecDeque::with_capacity(16),
            held: vec![0; slots],
            receives: Slab::new(budget.recv_slots, budget.recv_buffer_len),
            sends: Slab::new(budget.send_slots, budget.send_buffer_len),
            segments: [BufferDescriptorV1 { offset: 0, token: Token(0), length: 0 }],
            next_token: 1,
        }
    }

    #[inline]
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
        match self.queues.chain() {
            Some(Queue::Recv) => hardware::post_recv(&self.cable, self.side, &mut self.chain),
            Some(Queue::Send) => hardware::post_send(&self.cable, self.side, &mut self.chain, &self.sends),
            None => return,
        }
        self.queues.doorbell_rung();
    }

    #[inline]
    fn report(&mut self) -> Option<Input<'_>> {
        Some(match self.reports.pop_front()? {
            Report::Registered(id, segment) => {
                self.segments = [segment];
                Input::Registered { id, segments: &self.segments, bind_complete: true }
            }
            Report::Deregistered(id) => Input::Deregistered { id },
        })
    }

    /// The next work request that is back: of those that were taken at once, or of those that there are.
    #[inline]
    fn completion(&mut self) -> Option<Completion> {
        if self.polled.is_empty() {
            // Behind a batch that was not full the queue was empty: that is said once, without another look, as by that of `smbd-verbs`.
            if mem::take(&mut self.is_short) {
                return None;
            }
            hardware::poll(&self.cable, self.side, &mut self.receives, &mut self.polled);
            self.is_short = (1..BATCH).contains(&self.polled.len());
        }
        self.polled.pop_front()
    }
}

impl ReceiveMemory for Device {
    #[inline]
    fn received(&self, id: RecvId) -> &[u8] {
        let held = self.held.get(usize::from(id.slot()));
        held.map_or(&[], |len| &self.receives.slot(id.slot())[..*len])
    }
}

impl Backend for Device {
    type Buffer = Heap;

    #[inline]
    fn now(&self) -> Instant {
        Instant::ORIGIN
    }

    #[inline]
    fn execute(&mut self, step: BackendOp<'_, Heap>) {
        match step {
            BackendOp::PostRecv { id, .. } => self.post(Request::Recv(id), Chained::Recv(id)),
            BackendOp::PostSend { id, head, body, invalidate, signal, .. } => {
                let (slot, head) = (self.sends.slot_mut(id.slot()), head.as_bytes());
                let mut len = head.len();
                slot[..len].copy_from_slice(head);
                if let Some(body) = body {
                    let Payload::Copy(bytes) = body else { unreachable!("a link's messages are copied") };
                    slot[len..][..bytes.len()].copy_from_slice(bytes);
                    len += bytes.len();
                }
                let chained = Chained::Send { id, is_signalled: signal, len, invalidate };
                self.post(Request::Send { id, signal }, chained);
                // As that of `smbd-verbs`: one that is alone does not wait for what is decided behind it.
                if signal && self.queues.queue(Queue::Send).used() == 1 {
                    self.ring();
                }
            }
            BackendOp::PostRdma { id, verb, local: BufferSlice { buffer, offset, .. }, remote, signal } => {
                let local = buffer.clone();
                let chained =
                    Chained::Rdma { id: id.into(), is_signalled: signal, verb, local, offset, remote };
                self.post(Request::Rdma { id, signal }, chained);
            }
            BackendOp::Register { id, buffer, .. } => {
                self.ring();
                let token = Token(self.next_token);
                self.next_token += 1;
                let segment = hardware::register(&self.cable, self.side, token, buffer);
                self.reports.push_back(Report::Registered(id, segment));
            }
            BackendOp::Deregister { id, segments } => {
                self.ring();
                let live = segments.iter().filter_map(|segment| segment.descriptor());
                live.for_each(|segment| hardware::deregister(&self.cable, self.side, segment.token));
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

    #[inline]
    fn ring_doorbell(&mut self) {
        self.ring();
    }

    #[inline]
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

impl PollReady for Device {
    type Error = Infallible;

    #[inline]
    fn poll_ready(&mut self, cx: &mut Context<'_>, _: Option<Instant>) -> Poll<Result<(), Infallible>> {
        let has_news = !self.reports.is_empty() || !self.polled.is_empty() || self.link.has_news();
        if has_news || hardware::arm(&self.cable, self.side, cx) {
            Poll::Ready(Ok(()))
        } else {
            Poll::Pending
        }
    }
}
