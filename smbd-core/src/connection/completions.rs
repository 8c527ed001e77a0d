//! Inputs of the backend: each is checked against the ledger before anything changes (laws 1 and 2).

use super::phase::{Cause, Phase, Request};
use super::registration::Completion;
use super::send::Carries;
use super::{Connection, Pending};
use crate::error::{ConnectReason, DisconnectReason, Misuse, Violation, WorkError};
use crate::{BufferDescriptorV1, Head, Limits, RdmaId, RecvId, RegId, Role, SendId, Token, WrId};

impl Connection {
    #[inline(never)]
    pub(super) fn on_received(
        &mut self,
        id: RecvId,
        head: &Head,
        len: u32,
        invalidated: Option<Token>,
    ) -> Result<(), Misuse> {
        if !self.receiver.is_posted(id) {
            return Err(Self::unknown(id));
        }
        if head.len() != len.min(Head::MAX_LEN) {
            return Err(Misuse::HeadLength { head: head.len(), len });
        }
        if !matches!(self.phase, Phase::Established(_)) {
            return self.on_other_message(id, head, len);
        }
        self.on_data(id, head, len, invalidated);
        Ok(())
    }

    /// What comes before data, and after.
    #[cold]
    #[inline(never)]
    fn on_other_message(&mut self, id: RecvId, head: &Head, len: u32) -> Result<(), Misuse> {
        if !self.transport.started {
            return Err(self.wrong_phase("Received"));
        }
        self.receiver.retire(id.0);
        match (&self.phase, self.role) {
            (Phase::Connecting { .. } | Phase::Negotiating { .. }, Role::Acceptor) => {
                self.on_request(head, len)
            }
            (Phase::Negotiating { request: Request::Posted, .. }, Role::Initiator) => {
                self.on_response(head, len)
            }
            (Phase::Connecting { .. } | Phase::Negotiating { .. }, Role::Initiator) => {
                self.end(Cause::Violation(Violation::BeforeRequest));
            }
            // LC-2: whatever still arrives has no meaning.
            (Phase::Rejecting { .. } | Phase::Established(_) | Phase::Closing(_) | Phase::Drained, _) => {}
        }
        Ok(())
    }

    #[inline]
    pub(super) fn on_sent(&mut self, id: SendId) -> Result<(), Misuse> {
        match self.sender.complete(id.0).ok_or(Self::unknown(id))? {
            Carries::Last(msg) => self.push_event(Pending::Sent { msg, ok: true }),
            // NE-2: gone, as far as can be known; now the connection may end.
            Carries::Refusal => self.end_refusal(),
            Carries::Fragment | Carries::Control => {}
        }
        Ok(())
    }

    #[cold]
    #[inline(never)]
    fn end_refusal(&mut self) {
        if let Phase::Rejecting { status, violation, .. } = self.phase {
            self.end(Cause::RejectedPeer { status, violation });
        }
    }

    #[inline(never)]
    pub(super) fn on_rdma(&mut self, id: RdmaId, result: Result<(), WorkError>) -> Result<(), Misuse> {
        if let Some(index) = self.rdma.complete(id, result).ok_or(Self::unknown(id))? {
            self.push_event(Pending::OpDone { index });
        }
        Ok(())
    }

    #[inline(never)]
    pub(super) fn on_registered(
        &mut self,
        id: RegId,
        segments: &[BufferDescriptorV1],
        bind_complete: bool,
    ) -> Result<(), Misuse> {
        self.registrations.check_registered(id, segments)?;
        let completion = self.registrations.on_registered(id, segments, bind_complete);
        self.on_registration(completion);
        Ok(())
    }

    #[inline(never)]
    pub(super) fn on_deregistered(&mut self, id: RegId) -> Result<(), Misuse> {
        let completion = self.registrations.on_deregistered(id)?;
        self.on_registration(completion);
        Ok(())
    }

    fn on_registration(&mut self, completion: Completion) {
        match completion {
            Completion::Registered(index) => self.push_event(Pending::Registered { index }),
            Completion::Deregistered(index) => self.push_event(Pending::Deregistered { index }),
            Completion::Fatal | Completion::Nothing => {}
        }
    }

    /// LC-3: a refused post and an error completion both end the connection. A failed registration does not.
    #[inline(never)]
    pub(super) fn on_failed(&mut self, id: WrId, error: WorkError) -> Result<(), Misuse> {
        match id {
            WrId::Recv(recv) => {
                if !self.receiver.is_posted(recv) {
                    return Err(Self::unknown(id));
                }
                self.receiver.retire(recv.0);
            }
            WrId::Send(send) => match self.sender.complete(send.0).ok_or(Self::unknown(id))? {
                Carries::Last(msg) => self.push_event(Pending::Sent { msg, ok: false }),
                Carries::Refusal => self.end_refusal(),
                Carries::Fragment | Carries::Control => {}
            },
            WrId::Rdma(rdma) => self.on_rdma(rdma, Err(error))?,
            WrId::Reg(reg) => {
                let completion = self.registrations.on_failed(reg, error)?;
                self.on_registration(completion);
                if completion != Completion::Fatal {
                    return Ok(());
                }
            }
        }
        self.end(Cause::of_failure(id, error));
        Ok(())
    }

    #[inline(never)]
    pub(super) fn on_connected(&mut self, limits: Limits) -> Result<(), Misuse> {
        if !self.transport.started || self.transport.connected || self.transport.ended {
            return Err(self.wrong_phase("Connected"));
        }
        self.take_limits(limits)?;
        self.transport.connected = true;
        match &mut self.phase {
            Phase::Connecting { deadline, .. } => {
                let request = match self.role {
                    Role::Initiator => Request::Due,
                    Role::Acceptor => Request::Theirs,
                };
                self.phase = Phase::Negotiating { deadline: *deadline, request };
            }
            // The request was faster than the transport's own news.
            Phase::Established(established) => established.announce_by = None,
            Phase::Negotiating { .. } | Phase::Rejecting { .. } | Phase::Closing(_) | Phase::Drained => {}
        }
        Ok(())
    }

    /// Limits only ever lower what the configuration reserves.
    fn take_limits(&mut self, limits: Limits) -> Result<(), Misuse> {
        let least = |field, got: u32, needed| {
            if got < needed { Err(Misuse::Limits { field, got, needed }) } else { Ok(()) }
        };
        least("send_queue", u32::from(limits.send_queue), 2)?;
        least("rdma_len_max", limits.rdma_len_max, 1)?;
        self.shares_queue = u32::from(limits.send_queue) < self.config.send_queue();
        self.limits = Limits {
            read_depth: limits.read_depth.min(self.limits.read_depth),
            send_queue: limits.send_queue.min(self.limits.send_queue),
            ..limits
        };
        Ok(())
    }

    #[inline(never)]
    pub(super) fn on_connect_failed(&mut self, reason: ConnectReason) -> Result<(), Misuse> {
        if !self.transport.started || self.transport.connected || self.transport.ended {
            return Err(self.wrong_phase("ConnectFailed"));
        }
        self.transport.ended = true;
        self.end(Cause::Connect(reason));
        Ok(())
    }

    #[inline(never)]
    pub(super) fn on_disconnected(&mut self, reason: DisconnectReason) -> Result<(), Misuse> {
        let asked = self.transport.started || self.transport.disconnect_polled;
        if !asked || self.transport.ended {
            return Err(self.wrong_phase("Disconnected"));
        }
        self.transport.ended = true;
        // NE-2: a refused peer may well go first.
        self.end_refusal();
        self.end(Cause::Lost(reason));
        Ok(())
    }
}
