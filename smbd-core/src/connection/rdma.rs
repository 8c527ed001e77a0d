//! RDMA operations: many requests for one command (3.1.4.5, 3.1.4.6).

use alloc::sync::Arc;
use core::hash::{Hash, Hasher};

use super::fingerprint::hash_unordered;
use super::report::{Report, SIGNAL_EVERY};
use crate::error::{OpError, RdmaError, WorkError};
use crate::id::Slot;
use crate::slice::Cursor;
use crate::table::{Ring, Slots};
use crate::{BufferDescriptorV1, Config, Limits, OpId, RdmaId, RdmaVerb};

/// A command of the upper layer.
#[derive(Clone, Debug, Hash)]
struct Op {
    remote: Arc<[BufferDescriptorV1]>,
    cursor: Cursor,
    len: u32,
    posted: u32,
    in_flight: u16,
    verb: RdmaVerb,
    report: Report,
    state: OpState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum OpState {
    Running,
    /// The result waits to be polled.
    Done(Result<(), WorkError>),
    /// The upper layer knows; requests may still be in flight.
    Told,
}

/// A request with the device.
#[derive(Clone, Copy, Debug)]
struct Request {
    op: u16,
    verb: RdmaVerb,
}

#[derive(Clone, Debug)]
pub(crate) struct Rdma {
    ops: Slots<Op>,
    requests: Slots<Request>,
    /// Operations with something left to post.
    reads: Ring<u16>,
    writes: Ring<u16>,
    reads_in_flight: u16,
    /// Requests since the last that is signalled, and the Reads among them.
    since_signal: u8,
    reads_since_signal: u8,
    /// Writes commanded, and writes all of whose requests are posted; both wrap.
    writes_commanded: u32,
    writes_posted: u32,
    /// Reads and writes take turns, so that neither starves.
    turn: RdmaVerb,
    refused: bool,
}

/// One request to post.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slice {
    pub(crate) id: RdmaId,
    pub(crate) op: OpId,
    pub(crate) local_offset: u32,
    pub(crate) remote: BufferDescriptorV1,
    pub(crate) signal: bool,
}

impl Rdma {
    pub(crate) const OP_BYTES: u64 = Slots::<Op>::SLOT_BYTES + 2 * size_of::<u16>() as u64;
    pub(crate) const REQUEST_BYTES: u64 = Slots::<Request>::SLOT_BYTES;

    pub(crate) fn new(config: &Config) -> Self {
        let ops = usize::from(config.rdma_ops);
        Self {
            ops: Slots::new(config.rdma_ops),
            requests: Slots::new(config.rdma_slots),
            reads: Ring::new(ops, 0),
            writes: Ring::new(ops, 0),
            reads_in_flight: 0,
            since_signal: 0,
            reads_since_signal: 0,
            writes_commanded: 0,
            writes_posted: 0,
            turn: RdmaVerb::Read,
            refused: false,
        }
    }

    pub(crate) const fn writes_commanded(&self) -> u32 {
        self.writes_commanded
    }

    pub(crate) const fn writes_posted(&self) -> u32 {
        self.writes_posted
    }

    pub(crate) const fn in_flight(&self) -> u16 {
        self.requests.used()
    }

    pub(crate) const fn is_idle(&self) -> bool {
        self.ops.is_empty()
    }

    pub(crate) const fn is_full(&self) -> bool {
        self.ops.is_full()
    }

    pub(crate) const fn on_refused(&mut self) {
        self.refused = true;
    }

    /// Whether there is room again after a refusal.
    pub(crate) const fn is_writable(&self) -> bool {
        self.refused && !self.is_full()
    }

    /// True once when there is.
    pub(crate) const fn take_writable(&mut self) -> bool {
        self.is_writable() && core::mem::replace(&mut self.refused, false)
    }

    /// `Ok(None)` if there is no room. The operation may be complete at once: `is_done`.
    pub(crate) fn command(
        &mut self,
        verb: RdmaVerb,
        len: u32,
        remote: Arc<[BufferDescriptorV1]>,
        offset: u64,
        report: Report,
    ) -> Result<Option<OpId>, RdmaError> {
        let cursor = Cursor::new(&remote, offset, len)?;
        let state = if len == 0 { OpState::Done(Ok(())) } else { OpState::Running };
        let op = Op { remote, cursor, len, posted: 0, in_flight: 0, verb, report, state };
        let Some(slot) = self.ops.acquire(op) else { return Ok(None) };
        if len > 0 {
            let queue = match verb {
                RdmaVerb::Read => &mut self.reads,
                RdmaVerb::Write => {
                    self.writes_commanded = self.writes_commanded.wrapping_add(1);
                    &mut self.writes
                }
            };
            // As many places as operations.
            let queued = queue.push(slot.index);
            debug_assert!(queued, "an operation without a place in its queue");
        }
        Ok(Some(OpId(slot)))
    }

    /// What the next request would do, if one may be posted now.
    #[inline]
    pub(crate) fn next(&self, read_depth: u16) -> Option<RdmaVerb> {
        let (reads, writes) = (!self.reads.is_empty(), !self.writes.is_empty());
        if !(reads || writes) || self.requests.is_full() {
            return None;
        }
        match (reads && self.reads_in_flight < read_depth, writes) {
            (false, false) => None,
            (true, false) => Some(RdmaVerb::Read),
            (false, true) => Some(RdmaVerb::Write),
            (true, true) => Some(self.turn),
        }
    }

    /// Takes the next request of that kind. All are signalled if the send queue is shared.
    #[inline]
    pub(crate) fn post(&mut self, verb: RdmaVerb, limits: &Limits, shares_queue: bool) -> Option<Slice> {
        let queue = match verb {
            RdmaVerb::Read => &mut self.reads,
            RdmaVerb::Write => &mut self.writes,
        };
        let slot = self.ops.name(*queue.front()?)?;
        let op = self.ops.get_mut(slot)?;
        let left = op.len.saturating_sub(op.posted);
        let remote = op.cursor.next(&op.remote, left.min(limits.rdma_len_max))?;
        let request = self.requests.acquire(Request { op: slot.index, verb })?;
        let local_offset = op.posted;
        op.posted = op.posted.saturating_add(remote.length);
        op.in_flight = op.in_flight.saturating_add(1);
        let (is_last, report) = (op.posted == op.len, op.report);
        if is_last {
            queue.pop();
            if verb == RdmaVerb::Write {
                self.writes_posted = self.writes_posted.wrapping_add(1);
            }
        }
        self.turn = match verb {
            RdmaVerb::Read => {
                self.reads_in_flight = self.reads_in_flight.saturating_add(1);
                RdmaVerb::Write
            }
            RdmaVerb::Write => RdmaVerb::Read,
        };
        let signal = shares_queue || self.signals(verb, is_last, report, limits);
        if signal {
            (self.since_signal, self.reads_since_signal) = (0, 0);
        } else {
            self.since_signal = self.since_signal.wrapping_add(1);
            self.reads_since_signal = self.reads_since_signal.wrapping_add((verb == RdmaVerb::Read).into());
        }
        Some(Slice { id: RdmaId(request), op: OpId(slot), local_offset, remote, signal })
    }

    /// Whether the request that was just counted is signalled. One that is not is complete with whatever is signalled behind it: another
    /// piece of its operation follows, or the upper layer does not wait for it.
    #[inline]
    fn signals(&self, verb: RdmaVerb, is_last: bool, report: Report, limits: &Limits) -> bool {
        verb == RdmaVerb::Read && self.signals_read(limits)
            || is_last && (report == Report::Prompt || self.ops.is_full())
            // What has to follow would have no place.
            || self.requests.is_full()
            || self.since_signal >= SIGNAL_EVERY.wrapping_sub(1)
    }

    /// Whether a Read is signalled whatever it belongs to. Half of those that may be in flight are not, so that others follow while the
    /// completion of the first half is on its way.
    #[inline]
    fn signals_read(&self, limits: &Limits) -> bool {
        !limits.reads_in_order
            || u16::from(self.reads_since_signal).saturating_add(1) >= limits.read_depth / 2
    }

    /// Whether all requests are posted, and a completion was not asked for with the last.
    pub(crate) const fn is_silent(&self) -> bool {
        self.since_signal > 0 && self.reads.is_empty() && self.writes.is_empty() && !self.requests.is_empty()
    }

    /// Records the end of a request; `None` if it is not outstanding. Returns the operation if that ends it: its result is to be told.
    #[inline(always)]
    pub(crate) fn complete(&mut self, id: RdmaId, result: Result<(), WorkError>) -> Option<Option<u16>> {
        let request = self.requests.release(id.0)?;
        if request.verb == RdmaVerb::Read {
            self.reads_in_flight = self.reads_in_flight.saturating_sub(1);
        }
        Some(self.end_of(request, result))
    }

    #[inline]
    fn end_of(&mut self, request: Request, result: Result<(), WorkError>) -> Option<u16> {
        let slot = self.ops.name(request.op)?;
        let op = self.ops.get_mut(slot)?;
        op.in_flight = op.in_flight.saturating_sub(1);
        let ended = match op.state {
            OpState::Running if result.is_err() || (op.in_flight == 0 && op.posted == op.len) => {
                op.state = OpState::Done(result);
                true
            }
            OpState::Running | OpState::Done(_) => false,
            OpState::Told => {
                self.free_if_over(slot);
                false
            }
        };
        ended.then_some(request.op)
    }

    /// The upper layer is told the result of the operation at `index`.
    #[inline(always)]
    pub(crate) fn tell(&mut self, index: u16) -> Option<(OpId, Result<(), OpError>)> {
        let slot = self.ops.name(index)?;
        let op = self.ops.get_mut(slot)?;
        let OpState::Done(result) = op.state else { return None };
        op.state = OpState::Told;
        self.free_if_over(slot);
        Some((OpId(slot), result.map_err(OpError::ended_by)))
    }

    /// The connection is over: an operation that still runs and is to be told so. Nothing of it is posted any more.
    pub(crate) fn abort_one(&mut self) -> Option<OpId> {
        let (slot, op) = self.ops.iter_mut().find(|(_, op)| op.state == OpState::Running)?;
        op.state = OpState::Told;
        op.posted = op.len;
        self.free_if_over(slot);
        Some(OpId(slot))
    }

    /// For an operation that was told: nothing else can come of it when none of its requests is out.
    fn free_if_over(&mut self, slot: Slot) {
        if self.ops.get(slot).is_some_and(|op| op.in_flight == 0) {
            self.ops.release(slot);
        }
    }

    pub(crate) fn fingerprint(&self, into: &mut impl Hasher) {
        for queue in [&self.reads, &self.writes] {
            queue.len().hash(into);
            for index in queue.iter() {
                self.fingerprint_of(*index, into);
            }
        }
        hash_unordered(self.ops.iter().map(|(_, op)| op), into);
        (self.reads_in_flight, self.since_signal, self.reads_since_signal, self.turn, self.refused)
            .hash(into);
    }

    pub(crate) fn fingerprint_of(&self, index: u16, into: &mut impl Hasher) {
        self.ops.name(index).and_then(|slot| self.ops.get(slot)).hash(into);
    }
}
