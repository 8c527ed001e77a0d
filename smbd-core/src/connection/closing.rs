//! The end (3.1.7.1): results for all commands, one final event, and waiting until all work is complete.

use super::phase::{Outcome, Phase};
use super::{Connection, Pending, Probe};
use crate::error::{Aborted, OpError, ProbeError, RegistrationError};
use crate::{Action, Event, Fragment, RecvId};

impl Connection {
    pub(super) fn event(&mut self, pending: Pending) -> Option<Event> {
        Some(match pending {
            Pending::Established => Event::Established(self.negotiated?),
            Pending::Data { index, offset, len, remaining, first } => {
                let recv = RecvId(self.receiver.slots.name(index)?);
                Event::Data(Fragment { recv, offset, len, remaining, first })
            }
            Pending::Invalidated { index, token } => {
                Event::Invalidated { id: self.registrations.name(index)?, token }
            }
            Pending::Sent { msg, ok } => Event::Sent { msg, result: if ok { Ok(()) } else { Err(Aborted) } },
            Pending::OpDone { index } => {
                let (op, result) = self.rdma.tell(index)?;
                Event::RdmaDone { op, result }
            }
            Pending::Registered { index } => {
                let (id, result) = self.registrations.tell(index)?;
                Event::Registered { id, result }
            }
            Pending::Deregistered { index } => {
                let (id, result) = self.registrations.tell(index)?;
                Event::Deregistered { id, result }
            }
            Pending::Probed => match core::mem::replace(&mut self.probe, Probe::Idle) {
                Probe::Done(result) => Event::Probed(result),
                Probe::Idle | Probe::Pending { .. } | Probe::Sent { .. } => return None,
            },
        })
    }

    pub(super) fn poll_closing(&mut self) -> Option<Action> {
        let Phase::Closing(closing) = &self.phase else { return None };
        let (outcome, told) = (closing.outcome, closing.told);
        if !told {
            if let Some(event) = self.poll_last_results(outcome) {
                return Some(Action::Notify(event));
            }
            self.phase = Phase::Closing(super::Closing { outcome, told: true });
            return Some(Action::Notify(outcome.event()));
        }
        if self.transport.touched && !self.transport.disconnect_polled {
            self.transport.disconnect_polled = true;
            return Some(Action::Disconnect);
        }
        if self.is_all_back() {
            self.phase = Phase::Drained;
            return Some(Action::Notify(Event::Drained));
        }
        None
    }

    /// Law 10: every command ends in exactly one result.
    fn poll_last_results(&mut self, outcome: Outcome) -> Option<Event> {
        // What the upper layer never saw of a connection stays unseen (LC-1).
        while let Some(pending) = self.events.pop() {
            if !outcome.is_connect_failure() {
                if let Some(event) = self.event(pending) {
                    return Some(event);
                }
            } else if let Pending::Data { index, .. } = pending
                && let Some(slot) = self.receiver.slots.name(index)
            {
                self.receiver.slots.release(slot);
            }
        }
        if let Some(msg) = self.sender.abort_one() {
            return Some(Event::Sent { msg, result: Err(Aborted) });
        }
        if let Some(op) = self.rdma.abort_one() {
            return Some(Event::RdmaDone { op, result: Err(OpError::Aborted(Aborted)) });
        }
        if let Some((id, registering)) = self.registrations.abort_one() {
            let result = Err(RegistrationError::Aborted(Aborted));
            return Some(if registering {
                Event::Registered { id, result }
            } else {
                Event::Deregistered { id, result }
            });
        }
        match core::mem::replace(&mut self.probe, Probe::Idle) {
            Probe::Idle | Probe::Done(_) => None,
            Probe::Pending { .. } | Probe::Sent { .. } => {
                Some(Event::Probed(Err(ProbeError::Aborted(Aborted))))
            }
        }
    }

    /// Law 2: nothing is posted, borrowed or expected any more.
    fn is_all_back(&self) -> bool {
        let transport_over = !self.transport.touched || self.transport.ended;
        transport_over && self.outstanding() == super::Outstanding::default()
    }

    /// Whether the connection is closing in good order.
    pub(super) const fn is_flushing(&self) -> bool {
        matches!(&self.phase, Phase::Established(established) if established.flush.is_some())
    }

    /// Whether a connection closing in good order has done what it was told before.
    pub(super) fn is_flushed(&self) -> bool {
        self.sender.is_empty() && self.sender.in_flight.is_empty() && self.rdma.is_idle()
    }
}
