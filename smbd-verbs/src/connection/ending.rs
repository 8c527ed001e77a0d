//! The own disconnect: everything that is posted completes, with or without the peer's help.
//!
//! A marker is posted behind everything else. When it is complete, all work before it is. If a provider takes no
//! marker, or never completes it, its queue pair is destroyed after a timeout, and its last completions are read. What
//! is missing then never completes.
//!
//! The connection manager of InfiniBand and RoCE can repeat its reply for 69 s, and the id cannot be destroyed in that
//! time. This happens if `rdma_disconnect` follows `rdma_notify` before the connection manager has handled the
//! notification. So the disconnect waits until it has, at most as long as a flush may take. Before its last message has come,
//! and without a notification, `rdma_disconnect` succeeds and sends nothing: the peer is told when the id is destroyed.
//!
//! siw disconnects nothing and destroys nothing before the peer has answered the request to connect, or for 10 s. A thread waits for
//! that, as for the request itself.

use std::sync::Arc;
use std::time::Duration;

use smbd_core::backend::Request;
use smbd_core::error::DisconnectReason;

use super::VerbsConnection;
use super::call::Call;
use super::link::Early;
use super::phase::{Ending, Phase, Stage};
use crate::ffi::CmId;

/// `wr_id` of the marker: no [`WrId`](smbd_core::WrId) is 0.
pub(super) const MARKER_ID: u64 = 0;
/// Time for an orderly end, before the queue pair is put into the error state.
const GRACE: Duration = Duration::from_millis(200);
/// Time for the flush, before the queue pair is destroyed.
const PATIENCE: Duration = Duration::from_secs(1);

impl VerbsConnection {
    /// [`BackendOp::Disconnect`](smbd_core::backend::BackendOp::Disconnect).
    pub(super) fn begin_ending(&mut self) {
        self.queues.stop();
        let phase = std::mem::replace(&mut self.link.phase, Phase::Over);
        match phase {
            Phase::Connecting(Some(call)) => {
                call.abandon(self.open.take());
                self.over_without_queues();
            }
            Phase::Idle(_) | Phase::ResolvingAddr(_) | Phase::ResolvingRoute | Phase::Over => {
                self.over_without_queues();
            }
            Phase::Connecting(None) if self.connect_blocks() && self.leave_to_a_thread() => {
                self.over_without_queues();
            }
            Phase::Connecting(None)
            | Phase::Accepting(_)
            | Phase::Settling(_)
            | Phase::Up
            | Phase::Down
            | Phase::Ending(_) => self.flush_queues(),
        }
    }

    pub(super) fn connect_blocks(&self) -> bool {
        self.open.as_ref().is_some_and(|open| open.quirks.connect_blocks)
    }

    /// Another thread disconnects, and destroys the queue pair. Whether there is one: this thread has to wait otherwise.
    pub(super) fn leave_to_a_thread(&mut self) -> bool {
        let handle = self.wake.call_handle();
        let call = handle.and_then(|handle| Call::start(Arc::clone(&self.link.id), handle, CmId::disconnect));
        call.map(|call| call.abandon(self.open.take())).is_ok()
    }

    /// Nothing is with a device, or its queue pair is another thread's to destroy.
    fn over_without_queues(&mut self) {
        for (id, _) in self.early.drain(..) {
            // Noted only to be reported: nothing is posted any more.
            let _ = self.queues.push(Request::Recv(id));
        }
        self.queues.flush();
        self.link.reports.disconnected(DisconnectReason::Local);
    }

    fn flush_queues(&mut self) {
        // Of a connection that the connection manager does not know to be up, `rdma_disconnect` tells the peer nothing.
        self.tell_of_early();
        let Some(open) = &mut self.open else { return self.over_without_queues() };
        // Refused if the connection never came up or is gone: then nothing else flushes the queues.
        let orderly = self.link.early != Early::Told && self.link.id.disconnect().is_ok();
        if !orderly {
            let _ = open.qp.set_error();
        }
        let marker =
            open.quirks.returns_marker && open.qp.chain_marker().is_ok() && open.qp.ring_sends().is_ok();
        let stage = if orderly { Stage::Orderly } else { Stage::InError };
        self.wake.set_timer(if orderly { GRACE } else { PATIENCE });
        self.link.phase = Phase::Ending(Ending::Flushing { marker, stage });
    }

    pub(super) const fn marker_is_back(&mut self) {
        if let Phase::Ending(Ending::Flushing { marker, .. }) = &mut self.link.phase {
            *marker = false;
        }
    }

    /// Goes on with the own disconnect, when the completion queue is empty. Whether there may be something to report.
    pub(super) fn progress_ending(&mut self) -> bool {
        let (Phase::Ending(ending), Some(open)) = (&mut self.link.phase, &mut self.open) else {
            return false;
        };
        match ending {
            Ending::Flushing { marker: false, .. }
                if !self.queues.is_awaited() && self.link.early != Early::Told => {}
            Ending::Flushing { stage: Stage::GivenUp, .. } => {}
            Ending::Flushing { stage: stage @ Stage::Overdue, .. } => {
                let _ = open.qp.set_error();
                *stage = Stage::InError;
                self.wake.set_timer(PATIENCE);
                return false;
            }
            Ending::Flushing { .. } => return false,
            Ending::Destroyed => {
                self.queues.drained();
                self.link.reports.disconnected(DisconnectReason::Local);
                self.link.phase = Phase::Over;
                return true;
            }
        }
        // In this order: see `Open`.
        open.registrations.clear();
        open.qp.destroy();
        *ending = Ending::Destroyed;
        true
    }

    /// Whether the own disconnect can go on without anything more from the device.
    pub(super) fn poll_is_due(&self) -> bool {
        match &self.link.phase {
            Phase::Ending(Ending::Flushing { marker, stage }) => {
                *stage == Stage::GivenUp
                    || *stage == Stage::Overdue
                    || (!marker && !self.queues.is_awaited() && self.link.early != Early::Told)
            }
            Phase::Ending(Ending::Destroyed) => true,
            _ => false,
        }
    }
}
