//! What the connection says, carried out.

use smbd_core::error::{RegistrationError, WorkError};
use smbd_core::{Action, Event, RecvId, WrId};

use super::{Context, Host, Upper};
use crate::fault::Faults;
use crate::nic::{Operation, QpState, SendWork};
use crate::probe::Probe;
use crate::world::Fabric;
use crate::{Breach, Side};

/// More actions than any connection has reason for between two inputs.
const ACTIONS_MAX: u32 = 500_000;

impl<U: Upper> Host<U> {
    /// Does what the connection says until it waits.
    pub(crate) fn drain<F: Faults, P: Probe>(&mut self, fabric: &mut Fabric<F, P>) {
        for _ in 0..ACTIONS_MAX {
            let Some(connection) = self.connection.as_mut() else { return };
            let action = connection.poll_action();
            fabric.probe.action(fabric.at(self.side), &action);
            if let Action::Wait(deadline) = action {
                self.deadline = deadline.map(|at| at.saturating_add(fabric.timer_late(self.side)));
                if self.nic.has_completions() {
                    self.look(fabric);
                }
                return;
            }
            self.execute(action, fabric);
        }
        self.nic.breaches.record(Breach::Endless(ACTIONS_MAX));
        self.deadline = None;
    }

    fn execute<F: Faults, P: Probe>(&mut self, action: Action, fabric: &mut Fabric<F, P>) {
        match action {
            Action::PostSend { id, head, body, invalidate, signal, solicit } => {
                let range = match body {
                    None => None,
                    Some(body) => {
                        let range = self.local.message(body.msg).and_then(|m| m.part(body.offset, body.len));
                        if range.is_none() {
                            self.no_memory(id);
                            return self.failed(id, WorkError::LocalProtection, fabric);
                        }
                        range
                    }
                };
                let operation = Operation::Send { head, body: range, invalidate };
                self.post(SendWork { id: id.into(), operation, signal }, solicit, fabric);
            }
            Action::PostRecv { id, len } => self.post_recv(id, len, fabric),
            Action::PostRdma { id, op, verb, local_offset, remote } => {
                let whole = self.local.op(op);
                let Some(local) = whole.and_then(|range| range.part(local_offset, remote.length)) else {
                    self.no_memory(id);
                    return self.failed(id, WorkError::LocalProtection, fabric);
                };
                let operation = Operation::Rdma { verb, local, remote };
                self.post(SendWork { id: id.into(), operation, signal: true }, false, fabric);
            }
            Action::Connect => self.connect(fabric),
            Action::Accept => self.accept(fabric),
            Action::Disconnect => self.disconnect(fabric),
            Action::Register { id, access, segments_max } => self.register(id, access, segments_max, fabric),
            Action::Deregister { id } => {
                let live: Vec<_> =
                    self.connection.as_ref().map_or_else(Vec::new, |c| c.live_segments(id).collect());
                self.deregister(id, &live, fabric);
            }
            Action::Notify(event) => self.notify(event, fabric),
            // Ends the drain loop.
            Action::Wait(_) => {}
        }
    }

    pub(super) fn post_recv<F: Faults, P: Probe>(&mut self, id: RecvId, len: u32, fabric: &mut Fabric<F, P>) {
        if let Err(error) = self.may_post(id.into(), fabric) {
            return self.failed(id, error, fabric);
        }
        if let Err(refused) = self.nic.post_recv(id, len) {
            self.refusing = true;
            self.failed(id, WorkError::Refused { errno: refused.0 }, fabric);
        }
    }

    /// Whether this post is to be tried at all.
    fn may_post<F: Faults, P: Probe>(
        &mut self,
        id: WrId,
        fabric: &mut Fabric<F, P>,
    ) -> Result<(), WorkError> {
        if self.refusing {
            return Err(WorkError::Flushed);
        }
        match fabric.refuse_post(self.side, id) {
            None => Ok(()),
            Some(errno) => {
                self.refusing = true;
                Err(WorkError::Refused { errno })
            }
        }
    }

    /// `false` if it was not posted, and the connection was told.
    pub(super) fn post<F: Faults, P: Probe>(
        &mut self,
        work: SendWork,
        solicit: bool,
        fabric: &mut Fabric<F, P>,
    ) -> bool {
        let error = match self.may_post(work.id, fabric) {
            Err(error) => error,
            Ok(()) => match self.nic.post_send(work) {
                Ok(packet) => {
                    if let Some(packet) = packet {
                        fabric.transmit(self.side, packet, &mut self.nic, solicit);
                    }
                    return true;
                }
                Err(refused) => {
                    self.refusing = true;
                    WorkError::Refused { errno: refused.0 }
                }
            },
        };
        // A registration answers for all its work requests together.
        if !matches!(work.id, WrId::Reg(_)) {
            self.failed(work.id, error, fabric);
        }
        false
    }

    pub(super) fn connect<F: Faults, P: Probe>(&mut self, fabric: &mut Fabric<F, P>) {
        if self.side != Side::Initiator || std::mem::replace(&mut self.link.started, true) {
            return self.nic.breaches.record(Breach::Action("Connect"));
        }
        fabric.connect(self.nic.config.read_depth);
    }

    pub(super) fn accept<F: Faults, P: Probe>(&mut self, fabric: &mut Fabric<F, P>) {
        if self.side != Side::Acceptor || std::mem::replace(&mut self.link.started, true) {
            return self.nic.breaches.record(Breach::Action("Accept"));
        }
        if self.bare.as_ref().is_none_or(|bare| bare.requested) {
            self.accept_request(fabric);
        }
    }

    pub(super) fn accept_request<F: Faults, P: Probe>(&mut self, fabric: &mut Fabric<F, P>) {
        self.nic.establish(self.read_depth);
        fabric.accept(self.read_depth);
    }

    pub(super) fn disconnect<F: Faults, P: Probe>(&mut self, fabric: &mut Fabric<F, P>) {
        self.refusing = false;
        if std::mem::replace(&mut self.link.disconnected, true) {
            return self.nic.breaches.record(Breach::Action("Disconnect"));
        }
        self.nic.flush();
        self.look(fabric);
        fabric.disconnect(self.side, self.link.started, !self.link.ended);
    }

    fn notify<F: Faults, P: Probe>(&mut self, event: Event, fabric: &mut Fabric<F, P>) {
        match &event {
            Event::Sent { msg, result } => {
                if let Some(buffer) = self.local.take_message(*msg) {
                    self.give_back(buffer, result.is_ok());
                }
            }
            // A connection that is dying serves nobody any more; what is left then is closed with `Drained`.
            Event::Registered { id, result: Err(RegistrationError::Work(_)) }
            | Event::Deregistered { id, result: Ok(()) } => {
                self.close_tokens(*id);
            }
            Event::Drained => self.on_drained(),
            Event::Established(_)
            | Event::ConnectFailed(_)
            | Event::Data(_)
            | Event::Invalidated { .. }
            | Event::RdmaDone { .. }
            | Event::Registered { .. }
            | Event::Deregistered { .. }
            | Event::Probed(_)
            | Event::Writable
            | Event::Closed(_) => {}
        }
        self.with_upper(fabric, |upper, context| upper.event(event, context));
    }

    /// Frees a message's buffer: at once when it was sent, else when the device is surely done with it.
    fn give_back(&mut self, buffer: crate::memory::Buffer, sent: bool) {
        if sent {
            self.nic.buffers.free(buffer);
        } else {
            self.local.deferred.push(buffer);
        }
    }

    fn on_drained(&mut self) {
        if std::mem::replace(&mut self.drained, true) {
            return self.nic.breaches.record(Breach::Action("Notify(Drained)"));
        }
        if !self.nic.is_drained() {
            self.nic.breaches.record(Breach::Action("Notify(Drained) with work posted"));
        }
        self.close_all_registrations();
        for buffer in std::mem::take(&mut self.local.deferred) {
            self.nic.buffers.free(buffer);
        }
    }

    /// Calls the upper layer.
    pub(crate) fn with_upper<F: Faults, P: Probe, R>(
        &mut self,
        fabric: &mut Fabric<F, P>,
        call: impl FnOnce(&mut U, &mut Context<'_>) -> R,
    ) -> R {
        let at = fabric.at(self.side);
        let mut context = Context {
            at,
            connection: self.connection.as_mut(),
            nic: &mut self.nic,
            local: &mut self.local,
            rng: &mut fabric.rng,
            probe: &mut fabric.probe,
            alarm: &mut self.alarm,
        };
        call(&mut self.upper, &mut context)
    }

    /// The queue pair breaks, for a reason of its own.
    pub(crate) fn break_queue_pair<F: Faults, P: Probe>(&mut self, fabric: &mut Fabric<F, P>) {
        if self.nic.state() == QpState::Ready {
            self.nic.flush();
            self.look(fabric);
        }
    }

    /// The upper layer asked to be called now.
    pub(crate) fn wake<F: Faults, P: Probe>(&mut self, fabric: &mut Fabric<F, P>) {
        self.alarm = None;
        self.with_upper(fabric, Upper::wake);
        self.drain(fabric);
    }
}
