//! Results and messages of a connection that no call has returned yet.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use bytes::Bytes;

use super::{Blocking, INBOX_MAX};
use crate::Messages;
use smbd_core::backend::{BufferLookup, Handler};
use smbd_core::endpoint::{EndpointEvent, Message};
use smbd_core::error::{CloseReason, ConnectError, OpError, ProbeError, RegistrationError};
use smbd_core::{Close, Negotiated, OpId, RegId, Token};

/// The upper layer of a blocking connection. `M` is a buffer.
#[derive(Debug)]
pub(super) struct Inbox<M> {
    pub(super) established: Option<Negotiated>,
    pub(super) failed: Option<ConnectError>,
    pub(super) closed: Option<CloseReason>,
    pub(super) messages: VecDeque<Bytes>,
    message_bytes: usize,
    /// Messages that were sent or aborted since the beginning.
    pub(super) sent: u64,
    pub(super) probed: Option<Result<Duration, ProbeError>>,
    /// Not yet returned.
    pub(super) invalidated: VecDeque<(RegId, Token)>,
    pub(super) operations: BTreeMap<OpId, M>,
    pub(super) finished: VecDeque<(OpId, Result<(), OpError>)>,
    /// Buffers, each with the name of its registration.
    pub(super) registrations: BTreeMap<RegId, (u64, M)>,
    /// The name of the next one.
    pub(super) next_name: u64,
    pub(super) registered: Option<(RegId, Result<(), RegistrationError>)>,
    pub(super) deregistered: Option<(RegId, Result<(), RegistrationError>)>,
}

impl<M> Default for Inbox<M> {
    fn default() -> Self {
        Self {
            established: None,
            failed: None,
            closed: None,
            messages: VecDeque::new(),
            message_bytes: 0,
            sent: 0,
            probed: None,
            invalidated: VecDeque::new(),
            operations: BTreeMap::new(),
            finished: VecDeque::new(),
            registrations: BTreeMap::new(),
            next_name: 0,
            registered: None,
            deregistered: None,
        }
    }
}

impl<M> Inbox<M> {
    pub(super) fn pop(&mut self) -> Option<Bytes> {
        let message = self.messages.pop_front()?;
        self.message_bytes = self.message_bytes.saturating_sub(message.len());
        Some(message)
    }

    /// Drops the tokens of registrations that have ended: an owner who never asks for them must not collect them.
    pub(super) fn forget_invalidated(&mut self) {
        let Self { invalidated, registrations, .. } = self;
        invalidated.retain(|(id, _)| registrations.contains_key(id));
    }
}

impl<M> BufferLookup<M> for Inbox<M> {
    fn operation(&self, op: OpId) -> Option<&M> {
        self.operations.get(&op)
    }

    fn registration(&self, id: RegId) -> Option<&M> {
        self.registrations.get(&id).map(|(_, buffer)| buffer)
    }
}

impl<B: Blocking, C: Messages> Handler<B, C> for Inbox<B::Buffer> {
    fn event(&mut self, endpoint: &mut C, backend: &mut B, event: EndpointEvent) {
        match event {
            EndpointEvent::Established(negotiated) => self.established = Some(negotiated),
            EndpointEvent::ConnectFailed(error) => self.failed = Some(error),
            EndpointEvent::Closed(reason) => self.closed = Some(reason),
            EndpointEvent::Message(message) => {
                let bytes = match message {
                    Message::Owned(bytes) => bytes,
                    Message::Borrowed(fragment) => {
                        let bytes = backend.fragment(&fragment).map(Bytes::copy_from_slice);
                        // Just borrowed, so it is known.
                        let _ = endpoint.release(endpoint.endpoint().now(), fragment);
                        bytes.unwrap_or_default()
                    }
                };
                self.message_bytes = self.message_bytes.saturating_add(bytes.len());
                if self.message_bytes > INBOX_MAX {
                    endpoint.close(endpoint.endpoint().now(), Close::Abort);
                } else {
                    self.messages.push_back(bytes);
                }
            }
            EndpointEvent::Sent { result: Ok(()), .. } => self.sent = self.sent.saturating_add(1),
            // The end of the connection follows.
            EndpointEvent::Sent { result: Err(_), .. } => {}
            EndpointEvent::Probed(result) => self.probed = Some(result),
            EndpointEvent::Invalidated { id, token } => self.invalidated.push_back((id, token)),
            EndpointEvent::RdmaDone { op, result } => {
                // After a failure the device may still have the buffer; the backend keeps it as long.
                self.operations.remove(&op);
                self.finished.push_back((op, result));
            }
            EndpointEvent::Registered { id, result } => self.registered = Some((id, result)),
            EndpointEvent::Deregistered { id, result } => self.deregistered = Some((id, result)),
            EndpointEvent::Writable | EndpointEvent::Drained => {}
        }
    }
}
