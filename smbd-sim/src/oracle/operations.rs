//! RDMA operations: slices, their limits, results.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use smbd_core::{BufferDescriptorV1, Limits, OpId, RdmaVerb};

use super::fingerprint::digest;
use super::law::{Law, Verdicts};

/// At least one of so many requests is signalled.
const SIGNAL_EVERY: u32 = 32;

#[derive(Clone, Debug)]
struct Op {
    id: OpId,
    verb: RdmaVerb,
    len: u32,
    remote: Arc<[BufferDescriptorV1]>,
    element: usize,
    within: u32,
    posted: u32,
    in_flight: u32,
    unsignalled: bool,
    failed: bool,
    told: bool,
}

/// A part of an operation.
pub(super) struct Slice {
    pub(super) verb: RdmaVerb,
    pub(super) local_offset: u32,
    pub(super) remote: BufferDescriptorV1,
}

/// The operations of one side.
#[derive(Clone, Debug)]
pub(super) struct Operations {
    ops: Vec<Option<Op>>,
    used: u32,
    untold: u32,
    pub(super) reads_in_flight: u32,
    pub(super) writes_commanded: u64,
    /// Writes of which everything is posted. They are posted in order.
    pub(super) writes_posted: u64,
    /// Requests since the last signalled one, and whether one of them is waited for.
    silent: u32,
    silent_reads: u32,
    owes_signal: bool,
    /// The last request is not signalled, and more of its operation has to follow.
    owes_more: bool,
}

impl Operations {
    pub(super) fn new(slots: u32) -> Self {
        let ops = (0..slots).map(|_| None).collect();
        Self {
            ops,
            used: 0,
            untold: 0,
            reads_in_flight: 0,
            writes_commanded: 0,
            writes_posted: 0,
            silent: 0,
            silent_reads: 0,
            owes_signal: false,
            owes_more: false,
        }
    }

    pub(super) fn is_full(&self) -> bool {
        self.used as usize >= self.ops.len()
    }

    /// Operations without a result.
    pub(super) const fn untold(&self) -> u32 {
        self.untold
    }

    /// Nothing runs.
    pub(super) const fn is_idle(&self) -> bool {
        self.used == 0
    }

    pub(super) fn on_command(
        &mut self,
        id: OpId,
        (verb, len): (RdmaVerb, u32),
        (remote, offset): (&[BufferDescriptorV1], u64),
        unsignalled: bool,
        v: &mut Verdicts,
    ) {
        let mut op = Op {
            id,
            verb,
            len,
            remote: remote.into(),
            element: 0,
            within: 0,
            posted: 0,
            in_flight: 0,
            unsignalled,
            failed: false,
            told: false,
        };
        let total: u64 = remote.iter().map(|d| u64::from(d.length)).sum();
        let fits = offset.checked_add(u64::from(len)).is_some_and(|end| end <= total);
        v.check(Law::Commands, fits, move || format!("{id:?} taken: {len} bytes at {offset} of {total}"));
        let mut skip = offset;
        while let Some(d) = remote.get(op.element)
            && skip >= u64::from(d.length)
        {
            skip -= u64::from(d.length);
            op.element += 1;
        }
        op.within = u32::try_from(skip).unwrap_or(u32::MAX);
        if len > 0 && verb == RdmaVerb::Write {
            self.writes_commanded += 1;
        }
        match self.ops.get_mut(usize::from(id.slot())) {
            Some(place @ None) => {
                *place = Some(op);
                self.used += 1;
                self.untold += 1;
            }
            Some(Some(_)) | None => v.fail(Law::Memory, format!("{id:?} given out without room")),
        }
    }

    fn op(&mut self, id: OpId) -> Option<&mut Op> {
        self.ops.get_mut(usize::from(id.slot()))?.as_mut().filter(|op| op.id == id)
    }

    /// A slice leaves.
    pub(super) fn on_post(
        &mut self,
        id: OpId,
        &Slice { verb, local_offset, remote }: &Slice,
        (read_depth, len_max): (u16, u32),
        v: &mut Verdicts,
    ) {
        let Some(op) = self.op(id) else {
            return v.fail(Law::Rdma, format!("a slice of {id:?}, which is over or never was"));
        };
        let expected = op.next();
        let exact = expected.is_some_and(|(offset, token, left)| {
            remote.offset == offset && remote.token == token && (1..=left).contains(&remote.length)
        });
        let right =
            exact && op.verb == verb && op.posted == local_offset && remote.length <= len_max && !op.told;
        v.check(Law::Rdma, right, move || {
            format!("{id:?} {verb:?} {remote:?} at {local_offset}, expected {expected:?}, at most {len_max}")
        });
        op.posted = op.posted.saturating_add(remote.length);
        op.within = op.within.saturating_add(remote.length);
        op.in_flight += 1;
        let (complete, verb) = (op.posted == op.len, op.verb);
        match verb {
            RdmaVerb::Write => self.writes_posted += u64::from(complete),
            RdmaVerb::Read => {
                self.reads_in_flight += 1;
                v.check(Law::Rdma, self.reads_in_flight <= u32::from(read_depth), || {
                    format!("{} reads outstanding, {read_depth} allowed", self.reads_in_flight)
                });
            }
        }
    }

    /// Whether the slice is signalled. A completion behind one that is not says that it is done; of a Read only where those are in
    /// order, and half of those that may be outstanding are left for what comes behind the signal.
    pub(super) fn on_signal(
        &mut self,
        id: OpId,
        verb: RdmaVerb,
        signal: bool,
        limits: &Limits,
        v: &mut Verdicts,
    ) {
        let is_read = verb == RdmaVerb::Read;
        v.check(Law::Rdma, signal || !is_read || limits.reads_in_order, move || {
            format!("a Read of {id:?} without a signal")
        });
        self.silent = if signal { 0 } else { self.silent + 1 };
        self.silent_reads = if signal { 0 } else { self.silent_reads + u32::from(is_read) };
        v.check(Law::Rdma, self.silent_reads < (u32::from(limits.read_depth) / 2).max(1), || {
            format!("{} Reads in a row without a signal, depth {}", self.silent_reads, limits.read_depth)
        });
        v.check(Law::Rdma, self.silent < SIGNAL_EVERY, || {
            format!("{} RDMA requests in a row without a signal", self.silent)
        });
        let full = self.is_full();
        let Some(op) = self.op(id) else { return };
        // Its result is wanted, or its place.
        let is_last = op.posted == op.len;
        let is_waited_for = is_last && (!op.unsignalled || full);
        self.owes_more = !signal && !is_last;
        self.owes_signal = !signal && (self.owes_signal || is_waited_for);
    }

    /// Whether a request is waited for whose end nothing will tell.
    pub(super) const fn owes_signal(&self) -> bool {
        self.owes_signal
    }

    /// Whether everything is posted, and no completion was asked for with the last of it.
    pub(super) fn is_silent(&self) -> bool {
        let is_posted = self.ops.iter().flatten().all(|op| op.posted == op.len);
        self.silent > 0 && is_posted && self.ops.iter().flatten().any(|op| op.in_flight > 0)
    }

    /// Whether the last request is one behind which another has to follow, and not signalled.
    pub(super) const fn owes_more(&self) -> bool {
        self.owes_more
    }

    /// A slice comes back.
    pub(super) fn on_complete(&mut self, id: OpId, ok: bool) {
        let Some(op) = self.op(id) else { return };
        op.in_flight -= 1;
        op.failed |= !ok;
        if op.verb == RdmaVerb::Read {
            self.reads_in_flight -= 1;
        }
        self.free_if_over(id);
    }

    /// The result of an operation.
    pub(super) fn on_result(&mut self, id: OpId, ok: bool, ending: bool, v: &mut Verdicts) {
        let Some(op) = self.op(id) else {
            return v.fail(Law::Results, format!("a result for {id:?}, which has one or never was"));
        };
        let finished = op.posted == op.len && op.in_flight == 0 && !op.failed;
        let told = std::mem::replace(&mut op.told, true);
        v.check(Law::Results, !told, move || format!("a second result for {id:?}"));
        v.check(Law::Results, if ok { finished } else { ending }, move || {
            format!("{id:?} told ok={ok}, finished={finished}")
        });
        self.untold = self.untold.saturating_sub(u32::from(!told));
        self.free_if_over(id);
    }

    fn free_if_over(&mut self, id: OpId) {
        if self.op(id).is_some_and(|op| op.told && op.in_flight == 0) {
            self.ops[usize::from(id.slot())] = None;
            self.used -= 1;
        }
    }

    /// What can influence a verdict: all but the names of operations.
    pub(super) fn fingerprint(&self, into: &mut impl Hasher) {
        let writes = self.writes_commanded.wrapping_sub(self.writes_posted);
        (self.used, self.untold, self.reads_in_flight, writes).hash(into);
        (self.silent, self.silent_reads, self.owes_signal, self.owes_more).hash(into);
        let mut ops: Vec<_> = self.ops.iter().flatten().map(|op| digest(&op.anonymous())).collect();
        ops.sort_unstable();
        ops.hash(into);
    }

    /// Whether a slice could leave but for places on the queues.
    pub(super) fn wants_to_post(&self, read_depth: u16) -> bool {
        self.used > 0
            && self.ops.iter().flatten().any(|op| {
                let blocked = op.verb == RdmaVerb::Read && self.reads_in_flight >= u32::from(read_depth);
                op.posted < op.len && !op.told && !op.failed && !blocked
            })
    }
}

impl Op {
    fn anonymous(&self) -> impl Hash {
        let progress = (self.element, self.within, self.posted, self.in_flight);
        (self.verb, self.len, self.remote.clone(), progress, (self.unsignalled, self.failed, self.told))
    }

    /// Where the next byte belongs, and how many may follow it in the same descriptor and operation.
    fn next(&mut self) -> Option<(u64, smbd_core::Token, u32)> {
        loop {
            let d = self.remote.get(self.element)?;
            if self.within < d.length {
                let left = (d.length - self.within).min(self.len - self.posted);
                return Some((d.offset.wrapping_add(u64::from(self.within)), d.token, left));
            }
            self.element += 1;
            self.within = 0;
        }
    }
}
