//! The result of each request in the records of the device, compared with the report of the queues.

use std::collections::VecDeque;

use smbd_core::error::WorkError;
use smbd_core::{Input, RecvId, WrId};

use crate::Breach;
use crate::nic::{Nic, SendDone};

/// A request that was never posted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Unposted {
    id: WrId,
    /// It is the one that was refused; those behind it are flushed.
    refused: bool,
}

/// What the queues have to report besides the outcomes of the send queue, which the device remembers.
#[derive(Debug, Default)]
pub(super) struct Outcomes {
    /// Receives that failed, in posting order.
    receives: VecDeque<RecvId>,
    /// By queue, receives first.
    unposted: [VecDeque<Unposted>; 2],
}

impl Outcomes {
    pub(super) fn receive_failed(&mut self, id: RecvId) {
        self.receives.push_back(id);
    }

    /// A registration may have several requests: it fails once.
    pub(super) fn unposted(&mut self, id: WrId, refused: bool) {
        let queue = &mut self.unposted[queue_of(id)];
        if queue.back().is_none_or(|last| last.id != id) {
            queue.push_back(Unposted { id, refused });
        }
    }

    /// The queues report this.
    #[inline(always)]
    pub(super) fn check(&mut self, input: &Input<'_>, nic: &mut Nic) -> Result<(), Breach> {
        // Mostly it is a message that went well, of which the device says the same.
        if let Input::Sent { id } = *input
            && nic.take_outcome(&SendDone { id: id.into(), result: Ok(()) })
        {
            return Ok(());
        }
        self.check_any(input, nic)
    }

    #[inline(never)]
    fn check_any(&mut self, input: &Input<'_>, nic: &mut Nic) -> Result<(), Breach> {
        let (id, result) = match *input {
            Input::Sent { id } => (WrId::from(id), Ok(())),
            Input::RdmaDone { id } => (id.into(), Ok(())),
            Input::BindComplete { id } | Input::Deregistered { id } => (id.into(), Ok(())),
            Input::Failed { id, error } => (id, Err(error)),
            _ => return Ok(()),
        };
        let posted = match id {
            WrId::Recv(recv) => self.receives.front() == Some(&recv) && self.receives.pop_front().is_some(),
            WrId::Send(_) | WrId::Rdma(_) | WrId::Reg(_) => is_outcome(id, result, nic),
        };
        let unposted = if posted && !is_registration(id) { None } else { self.take_unposted(id) };
        let right = match unposted {
            None => posted,
            // What a posted request of the same registration failed with counts as well.
            Some(_) if is_registration(id) => result.is_err(),
            Some(unposted) => match result {
                Err(WorkError::PostFailed { .. }) => unposted.refused,
                Err(error) => error == WorkError::Flushed && !unposted.refused,
                Ok(()) => false,
            },
        };
        if right { Ok(()) } else { Err(Breach::Report { work: id, result }) }
    }

    /// The next of its queue. A registration that is posted in part fails with that part: later than those behind it.
    fn take_unposted(&mut self, id: WrId) -> Option<Unposted> {
        let queue = &mut self.unposted[queue_of(id)];
        let next = queue.iter().position(|unposted| unposted.id == id || !is_registration(unposted.id))?;
        if queue.get(next)?.id == id { queue.remove(next) } else { None }
    }

    /// The queues have nothing more to report.
    pub(super) fn check_empty(&self, nic: &Nic) -> Result<(), Breach> {
        // Other requests of a registration may still be posted.
        let send = nic.peek_outcome().map(|done| done.id).filter(|id| !is_registration(*id));
        let recv = self.receives.front().map(|id| WrId::Recv(*id));
        let mut unposted = self.unposted.iter().flatten().map(|unposted| unposted.id);
        match send.or(recv).or_else(|| unposted.find(|id| !is_registration(*id))) {
            None => Ok(()),
            Some(work) => Err(Breach::NotReported(work)),
        }
    }
}

const fn is_registration(id: WrId) -> bool {
    matches!(id, WrId::Reg(_))
}

const fn queue_of(id: WrId) -> usize {
    match id {
        WrId::Recv(_) => 0,
        WrId::Send(_) | WrId::Rdma(_) | WrId::Reg(_) => 1,
    }
}

/// Whether this is the outcome of the oldest request that was posted and not reported. A registration has one for all of
/// its requests.
fn is_outcome(id: WrId, result: Result<(), WorkError>, nic: &mut Nic) -> bool {
    let mut cause: Option<Result<(), WorkError>> = None;
    while nic.peek_outcome().is_some_and(|done| done.id == id)
        && let Some(done) = nic.next_outcome()
    {
        let known = cause.unwrap_or(Ok(()));
        // The first failure counts, but a cause more than its consequence.
        let replaces = matches!(known, Ok(()) | Err(WorkError::Flushed));
        cause = Some(if replaces && done.result.is_err() { done.result } else { known });
        if !is_registration(id) {
            break;
        }
    }
    cause.is_some_and(|cause| cause == result || (result.is_err() && is_registration(id)))
}
