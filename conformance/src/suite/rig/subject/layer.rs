//! The upper layer of a subject: the server of `smbd_tools::exercise`, until a case controls it.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;

use bytes::Bytes;
use smbd_core::backend::{BufferLookup, Handler, HostMemory};
use smbd_core::endpoint::{EndpointEvent, Message};
use smbd_core::{Endpoint, Fragment, Instant, OpId, RegId};
use smbd_tools::exercise::{Limits, Server};

use super::super::Told;
use super::smb2::Smb2;

/// The upper layer of one connection. `M` is a buffer of the backend.
#[derive(Debug)]
pub(super) struct Layer<M> {
    pub(super) server: Server<M>,
    /// Speaks in the place of the server.
    pub(super) smb2: Option<Smb2<M>>,
    pub(super) by_hand: bool,
    pub(super) told: Vec<(Instant, Told)>,
    /// How many messages the device had been given by then, for each of these.
    pub(super) sends_when_told: Vec<u64>,
    pub(super) sends: Rc<Cell<u64>>,
    pub(super) operations: BTreeMap<OpId, M>,
    pub(super) registrations: BTreeMap<RegId, M>,
    pub(super) held: Vec<Fragment>,
    /// Fragments to be held at most.
    pub(super) hold: usize,
    /// Sent as soon as there is a connection.
    pub(super) greeting: Option<Bytes>,
}

impl<M: Clone + fmt::Debug> Default for Layer<M> {
    fn default() -> Self {
        Self {
            server: Server::new(Limits { backlog_messages: 1 << 20, ..Limits::default() }),
            smb2: None,
            by_hand: false,
            told: Vec::new(),
            sends_when_told: Vec::new(),
            sends: Rc::default(),
            operations: BTreeMap::new(),
            registrations: BTreeMap::new(),
            held: Vec::new(),
            hold: 0,
            greeting: None,
        }
    }
}

impl<M: Clone + fmt::Debug> Layer<M> {
    pub(super) fn give_back(&mut self, endpoint: &mut Endpoint, now: Instant) {
        for fragment in self.held.drain(..) {
            let released = endpoint.release(now, fragment);
            debug_assert_eq!(released, Ok(()), "a fragment of this endpoint");
        }
    }

    fn tell(&mut self, now: Instant, told: Told) {
        self.told.push((now, told));
        self.sends_when_told.push(self.sends.get());
    }

    fn message<B: HostMemory<Buffer = M>>(
        &mut self,
        endpoint: &mut Endpoint,
        backend: &mut B,
        message: Message,
    ) {
        let bytes = message.bytes(backend).map(Bytes::copy_from_slice);
        if let Message::Borrowed(fragment) = message {
            if self.held.len() < self.hold {
                self.held.push(fragment);
            } else {
                let released = endpoint.release(backend.now(), fragment);
                debug_assert_eq!(released, Ok(()), "a fragment of this endpoint");
            }
        }
        let Ok(bytes) = bytes else { return };
        match &mut self.smb2 {
            Some(smb2) if !self.by_hand => smb2.message(endpoint, backend, &bytes),
            _ => self.tell(backend.now(), Told::Message(bytes)),
        }
    }
}

impl<M: Clone + fmt::Debug> BufferLookup<M> for Layer<M> {
    fn operation(&self, op: OpId) -> Option<&M> {
        let own = self.operations.get(&op).or_else(|| self.server.operation(op));
        own.or_else(|| self.smb2.as_ref()?.operation(op))
    }

    fn registration(&self, id: RegId) -> Option<&M> {
        let own = self.registrations.get(&id).or_else(|| self.server.registration(id));
        own.or_else(|| self.smb2.as_ref()?.registration(id))
    }
}

impl<B: HostMemory> Handler<B, Endpoint> for Layer<B::Buffer> {
    fn event(&mut self, endpoint: &mut Endpoint, backend: &mut B, event: EndpointEvent) {
        let now = backend.now();
        let told = match &event {
            EndpointEvent::Established(negotiated) => Told::Established(*negotiated),
            EndpointEvent::ConnectFailed(error) => Told::ConnectFailed(*error),
            EndpointEvent::Invalidated { id, token } => Told::Invalidated(*id, *token),
            EndpointEvent::Sent { msg, result, .. } => Told::Sent(*msg, *result),
            EndpointEvent::RdmaDone { op, result } => Told::RdmaDone(*op, *result),
            EndpointEvent::Registered { id, result } => Told::Registered(*id, *result),
            EndpointEvent::Deregistered { id, result } => Told::Deregistered(*id, *result),
            EndpointEvent::Probed(result) => Told::Probed(*result),
            EndpointEvent::Writable => Told::Writable,
            EndpointEvent::Closed(reason) => Told::Closed(*reason),
            EndpointEvent::Drained => Told::Drained,
            EndpointEvent::Message(_) => {
                if self.by_hand || self.smb2.is_some() {
                    if let EndpointEvent::Message(message) = event {
                        self.message(endpoint, backend, message);
                    }
                } else {
                    self.server.event(endpoint, backend, event);
                }
                return;
            }
        };
        if let Told::Registered(id, Ok(())) = told
            && let Some(buffer) = self.server.registration(id)
        {
            // Cases look at it when the server has forgotten it, too.
            self.registrations.insert(id, buffer.clone());
        }
        self.tell(now, told);
        if matches!(event, EndpointEvent::Established(_))
            && let Some(greeting) = self.greeting.take()
        {
            let sent = endpoint.send(now, greeting, None);
            debug_assert!(sent.is_ok(), "a new connection has room for a message");
        }
        if matches!(event, EndpointEvent::Closed(_)) {
            self.give_back(endpoint, now);
        }
        match &mut self.smb2 {
            _ if self.by_hand => {}
            Some(smb2) => match event {
                EndpointEvent::Established(_) => smb2.established(endpoint, backend),
                EndpointEvent::Registered { id, result } => {
                    smb2.registered(endpoint, backend, id, result.is_ok());
                }
                EndpointEvent::Deregistered { id, .. } => smb2.deregistered(endpoint, backend, id),
                EndpointEvent::Invalidated { token, .. } => smb2.invalidated(token),
                EndpointEvent::RdmaDone { op, result } => smb2.rdma_done(endpoint, backend, op, result),
                EndpointEvent::Closed(_) => smb2.closed(now),
                _ => smb2.pump(endpoint, backend),
            },
            None => self.server.event(endpoint, backend, event),
        }
    }
}
