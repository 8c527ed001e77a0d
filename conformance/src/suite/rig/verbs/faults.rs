//! A device that fails when a case requests it. Refused and failed operations never reach the real device.

use std::collections::VecDeque;

use smbd_core::backend::{Backend, BackendOp, HostMemory, OutOfMemory, OutOfRange, ReceiveMemory};
use smbd_core::error::WorkError;
use smbd_core::{Input, Instant, Limits, RecvId, WrId};
use smbd_verbs::{Buffer, VerbsConnection};

use crate::suite::rig::subject::{Opens, REFUSED};

/// So many more work requests that are `counted` are taken, and the next one is refused.
#[derive(Debug)]
struct Refusal {
    counted: fn(WrId) -> bool,
    accepted: usize,
}

/// What the device is to do, and what it still has to report of that.
#[derive(Debug, Default)]
pub(super) struct Faults {
    refuse: Option<Refusal>,
    /// A post was refused: nothing is posted any more.
    refused: bool,
    /// So many deregistrations fail.
    pub(super) deregistrations: usize,
    /// It cannot invalidate a token with a send.
    keeps_tokens: bool,
    failed: VecDeque<(WrId, WorkError)>,
}

impl Faults {
    /// None yet, of a device that can invalidate a token with a send, or cannot.
    pub(super) fn of_a_device_that(keeps_tokens: bool) -> Self {
        Self { keeps_tokens, ..Self::default() }
    }

    /// Takes so many more of the work that `counted` names, and refuses the next one.
    pub(super) fn refuse_after(&mut self, counted: fn(WrId) -> bool, accepted: usize) {
        self.refuse = Some(Refusal { counted, accepted });
    }

    /// Whether something has to be reported.
    pub(super) fn has_news(&self) -> bool {
        !self.failed.is_empty()
    }

    /// What becomes of a step instead of being carried out.
    fn verdict(&mut self, step: &BackendOp<'_, Buffer>) -> Option<(WrId, WorkError)> {
        let id: WrId = match step {
            BackendOp::PostRecv { id, .. } => (*id).into(),
            BackendOp::PostSend { id, .. } => (*id).into(),
            BackendOp::PostRdma { id, .. } => (*id).into(),
            BackendOp::Register { id, .. } | BackendOp::Deregister { id, .. } => (*id).into(),
            BackendOp::Connect | BackendOp::Accept | BackendOp::Disconnect => return None,
        };
        if self.refused {
            return Some((id, WorkError::Flushed));
        }
        if matches!(step, BackendOp::Deregister { .. }) && self.deregistrations > 0 {
            self.deregistrations -= 1;
            return Some((id, WorkError::LocalOperation));
        }
        let refusal = self.refuse.as_mut().filter(|refusal| (refusal.counted)(id))?;
        if let Some(left) = refusal.accepted.checked_sub(1) {
            refusal.accepted = left;
            return None;
        }
        // A registration that fails puts nothing on a queue: all goes on.
        self.refused = !matches!(step, BackendOp::Register { .. });
        Some((id, REFUSED))
    }
}

/// An end with these faults.
#[derive(Debug)]
pub(super) struct Faulty<'a> {
    pub(super) end: &'a mut VerbsConnection,
    pub(super) faults: &'a mut Faults,
}

impl Opens for Faulty<'_> {}

impl ReceiveMemory for Faulty<'_> {
    fn received(&self, id: RecvId) -> &[u8] {
        self.end.received(id)
    }
}

impl Backend for Faulty<'_> {
    type Buffer = Buffer;

    fn now(&self) -> Instant {
        self.end.now()
    }

    fn execute(&mut self, step: BackendOp<'_, Buffer>) {
        if self.faults.refused && matches!(step, BackendOp::Connect | BackendOp::Accept) {
            // Without its first receive nothing is connected.
            return;
        }
        match self.faults.verdict(&step) {
            None => self.end.execute(step),
            Some(failed) => self.faults.failed.push_back(failed),
        }
    }

    fn ring_doorbell(&mut self) {
        self.end.ring_doorbell();
    }

    fn next_input(&mut self) -> Option<Input<'_>> {
        if let Some((id, error)) = self.faults.failed.pop_front() {
            return Some(Input::Failed { id, error });
        }
        let keeps_tokens = self.faults.keeps_tokens;
        self.end.next_input().map(|input| match input {
            Input::Connected { limits } => {
                let send_with_invalidate = limits.send_with_invalidate && !keeps_tokens;
                Input::Connected { limits: Limits { send_with_invalidate, ..limits } }
            }
            other => other,
        })
    }
}

impl HostMemory for Faulty<'_> {
    fn allocate(&mut self, len: u32) -> Result<Buffer, OutOfMemory> {
        self.end.allocate(len)
    }

    fn fill(&mut self, buffer: &Buffer, offset: u32, bytes: &[u8]) -> Result<(), OutOfRange> {
        self.end.fill(buffer, offset, bytes)
    }

    fn read(&self, buffer: &Buffer, offset: u32, out: &mut [u8]) -> Result<(), OutOfRange> {
        self.end.read(buffer, offset, out)
    }
}
