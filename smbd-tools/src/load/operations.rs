//! The operations: their begin and their end.

use std::fmt;

use bytes::Bytes;
use smbd_core::backend::HostMemory;
use smbd_core::error::{CommandError, OpError, RdmaError, SendError};
use smbd_core::{Config, Endpoint, Instant, Negotiated, OpId, RdmaVerb};

use super::gate::Now;
use super::{Load, OFFERED, Plan, Problem, Stage, WRITTEN};
use crate::exercise::{Limits, Request, pattern};

/// Different messages that are sent in turn when they are compared.
const VERIFIED_MESSAGES: u64 = 7;

/// The kinds of operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Messages to the server, which counts them.
    Send,
    /// RDMA Reads from a buffer of the server.
    Read,
    /// RDMA Writes to a buffer of the server.
    Write,
    /// Messages that the server returns.
    Latency,
}

/// One RDMA operation at a time.
#[derive(Debug)]
pub(super) struct Slot<M> {
    pub(super) buffer: M,
    /// Under way, and since when.
    pub(super) op: Option<(OpId, Instant)>,
}

impl Plan {
    /// What the connection allows.
    pub(super) fn check(&self, negotiated: &Negotiated, config: &Config) -> Result<(), Problem> {
        let (size, depth) = (self.size, self.depth);
        let is_message = matches!(self.kind, Kind::Send | Kind::Latency);
        let (what, max) = if is_message {
            ("the longest message the peer takes", negotiated.max_fragmented_send_size)
        } else {
            ("MaxReadWriteSize of the connection", negotiated.max_read_write_size)
        };
        if !(1..=max).contains(&size) {
            return Err(Problem::Size { size, what, max: max.into() });
        }
        if self.kind == Kind::Latency && size > negotiated.max_fragmented_recv_size {
            let (what, max) = ("the longest message taken here", negotiated.max_fragmented_recv_size.into());
            return Err(Problem::Size { size, what, max });
        }
        let (what, max) = if is_message {
            // One is for requests.
            ("the number of message slots", config.message_slots.saturating_sub(1))
        } else {
            ("the number of RDMA operations of the configuration", config.rdma_ops)
        };
        if (1..=max).contains(&depth) { Ok(()) } else { Err(Problem::Depth { depth, what, max: max.into() }) }
    }

    /// What the server allows.
    pub(super) fn check_server(&self, limits: &Limits) -> Result<(), Problem> {
        let (size, depth) = (self.size, self.depth);
        let (what, max) = match self.kind {
            Kind::Send | Kind::Latency => {
                ("the longest message of the server (its --max-message)", limits.message)
            }
            Kind::Read | Kind::Write => {
                ("the longest buffer of the server (its --max-buffer)", limits.buffer)
            }
        };
        if size > max {
            return Err(Problem::Size { size, what, max: max.into() });
        }
        let under_way = u64::from(size) * u64::from(depth);
        if self.kind == Kind::Latency && under_way > limits.backlog {
            let max = limits.backlog / u64::from(size);
            let what = "what the server lets pile up of such messages (its --max-backlog)";
            return Err(Problem::Depth { depth, what, max });
        }
        Ok(())
    }

    /// The messages sent in turn.
    pub(super) fn payloads(&self) -> Vec<Bytes> {
        let count = match self.kind {
            Kind::Send if self.verify => VERIFIED_MESSAGES,
            Kind::Send | Kind::Latency => 1,
            Kind::Read | Kind::Write => 0,
        };
        (0..count).map(|seed| pattern(seed, self.size as usize)).collect()
    }

    /// Local buffers for as many operations as are kept under way.
    pub(super) fn slots<B: HostMemory>(&self, backend: &mut B) -> Result<Vec<Slot<B::Buffer>>, Problem> {
        let payload = pattern(WRITTEN, self.size as usize);
        let mut slots = Vec::with_capacity(usize::from(self.depth));
        for _ in 0..self.depth {
            let buffer = backend.allocate(self.size).map_err(|error| Problem::Command(error.to_string()))?;
            backend.fill(&buffer, 0, &payload).map_err(|error| Problem::Command(error.to_string()))?;
            slots.push(Slot { buffer, op: None });
        }
        Ok(slots)
    }
}

/// There is no room in the connection: come back with the next event.
struct Full;

impl<M: Clone + fmt::Debug> Load<M> {
    /// Begins operations, at the time `now`, until as many are under way as should be.
    pub(super) fn fill<B: HostMemory<Buffer = M>>(
        &mut self,
        endpoint: &mut Endpoint,
        backend: &mut B,
        now: Instant,
    ) {
        while self.stage == Stage::Running && self.in_flight < self.plan.depth {
            if self.gate.look(now, self.measured) == Now::Over {
                return self.finish(endpoint, backend);
            }
            let begun = match self.plan.kind {
                Kind::Send | Kind::Latency => self.begin_send(endpoint, now),
                Kind::Read => self.begin_rdma(endpoint, now, RdmaVerb::Read),
                Kind::Write => self.begin_rdma(endpoint, now, RdmaVerb::Write),
            };
            if begun.is_err() {
                return;
            }
            self.in_flight += 1;
        }
    }

    fn begin_send(&mut self, endpoint: &mut Endpoint, now: Instant) -> Result<(), Full> {
        let turn = self.sent % self.payloads.len().max(1) as u64;
        // There is one for each turn.
        let Some(payload) = self.payloads.get(turn as usize) else { return Err(Full) };
        match endpoint.send(now, payload.clone(), None) {
            Ok(_) => {
                self.sent += 1;
                if self.plan.verify {
                    self.digest.update(payload);
                }
                self.sent_at.push_back(now);
                Ok(())
            }
            Err(refused) => {
                if !matches!(refused.error, SendError::Command(CommandError::NoRoom { .. })) {
                    self.fail(endpoint, now, Problem::Command(refused.error.to_string()));
                }
                Err(Full)
            }
        }
    }

    fn begin_rdma(&mut self, endpoint: &mut Endpoint, now: Instant, verb: RdmaVerb) -> Result<(), Full> {
        let Some(slot) = self.slots.iter_mut().find(|slot| slot.op.is_none()) else { return Err(Full) };
        match endpoint.rdma(now, verb, self.plan.size, self.remote.clone(), 0) {
            Ok(op) => {
                slot.op = Some((op, now));
                self.begun += 1;
                Ok(())
            }
            Err(RdmaError::Command(CommandError::NoRoom { .. })) => Err(Full),
            Err(error) => {
                self.fail(endpoint, now, Problem::Command(error.to_string()));
                Err(Full)
            }
        }
    }

    /// A message has left.
    pub(super) fn sent<B: HostMemory<Buffer = M>>(
        &mut self,
        endpoint: &mut Endpoint,
        backend: &mut B,
        payload: &Bytes,
    ) {
        // Requests are other bytes.
        if self.plan.kind == Kind::Send
            && self.payloads.iter().any(|own| own.as_ptr() == payload.as_ptr())
            && let Some(since) = self.sent_at.pop_front()
        {
            self.completed(endpoint, backend, since);
        }
    }

    pub(super) fn rdma_done<B: HostMemory<Buffer = M>>(
        &mut self,
        endpoint: &mut Endpoint,
        backend: &mut B,
        op: OpId,
        result: Result<(), OpError>,
    ) {
        match result {
            Ok(()) => {
                let mut slots = self.slots.iter_mut();
                let Some(slot) = slots.find(|slot| slot.op.is_some_and(|(id, _)| id == op)) else { return };
                if let Some((_, since)) = slot.op.take() {
                    self.completed(endpoint, backend, since);
                }
            }
            // The end of the connection says more.
            Err(OpError::Aborted(_)) => {}
            Err(error) => {
                self.fail(endpoint, backend.now(), Problem::Command(format!("RDMA operation: {error}")))
            }
        }
    }

    /// An operation is complete: counts it, and begins the next.
    pub(super) fn completed<B: HostMemory<Buffer = M>>(
        &mut self,
        endpoint: &mut Endpoint,
        backend: &mut B,
        since: Instant,
    ) {
        // The next one begins when this one is complete.
        let now = backend.now();
        self.in_flight = self.in_flight.saturating_sub(1);
        if self.gate.look(now, self.measured) == Now::Measuring {
            self.measured += 1;
            self.gate.completed(now);
            let time = now.saturating_since(since).as_nanos();
            self.times.note(u64::try_from(time).unwrap_or(u64::MAX));
        }
        self.fill(endpoint, backend, now);
        if self.in_flight == 0 {
            self.finish(endpoint, backend);
        }
    }

    /// Once nothing is under way any more, asks the server for its part.
    fn finish<B: HostMemory<Buffer = M>>(&mut self, endpoint: &mut Endpoint, backend: &mut B) {
        if self.in_flight > 0 || self.stage != Stage::Running {
            return;
        }
        let now = backend.now();
        self.stage = Stage::Finishing;
        let (id, length) = (self.offer, self.plan.size);
        match self.plan.kind {
            Kind::Send => self.send(endpoint, now, &Request::Report),
            Kind::Read if self.plan.verify && !self.holds_what_was_offered(backend) => {
                self.fail(endpoint, now, Problem::Content("a local buffer does not hold what was read"));
            }
            Kind::Write if self.plan.verify => {
                self.send(endpoint, now, &Request::Hash { id, offset: 0, length });
            }
            Kind::Read | Kind::Write => self.send(endpoint, now, &Request::Withdraw { id }),
            Kind::Latency => self.finished(endpoint, now),
        }
    }

    /// Whether every local buffer was overwritten by what the server's buffer holds.
    fn holds_what_was_offered<B: HostMemory<Buffer = M>>(&self, backend: &B) -> bool {
        let expected = pattern(OFFERED, self.plan.size as usize);
        let mut bytes = vec![0; expected.len()];
        let used = usize::try_from(self.begun).unwrap_or(usize::MAX);
        self.slots
            .iter()
            .take(used)
            .all(|slot| backend.read(&slot.buffer, 0, &mut bytes).is_ok() && bytes == expected)
    }
}
