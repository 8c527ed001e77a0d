//! The load of `smbd-perf` on a connection: an upper layer that keeps a number of operations under way and measures
//! them. The peer is an [`exercise::Server`](crate::exercise::Server).
//!
//! Several connections are measured together: a [`Gate`] starts and ends the measurement of all of them.

mod gate;
mod operations;
mod problem;
mod times;

use std::collections::VecDeque;
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hdrhistogram::Histogram;
use smbd_core::backend::{Backend, BufferLookup, Handler, HostMemory};
use smbd_core::endpoint::{EndpointEvent, Message};
use smbd_core::error::CloseReason;
use smbd_core::{Access, BufferDescriptorV1, Close, Endpoint, Instant, Negotiated, OpId, RegId};

use crate::exercise::{Answer, Digest, Report, Request, digest, pattern};
pub use gate::{Gate, Length};
pub use operations::Kind;
use operations::Slot;
pub use problem::Problem;
use times::Times;

/// The operations of each connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The kind of operation.
    pub kind: Kind,
    /// Bytes of one operation, at least 1.
    pub size: u32,
    /// Operations that are kept under way, at least 1.
    pub depth: u16,
    /// Whether the transferred bytes are verified: messages by a hash of all of them, buffers at the end.
    pub verify: bool,
}

/// Seed of what the server's buffers hold, and of what is written there.
const OFFERED: u64 = 1;
const WRITTEN: u64 = 2;
/// How long closing may take at the end.
const CLOSE_WITHIN: Duration = Duration::from_secs(2);

/// The stages of a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The connection is not established, or the server has not answered the first requests.
    Preparing,
    /// Operations are under way.
    Running,
    /// The last operations are finished. The server gets the request for its counts, or to withdraw its buffer.
    Finishing,
    /// Over, with or without a [`Problem`].
    Over,
}

/// One connection under load. `M` is the backend's buffer.
#[derive(Debug)]
pub struct Load<M> {
    plan: Plan,
    gate: Rc<Gate>,
    stage: Stage,
    /// What is sent in turn: different messages when they are compared, so that mixing them up is noticed.
    payloads: Vec<Bytes>,
    slots: Vec<Slot<M>>,
    /// [`Kind::Latency`]: when the messages under way were sent.
    sent_at: VecDeque<Instant>,
    in_flight: u16,
    remote: Arc<[BufferDescriptorV1]>,
    offer: u32,
    /// All messages sent, and RDMA operations begun, also while warming up.
    sent: u64,
    begun: u64,
    digest: Digest,
    measured: u64,
    /// Of measured operations.
    times: Times,
    problem: Option<Problem>,
}

impl<M> Load<M> {
    /// A load for one connection.
    #[must_use]
    pub fn new(plan: Plan, gate: Rc<Gate>) -> Self {
        Self {
            plan,
            gate,
            stage: Stage::Preparing,
            payloads: plan.payloads(),
            slots: Vec::new(),
            sent_at: VecDeque::new(),
            in_flight: 0,
            remote: Arc::new([]),
            offer: 0,
            sent: 0,
            begun: 0,
            digest: Digest::default(),
            measured: 0,
            times: Times::new(),
            problem: None,
        }
    }

    /// Its stage.
    #[must_use]
    pub const fn stage(&self) -> Stage {
        self.stage
    }

    /// Number of operations measured so far.
    #[must_use]
    pub const fn measured(&self) -> u64 {
        self.measured
    }

    /// Whether all connections are ready and the warm-up time is not over at `now`.
    #[must_use]
    pub fn is_warming_up(&self, now: Instant) -> bool {
        self.gate.start().is_some_and(|start| now < start)
    }

    /// The durations of the measured operations in nanoseconds, up to 60 s with three significant digits: from the
    /// command to its completion, for [`Kind::Latency`] to the returned message. The last one is there with the next event, at
    /// the latest with [`EndpointEvent::Closed`].
    #[must_use]
    pub const fn times(&self) -> &Histogram<u64> {
        self.times.recorded()
    }

    /// Why it failed; `None` if it did not.
    #[must_use]
    pub const fn problem(&self) -> Option<&Problem> {
        self.problem.as_ref()
    }

    fn fail(&mut self, endpoint: &mut Endpoint, now: Instant, problem: Problem) {
        if self.problem.is_none() && self.stage != Stage::Over {
            self.problem = Some(problem);
        }
        self.gate.give_up();
        self.stage = Stage::Over;
        endpoint.close(now, Close::Abort);
    }

    fn send(&mut self, endpoint: &mut Endpoint, now: Instant, request: &Request) {
        // A connection has room for one request besides the operations: they are sent before or after those.
        if let Err(refused) = endpoint.send(now, request.encode(1), None) {
            self.fail(endpoint, now, Problem::Command(refused.error.to_string()));
        }
    }

    fn established(&mut self, endpoint: &mut Endpoint, now: Instant, negotiated: &Negotiated) {
        if let Err(problem) = self.plan.check(negotiated, endpoint.connection().config()) {
            return self.fail(endpoint, now, problem);
        }
        self.send(endpoint, now, &Request::Hello);
    }
}

impl<M: Clone + fmt::Debug> Load<M> {
    fn message<B: HostMemory<Buffer = M>>(
        &mut self,
        endpoint: &mut Endpoint,
        backend: &mut B,
        message: Message,
    ) {
        let now = endpoint.now();
        let taken = message.bytes(&*backend).map(|bytes| (bytes.len(), Answer::parse(bytes)));
        if let Message::Borrowed(fragment) = message {
            let released = endpoint.release(now, fragment);
            debug_assert_eq!(released, Ok(()), "a fragment of this endpoint");
        }
        match taken {
            Ok((_, Ok(Some(answer)))) => self.answered(endpoint, backend, answer.what),
            Ok((len, Ok(None))) if self.plan.kind == Kind::Latency && len == self.plan.size as usize => {
                let Some(since) = self.sent_at.pop_front() else { return };
                self.completed(endpoint, backend, since);
            }
            Ok((len, Ok(None))) => self.fail(endpoint, now, Problem::Unexpected { len }),
            Ok((_, Err(malformed))) => self.fail(endpoint, now, malformed.into()),
            Err(hole) => self.fail(endpoint, now, Problem::Command(hole.to_string())),
        }
    }

    fn answered<B: HostMemory<Buffer = M>>(
        &mut self,
        endpoint: &mut Endpoint,
        backend: &mut B,
        answer: Answer,
    ) {
        let now = backend.now();
        match (self.stage, answer) {
            (_, Answer::Failed(failure)) => self.fail(endpoint, now, failure.into()),
            (Stage::Preparing, Answer::Hello(limits)) => {
                if let Err(problem) = self.plan.check_server(&limits) {
                    return self.fail(endpoint, now, problem);
                }
                let (length, seed) = (self.plan.size, OFFERED);
                match self.plan.kind {
                    Kind::Send => self.send(endpoint, now, &Request::Count { hash: self.plan.verify }),
                    Kind::Read => {
                        self.send(endpoint, now, &Request::Offer { length, access: Access::Read, seed })
                    }
                    Kind::Write => {
                        self.send(endpoint, now, &Request::Offer { length, access: Access::Write, seed })
                    }
                    Kind::Latency => self.run(endpoint, backend),
                }
            }
            (Stage::Preparing, Answer::Done) => self.run(endpoint, backend),
            (Stage::Preparing, Answer::Offered { id, descriptors }) => {
                (self.offer, self.remote) = (id, descriptors.into());
                match self.plan.slots(backend) {
                    Ok(slots) => self.slots = slots,
                    Err(problem) => return self.fail(endpoint, now, problem),
                }
                self.run(endpoint, backend);
            }
            (Stage::Finishing, Answer::Report(report)) => self.check_report(endpoint, now, &report),
            (Stage::Finishing, Answer::Hash(hash)) => self.check_hash(endpoint, now, hash),
            (Stage::Finishing, Answer::Done) => self.finished(endpoint, now),
            (_, other) => self.fail(endpoint, now, Problem::Answer(format!("{other:?}"))),
        }
    }

    fn run<B: HostMemory<Buffer = M>>(&mut self, endpoint: &mut Endpoint, backend: &mut B) {
        self.stage = Stage::Running;
        let now = backend.now();
        self.gate.ready(now);
        self.fill(endpoint, backend, now);
    }

    fn check_report(&mut self, endpoint: &mut Endpoint, now: Instant, report: &Report) {
        let bytes = self.sent * u64::from(self.plan.size);
        let expected = Report { messages: self.sent, bytes, hash: self.digest.value() };
        if *report == expected {
            self.finished(endpoint, now);
        } else {
            self.fail(endpoint, now, Problem::Report { sent: expected, counted: *report });
        }
    }

    fn check_hash(&mut self, endpoint: &mut Endpoint, now: Instant, hash: u64) {
        if hash == digest(&pattern(WRITTEN, self.plan.size as usize)) {
            self.send(endpoint, now, &Request::Withdraw { id: self.offer });
        } else {
            self.fail(endpoint, now, Problem::Content("the server's buffer does not hold what was written"));
        }
    }

    fn finished(&mut self, endpoint: &mut Endpoint, now: Instant) {
        self.stage = Stage::Over;
        endpoint.close(now, Close::Flush { until: now.saturating_add(CLOSE_WITHIN) });
    }

    fn closed(&mut self, reason: CloseReason) {
        if self.stage != Stage::Over {
            self.problem = Some(Problem::Closed(reason));
            self.gate.give_up();
            self.stage = Stage::Over;
        }
    }
}

impl<M> BufferLookup<M> for Load<M> {
    fn operation(&self, op: OpId) -> Option<&M> {
        let slot = self.slots.iter().find(|slot| slot.op.is_some_and(|(id, _)| id == op))?;
        Some(&slot.buffer)
    }

    fn registration(&self, _: RegId) -> Option<&M> {
        None
    }
}

impl<B: HostMemory> Handler<B, Endpoint> for Load<B::Buffer> {
    fn event(&mut self, endpoint: &mut Endpoint, backend: &mut B, event: EndpointEvent) {
        // A message is answered first.
        if !matches!(event, EndpointEvent::Message(_)) {
            self.times.record();
        }
        match event {
            EndpointEvent::Established(negotiated) => self.established(endpoint, endpoint.now(), &negotiated),
            EndpointEvent::ConnectFailed(error) => {
                self.problem = Some(Problem::Connect(error));
                self.gate.give_up();
                self.stage = Stage::Over;
            }
            EndpointEvent::Message(message) => self.message(endpoint, backend, message),
            EndpointEvent::Sent { payload, result: Ok(()), .. } => self.sent(endpoint, backend, &payload),
            EndpointEvent::RdmaDone { op, result } => self.rdma_done(endpoint, backend, op, result),
            EndpointEvent::Writable => self.fill(endpoint, backend, endpoint.now()),
            EndpointEvent::Closed(reason) => self.closed(reason),
            EndpointEvent::Drained => self.slots = Vec::new(),
            EndpointEvent::Sent { .. }
            | EndpointEvent::Registered { .. }
            | EndpointEvent::Deregistered { .. }
            | EndpointEvent::Invalidated { .. }
            | EndpointEvent::Probed(_) => {}
        }
    }
}
