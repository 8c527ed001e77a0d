//! The upper layer of a driven connection: it sends events to the callers that wait for them.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use bytes::Bytes;
use std::time::Duration;

use super::PollReady;
use super::command::{Answer, Offer};
use super::piece::Piece;
use super::shared::Shared;
use crate::{Failure, Messages};
use smbd_core::backend::{BufferLookup, Handler};
use smbd_core::endpoint::{EndpointEvent, Message};
use smbd_core::error::{CloseReason, RegistrationError};
use smbd_core::{Negotiated, OpId, RegId};

/// `M` is a buffer, `E` the error of a backend.
#[derive(Debug)]
pub(super) struct Program<M, E> {
    pub(super) shared: Arc<Shared<E>>,
    pub(super) established: Option<Answer<Negotiated, E>>,
    pub(super) operations: BTreeMap<OpId, (M, Answer<(), E>)>,
    pub(super) registrations: BTreeMap<RegId, Registered<M, E>>,
    pub(super) probe: Option<Answer<Duration, E>>,
    /// Callers that wait until this number of messages is finished.
    flushes: VecDeque<(u64, Answer<(), E>)>,
    /// Messages given to the endpoint since the beginning.
    pub(super) queued: u64,
    /// Of those, messages that were sent or aborted.
    sent: u64,
    /// How the connection ended.
    pub(super) closed: Option<Result<CloseReason, Failure<E>>>,
}

/// A registration, from its command to its end.
#[derive(Debug)]
pub(super) struct Registered<M, E> {
    pub(super) buffer: M,
    /// The caller that registers it, until the result is known.
    pub(super) asked: Option<Answer<Offer<E>, E>>,
    /// The caller that deregisters it.
    pub(super) leaving: Option<Answer<(), E>>,
}

impl<M, E> Program<M, E> {
    pub(super) fn new(shared: Arc<Shared<E>>, established: Answer<Negotiated, E>) -> Self {
        Self {
            shared,
            established: Some(established),
            operations: BTreeMap::new(),
            registrations: BTreeMap::new(),
            probe: None,
            flushes: VecDeque::new(),
            queued: 0,
            sent: 0,
            closed: None,
        }
    }

    /// Answers when all messages that are queued now are finished.
    pub(super) fn flush(&mut self, answer: Answer<(), E>) {
        // Those who gave up do not add up.
        self.flushes.retain(|(_, answer)| !answer.is_closed());
        self.flushes.push_back((self.queued, answer));
        self.tell_flushed();
    }

    /// Whether messages wait to be sent.
    pub(super) const fn is_sending(&self) -> bool {
        self.sent < self.queued
    }

    fn tell_flushed(&mut self) {
        while self.flushes.front().is_some_and(|(until, _)| *until <= self.sent) {
            if let Some((_, answer)) = self.flushes.pop_front() {
                tell(answer, Ok(()));
            }
        }
    }

    fn registered(&mut self, id: RegId, result: Result<Offer<E>, RegistrationError>) {
        let failed = result.is_err();
        if let Some(answer) = self.registrations.get_mut(&id).and_then(|known| known.asked.take()) {
            tell(answer, result.map_err(Failure::from));
        }
        if failed {
            self.registrations.remove(&id);
        }
    }

    fn deregistered(&mut self, id: RegId, result: Result<(), RegistrationError>) {
        // After a failure the backend keeps the buffer for as long as the device may have it.
        let known = self.registrations.remove(&id);
        self.shared.forget(id);
        if let Some(answer) = known.and_then(|known| known.leaving) {
            tell(answer, result.map_err(Failure::from));
        }
    }
}

impl<M, E: Clone> Program<M, E> {
    /// Ends the connection for all callers that wait.
    pub(super) fn end(&mut self, failure: Failure<E>) {
        if let Some(answer) = self.established.take() {
            tell(answer, Err(failure.clone()));
        }
        for (_, answer) in self.flushes.drain(..) {
            tell(answer, Err(failure.clone()));
        }
        self.shared.end(failure);
    }
}

impl<M, E> BufferLookup<M> for Program<M, E> {
    fn operation(&self, op: OpId) -> Option<&M> {
        self.operations.get(&op).map(|(buffer, _)| buffer)
    }

    fn registration(&self, id: RegId) -> Option<&M> {
        self.registrations.get(&id).map(|known| &known.buffer)
    }
}

impl<B: PollReady, C: Messages> Handler<B, C> for Program<B::Buffer, B::Error> {
    fn event(&mut self, endpoint: &mut C, backend: &mut B, event: EndpointEvent) {
        match event {
            EndpointEvent::Established(negotiated) => {
                if let Some(answer) = self.established.take() {
                    tell(answer, Ok(negotiated));
                }
            }
            EndpointEvent::ConnectFailed(error) => {
                self.closed = Some(Err(error.into()));
                self.end(error.into());
            }
            EndpointEvent::Message(message) => {
                let piece = match message {
                    Message::Owned(bytes) => Piece { bytes, remaining: 0 },
                    Message::Borrowed(fragment) => {
                        // Copied: the program may keep it for long, and the receive is wanted back. It was borrowed because it
                        // is there.
                        let bytes = backend.fragment(&fragment).map(Bytes::copy_from_slice);
                        let remaining = fragment.remaining();
                        let _ = endpoint.release(endpoint.endpoint().now(), fragment);
                        Piece { bytes: bytes.unwrap_or_default(), remaining }
                    }
                };
                if self.shared.push(piece) {
                    endpoint.pause();
                }
            }
            // The end of the connection follows.
            EndpointEvent::Sent { result: Err(_), .. } => {}
            EndpointEvent::Sent { result: Ok(()), .. } => {
                self.sent = self.sent.saturating_add(1);
                self.tell_flushed();
            }
            EndpointEvent::Probed(result) => {
                if let Some(answer) = self.probe.take() {
                    tell(answer, result.map_err(Failure::from));
                }
            }
            EndpointEvent::Invalidated { id, token } => self.shared.invalidated(id, token),
            EndpointEvent::RdmaDone { op, result } => {
                // After a failure the device may still have the buffer; the backend keeps it as long.
                if let Some((_, answer)) = self.operations.remove(&op) {
                    tell(answer, result.map_err(Failure::from));
                }
            }
            EndpointEvent::Registered { id, result } => {
                let connection = endpoint.endpoint().connection();
                let offer =
                    || Offer::new(id, connection.live_segments(id).collect(), Arc::clone(&self.shared));
                self.registered(id, result.map(|()| offer()));
            }
            EndpointEvent::Deregistered { id, result } => self.deregistered(id, result),
            EndpointEvent::Closed(reason) => {
                self.closed = Some(Ok(reason));
                self.end(Failure::Closed(reason));
            }
            EndpointEvent::Writable | EndpointEvent::Drained => {}
        }
    }
}

/// Sends an answer. A caller that has dropped its future does not get it.
pub(super) fn tell<T, E>(answer: Answer<T, E>, result: Result<T, Failure<E>>) {
    drop(answer.send(result));
}
