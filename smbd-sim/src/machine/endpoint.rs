//! An `Endpoint`, shown to watchers as the connection in it. Its own guarantees are checked against records kept here.

use std::collections::VecDeque;

use bytes::Bytes;
use smbd_core::backend::{Protocol, ReceiveMemory};
use smbd_core::endpoint::{EndpointEvent, Message};
use smbd_core::{Action, Endpoint, Event, MsgId};

use super::watched::Shown;
use crate::breach::EndpointFault;
use crate::probe::{At, Probe, Whole};

/// What was given to an endpoint, and what it may hold.
#[derive(Debug, Default)]
pub(crate) struct EndpointRecords {
    /// Bytes of messages that have no result yet, in the order in which they were sent.
    payloads: VecDeque<(MsgId, Bytes)>,
    /// Bytes of the message that was refused last: it often comes again.
    refused: Option<Bytes>,
    pub(crate) fault: Option<EndpointFault>,
}

impl EndpointRecords {
    /// A message was taken.
    pub(crate) fn sent(&mut self, msg: MsgId, payload: Bytes) {
        self.payloads.push_back((msg, payload));
    }

    /// A copy of these bytes.
    pub(crate) fn copy_of(&mut self, bytes: &[u8]) -> Bytes {
        let refused = self.refused.take().filter(|refused| *refused == bytes);
        refused.unwrap_or_else(|| Bytes::copy_from_slice(bytes))
    }

    /// A message was not taken: its bytes come back at once.
    pub(crate) fn not_sent(&mut self, payload: Bytes, back: &Bytes) {
        if !is_same(&payload, back) {
            self.fault.get_or_insert(EndpointFault::NotSent);
        }
        self.refused = Some(payload);
    }

    /// A message has its result: its bytes come back with it, and not before.
    fn result(&mut self, msg: MsgId, payload: &Bytes) {
        let at = self.payloads.iter().position(|(known, _)| *known == msg);
        let known = at.and_then(|at| self.payloads.remove(at));
        if known.is_none_or(|(_, known)| !is_same(&known, payload)) {
            self.fault.get_or_insert(EndpointFault::Payload(msg));
        }
    }

    /// Memory grows with what has arrived, never with what was announced.
    /// What has come of a message under way is known to who hears of its fragments.
    fn check_memory(&mut self, endpoint: &Endpoint, arrived: Option<usize>) {
        let Some(arrived) = arrived else { return };
        let capacity = endpoint.reassembly_capacity();
        if capacity > arrived * 2 {
            self.fault.get_or_insert(EndpointFault::Memory { capacity, arrived });
        }
    }
}

/// Whether these are the same bytes: mostly they lie in the same place.
fn is_same(some: &Bytes, others: &Bytes) -> bool {
    let lie_together = some.as_ptr() == others.as_ptr() && some.len() == others.len();
    lie_together || some == others
}

impl Shown for Endpoint {
    type Records = EndpointRecords;

    #[inline(never)]
    fn next_action(&mut self) -> Action {
        Protocol::poll_action(self)
    }

    fn show_action<P: Probe>(&self, at: At, action: &Action, records: &mut EndpointRecords, probe: &mut P) {
        probe.action(at, action);
        records.check_memory(self, probe.arrived(at.side));
    }

    /// What its upper layer is told is an event of its own, if it is told.
    fn show_told<P: Probe>(&self, _: At, _: &Event, _: &mut P) {}

    fn show_event<P: Probe>(
        &self,
        at: At,
        event: &EndpointEvent,
        records: &mut EndpointRecords,
        memory: &impl ReceiveMemory,
        probe: &mut P,
    ) {
        match event {
            EndpointEvent::Message(message) => {
                let bytes = message.bytes(memory).map_or(0, <[u8]>::len);
                let borrowed = match message {
                    Message::Owned(_) => None,
                    Message::Borrowed(fragment) => Some(fragment),
                };
                let len = u32::try_from(bytes).unwrap_or(u32::MAX);
                probe.whole(at, &Whole { len, borrowed });
            }
            event => {
                if let EndpointEvent::Sent { msg, payload, .. } = event {
                    records.result(*msg, payload);
                }
                if let Some(event) = plain(event) {
                    probe.event(at, &event);
                }
            }
        }
        records.check_memory(self, probe.arrived(at.side));
    }
}

/// An event that is no message, as a connection's.
pub(crate) fn plain(event: &EndpointEvent) -> Option<Event> {
    Some(match *event {
        EndpointEvent::Established(negotiated) => Event::Established(negotiated),
        EndpointEvent::ConnectFailed(error) => Event::ConnectFailed(error),
        EndpointEvent::Invalidated { id, token } => Event::Invalidated { id, token },
        EndpointEvent::Sent { msg, result, .. } => Event::Sent { msg, result },
        EndpointEvent::RdmaDone { op, result } => Event::RdmaDone { op, result },
        EndpointEvent::Registered { id, result } => Event::Registered { id, result },
        EndpointEvent::Deregistered { id, result } => Event::Deregistered { id, result },
        EndpointEvent::Probed(result) => Event::Probed(result),
        EndpointEvent::Writable => Event::Writable,
        EndpointEvent::Closed(reason) => Event::Closed(reason),
        EndpointEvent::Drained => Event::Drained,
        EndpointEvent::Message(_) => return None,
    })
}
