//! The upper layer of the endpoint: what it is told, until the owner of the link asks.

use std::collections::VecDeque;

use smbd_core::backend::{Backend, BufferLookup, Handler};
use smbd_core::endpoint::{Chunks, EndpointEvent, Lists, Message};
use smbd_core::error::{Aborted, OpError, RegistrationError};
use smbd_core::{Fragment, OpId, RegId};

use super::{Ending, Event, Inbox, Options, Piece};
use crate::{Failure, Messages};

/// `M` is a buffer, `N` a name, `E` the error of a backend.
#[derive(Debug)]
pub(super) struct Upper<M, N, E> {
    pub(super) events: VecDeque<Event<N, E>>,
    pub(super) inbox: Inbox,
    /// Memory of messages that were in one fragment.
    chunks: Chunks,
    /// Memory of descriptors.
    lists: Lists,
    /// Operations under way. There are few: a search costs less than a tree.
    operations: Vec<(OpId, N, M)>,
    registrations: Vec<Known<M, N>>,
    /// Messages given to the endpoint since the beginning.
    pub(super) queued: u64,
    /// Of those, messages that were sent.
    pub(super) sent: u64,
    /// A probe has no result yet.
    pub(super) is_probing: bool,
    /// A message was refused for ever: a fault of the owner.
    pub(super) refused: Option<Failure<E>>,
    /// How the connection ended; it may not be drained yet.
    pub(super) closed: Option<Ending<E>>,
}

/// A buffer from its registration to the end of that.
#[derive(Debug)]
struct Known<M, N> {
    id: RegId,
    name: N,
    buffer: M,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Asked,
    Valid,
    /// To be deregistered, by the owner.
    Leaving,
}

impl<M, N: Copy + PartialEq, E> Upper<M, N, E> {
    pub(super) fn new(options: Options) -> Self {
        Self {
            events: VecDeque::new(),
            inbox: Inbox::new(options),
            chunks: Chunks::new(),
            lists: Lists::default(),
            operations: Vec::new(),
            registrations: Vec::new(),
            queued: 0,
            sent: 0,
            is_probing: false,
            refused: None,
            closed: None,
        }
    }

    /// Whether messages wait to be sent.
    pub(super) const fn is_sending(&self) -> bool {
        self.sent < self.queued
    }

    pub(super) fn started(&mut self, op: OpId, name: N, buffer: M) {
        self.operations.push((op, name, buffer));
    }

    pub(super) fn rdma_done(&mut self, name: N, result: Result<(), Failure<E>>) {
        self.events.push_back(Event::RdmaDone { name, result });
    }

    pub(super) fn asked(&mut self, id: RegId, name: N, buffer: M) {
        self.registrations.push(Known { id, name, buffer, state: State::Asked });
    }

    /// The valid registration of that name.
    pub(super) fn registered(&self, name: N) -> Option<RegId> {
        let is_named = |known: &&Known<M, N>| known.name == name && known.state == State::Valid;
        self.registrations.iter().find(is_named).map(|known| known.id)
    }

    /// A registration is about to end, because its owner wants it.
    pub(super) fn leaving(&mut self, id: RegId) {
        if let Some(known) = self.registrations.iter_mut().find(|known| known.id == id) {
            known.state = State::Leaving;
        }
    }

    /// Drops the tokens of registrations that have ended: an owner who never asks for them must not collect them.
    pub(super) fn forget_invalidated(&mut self) {
        let Self { events, registrations, .. } = self;
        events.retain(|event| {
            let Event::Invalidated { name, .. } = event else { return true };
            registrations.iter().any(|known| known.name == *name)
        });
    }

    /// Operations under way.
    pub(super) const fn operations(&self) -> usize {
        self.operations.len()
    }

    fn take_registration(&mut self, id: RegId) -> Option<Known<M, N>> {
        let at = self.registrations.iter().position(|known| known.id == id)?;
        Some(self.registrations.swap_remove(at))
    }

    fn take_operation(&mut self, op: OpId) -> Option<N> {
        let at = self.operations.iter().position(|(of, _, _)| *of == op)?;
        let (_, name, _) = self.operations.swap_remove(at);
        Some(name)
    }

    /// The rest of the results: it is over, and the machine says nothing more. Buffers go with the backend.
    pub(super) fn end(&mut self) {
        for (_, name, _) in self.operations.drain(..) {
            self.events.push_back(Event::RdmaDone { name, result: Err(OpError::Aborted(Aborted).into()) });
        }
        for Known { name, state, .. } in self.registrations.drain(..) {
            let aborted = Failure::from(RegistrationError::Aborted(Aborted));
            match state {
                State::Asked => self.events.push_back(Event::Registered { name, result: Err(aborted) }),
                State::Leaving => self.events.push_back(Event::Deregistered { name, result: Err(aborted) }),
                State::Valid => {}
            }
        }
        if std::mem::take(&mut self.is_probing) {
            self.events.push_back(Event::Probed(Err(Aborted.into())));
        }
    }
}

impl<M, N, E> BufferLookup<M> for Upper<M, N, E> {
    fn operation(&self, op: OpId) -> Option<&M> {
        self.operations.iter().find(|(of, _, _)| *of == op).map(|(_, _, buffer)| buffer)
    }

    fn registration(&self, id: RegId) -> Option<&M> {
        self.registrations.iter().find(|known| known.id == id).map(|known| &known.buffer)
    }
}

impl<B: Backend, N: Copy + PartialEq, C: Messages, E> Handler<B, C> for Upper<B::Buffer, N, E> {
    fn event(&mut self, machine: &mut C, backend: &mut B, event: EndpointEvent) {
        match event {
            EndpointEvent::Established(negotiated) => self.events.push_back(Event::Established(negotiated)),
            EndpointEvent::ConnectFailed(error) => self.closed = Some(Err(error.into())),
            EndpointEvent::Message(message) => {
                let piece = match message {
                    Message::Owned(bytes) => Piece { bytes, remaining: 0 },
                    Message::Borrowed(fragment) => copied(machine, backend, fragment, &mut self.chunks),
                };
                self.inbox.push(piece);
                if self.inbox.is_full() {
                    machine.pause();
                }
            }
            // The end of the connection follows.
            EndpointEvent::Sent { result: Err(_), .. } => {}
            EndpointEvent::Sent { result: Ok(()), .. } => self.sent = self.sent.saturating_add(1),
            EndpointEvent::Probed(result) => {
                self.is_probing = false;
                self.events.push_back(Event::Probed(result));
            }
            EndpointEvent::Invalidated { id, token } => {
                if let Some(known) = self.registrations.iter().find(|known| known.id == id) {
                    self.events.push_back(Event::Invalidated { name: known.name, token });
                }
            }
            EndpointEvent::RdmaDone { op, result } => {
                // After a failure the device may still have the buffer; the backend keeps it as long.
                if let Some(name) = self.take_operation(op) {
                    self.rdma_done(name, result.map_err(Failure::from));
                }
            }
            EndpointEvent::Registered { id, result: Ok(()) } => {
                if let Some(known) = self.registrations.iter_mut().find(|known| known.id == id) {
                    known.state = State::Valid;
                    let segments = || machine.endpoint().connection().live_segments(id);
                    let descriptors = self.lists.list(segments().count(), segments());
                    self.events.push_back(Event::Registered { name: known.name, result: Ok(descriptors) });
                }
            }
            EndpointEvent::Registered { id, result: Err(error) } => {
                if let Some(known) = self.take_registration(id) {
                    self.events.push_back(Event::Registered { name: known.name, result: Err(error.into()) });
                }
            }
            EndpointEvent::Deregistered { id, result } => {
                // After a failure the backend keeps the buffer for as long as the device may have it.
                if let Some(Known { name, state: State::Leaving, .. }) = self.take_registration(id) {
                    self.events
                        .push_back(Event::Deregistered { name, result: result.map_err(Failure::from) });
                }
            }
            EndpointEvent::Closed(reason) => self.closed = Some(Ok(reason)),
            EndpointEvent::Writable | EndpointEvent::Drained => {}
        }
    }
}

/// The bytes of a fragment, whose receive is given back: the owner may keep them for long, and the receive is wanted.
fn copied<B: Backend, C: Messages>(
    machine: &mut C,
    backend: &B,
    fragment: Fragment,
    chunks: &mut Chunks,
) -> Piece {
    // It was borrowed because it is there.
    let bytes = backend.fragment(&fragment).map(|bytes| chunks.copy(&[bytes]));
    let remaining = fragment.remaining();
    let _ = machine.release(machine.endpoint().now(), fragment);
    Piece { bytes: bytes.unwrap_or_default(), remaining }
}
