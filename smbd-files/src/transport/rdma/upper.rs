//! The upper layer of the connection: what it is told, until the client asks.

use std::collections::{BTreeMap, VecDeque};

use bytes::BytesMut;
use smbd_core::backend::{Backend, BufferLookup, Handler};
use smbd_core::endpoint::{EndpointEvent, Message};
use smbd_core::error::{CloseReason, ConnectError, RegistrationError};
use smbd_core::{BufferDescriptorV1, Negotiated, RegId, Token};
use smbd_link::Messages;
use smbd_link::handles::Options;
use smbd_smb2::client::RegistrationId;

use super::super::{Registered, part_of};

pub(super) struct Upper<M> {
    pub(super) established: Option<Result<Negotiated, ConnectError>>,
    messages: VecDeque<BytesMut>,
    bytes: usize,
    options: Options,
    /// Messages are not wanted any more.
    pub(super) is_deaf: bool,
    /// Tokens of this side that the peer has invalidated. Those of a registration go with it.
    invalidated: VecDeque<(RegId, Token)>,
    pub(super) registrations: BTreeMap<RegId, Known<M>>,
    /// What came of registrations.
    pub(super) told: VecDeque<Registered>,
    /// It is not known whether the access to some memory has ended.
    pub(super) is_unsure: bool,
    pub(super) closed: Option<CloseReason>,
}

/// A buffer from its registration to the end of it.
pub(super) struct Known<M> {
    pub(super) buffer: M,
    pub(super) of: RegistrationId,
    /// The part of it that is described.
    pub(super) offset: u32,
    pub(super) len: u32,
}

impl<M> Upper<M> {
    pub(super) const fn new(options: Options) -> Self {
        Self {
            established: None,
            messages: VecDeque::new(),
            bytes: 0,
            options,
            is_deaf: false,
            invalidated: VecDeque::new(),
            registrations: BTreeMap::new(),
            told: VecDeque::new(),
            is_unsure: false,
            closed: None,
        }
    }

    /// The next message, and the tokens that were invalidated until now.
    pub(super) fn take(&mut self) -> Option<(BytesMut, Vec<Token>)> {
        let message = self.messages.pop_front()?;
        self.bytes = self.bytes.saturating_sub(message.len());
        Some((message, self.invalidated.drain(..).map(|(_, token)| token).collect()))
    }

    /// Whether a message waits.
    pub(super) fn has_messages(&self) -> bool {
        !self.messages.is_empty()
    }

    /// Whether no other message is to be taken from the connection.
    pub(super) fn is_full(&self) -> bool {
        self.messages.len() >= self.options.messages_max.max(1) || self.bytes >= self.options.bytes_max.max(1)
    }

    /// Takes no message any more, and drops those that wait.
    pub(super) fn ignore_messages(&mut self) {
        self.is_deaf = true;
        self.messages.clear();
        self.bytes = 0;
    }

    /// Memory is registered. Whether the part that is wanted of it is in it.
    fn registered(&mut self, id: RegId, descriptors: &[BufferDescriptorV1]) -> bool {
        let Some(known) = self.registrations.get(&id) else { return false };
        let part = part_of(descriptors, known.offset, known.len);
        let is_inside = part.is_some();
        let told = part.map_or(Registered::Impossible(known.of), |part| Registered::Valid(known.of, part));
        self.told.push_back(told);
        is_inside
    }
}

impl<M> BufferLookup<M> for Upper<M> {
    fn registration(&self, id: RegId) -> Option<&M> {
        self.registrations.get(&id).map(|known| &known.buffer)
    }
}

impl<B: Backend, C: Messages> Handler<B, C> for Upper<B::Buffer> {
    fn event(&mut self, machine: &mut C, backend: &mut B, event: EndpointEvent) {
        match event {
            EndpointEvent::Established(negotiated) => self.established = Some(Ok(negotiated)),
            EndpointEvent::ConnectFailed(error) => self.established = Some(Err(error)),
            EndpointEvent::Message(message) => {
                let bytes = match message {
                    Message::Owned(bytes) => BytesMut::from(bytes),
                    Message::Borrowed(fragment) => {
                        // It was borrowed because it is there.
                        let bytes = backend.fragment(&fragment).map(BytesMut::from).unwrap_or_default();
                        let _ = machine.release(machine.endpoint().now(), fragment);
                        bytes
                    }
                };
                if !self.is_deaf {
                    self.bytes = self.bytes.saturating_add(bytes.len());
                    self.messages.push_back(bytes);
                    if self.is_full() {
                        machine.pause();
                    }
                }
            }
            EndpointEvent::Invalidated { id, token } => self.invalidated.push_back((id, token)),
            EndpointEvent::Registered { id, result: Ok(()) } => {
                let descriptors: Vec<_> = machine.endpoint().connection().live_segments(id).collect();
                if !self.registered(id, &descriptors) {
                    // Nobody has a use for it.
                    let _ = machine.deregister(machine.endpoint().now(), id);
                }
            }
            EndpointEvent::Registered { id, result: Err(error) } => {
                let known = self.registrations.remove(&id);
                match (known, error) {
                    (Some(known), RegistrationError::Work(_)) => {
                        self.told.push_back(Registered::Impossible(known.of));
                    }
                    // By its end: the transfer is no worse than any other that was under way, and can go on at another connection.
                    _ => self.is_unsure = true,
                }
            }
            EndpointEvent::Deregistered { id, result } => {
                let known = self.registrations.remove(&id);
                self.invalidated.retain(|(of, _)| *of != id);
                match (known, result) {
                    (Some(known), Ok(())) => self.told.push_back(Registered::Ended(known.of)),
                    // The access has not ended for certain; the connection does.
                    (_, Err(_)) => self.is_unsure = true,
                    (None, Ok(())) => {}
                }
            }
            EndpointEvent::Closed(reason) => self.closed = Some(reason),
            // Of messages nothing is said but that they do not arrive, which the end of the connection says.
            EndpointEvent::Sent { .. }
            | EndpointEvent::Writable
            | EndpointEvent::Probed(_)
            | EndpointEvent::RdmaDone { .. }
            | EndpointEvent::Drained => {}
        }
    }
}
