//! The server's transport, which its thread keeps, and which may be gone from one moment to the next.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use smbd_core::error::{CloseReason, DisconnectReason};
use smbd_core::{Access, BufferDescriptorV1, RdmaVerb, Token};
use smbd_link::Failure;
use smbd_link::link::{Ending, Event, Piece};
use smbd_link::transport::{Limits, Transport};
use smbd_smb2::server::OperationId;

use crate::carrier::Overseen;
use crate::here::Here;
use crate::scene::scene;

/// An error of what is below a connection, as a text.
#[derive(Clone, Debug)]
pub struct Words(String);

impl fmt::Display for Words {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for Words {}

/// A transport that can be sent to another thread, and never is.
pub struct Carried<T: Transport<OperationId> + 'static> {
    /// Nothing is left of one that has vanished.
    transport: Here<Option<Overseen<T, OperationId>>>,
    limits: Limits,
    ended: Option<Ending<Words>>,
    is_end_told: bool,
}

impl<T: Transport<OperationId> + 'static> Carried<T> {
    pub fn new(transport: Overseen<T, OperationId>) -> Self {
        let limits = transport.limits();
        Self { transport: Here::new(Some(transport)), limits, ended: None, is_end_told: false }
    }

    fn peek<R>(&self, look: impl FnOnce(&Overseen<T, OperationId>) -> R) -> Option<R> {
        self.transport.with(|transport| transport.as_ref().map(look))
    }

    /// Does something with the transport, unless it has vanished.
    fn with<R>(&mut self, call: impl FnOnce(&mut Overseen<T, OperationId>) -> R) -> Option<R> {
        if scene().is_some_and(|scene| scene.labour.has_vanished()) {
            self.transport.with(Option::take);
            self.ended.get_or_insert(Ok(CloseReason::Lost { reason: DisconnectReason::Unknown }));
        }
        let ended = &mut self.ended;
        self.transport.with(|transport| {
            let transport = transport.as_mut()?;
            let done = call(transport);
            if ended.is_none() {
                let closed = transport.closed().map(|ending| ending.as_ref().map(|reason| *reason));
                *ended = closed
                    .map(|ending| ending.map_err(|failure| Failure::Backend(Words(failure.to_string()))));
            }
            Some(done)
        })
    }
}

impl<T: Transport<OperationId> + 'static> Transport<OperationId> for Carried<T> {
    type Memory = T::Memory;
    type Error = Words;

    fn limits(&self) -> Limits {
        self.limits
    }

    fn poll_event(&mut self, cx: &mut Context<'_>) -> Poll<Event<OperationId, Words>> {
        let event = self.with(|transport| transport.poll_event(cx));
        match event {
            Some(event) => event.map(words),
            None if self.is_end_told => Poll::Pending,
            None => {
                self.is_end_told = true;
                Poll::Ready(Event::Ended(Ok(CloseReason::Lost { reason: DisconnectReason::Unknown })))
            }
        }
    }

    fn try_recv(&mut self) -> Option<Piece> {
        self.with(Transport::try_recv).flatten()
    }

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.with(|transport| transport.poll_ready(cx)).unwrap_or(Poll::Ready(()))
    }

    fn send(&mut self, message: Bytes, invalidate: Option<Token>) {
        self.with(|transport| transport.send(message, invalidate));
    }

    fn rdma(
        &mut self,
        name: OperationId,
        verb: RdmaVerb,
        memory: T::Memory,
        remote: Arc<[BufferDescriptorV1]>,
        offset: u64,
        len: u32,
    ) {
        self.with(|transport| transport.rdma(name, verb, memory, remote, offset, len));
    }

    fn write_ahead(
        &mut self,
        name: OperationId,
        memory: T::Memory,
        remote: Arc<[BufferDescriptorV1]>,
        offset: u64,
        len: u32,
    ) {
        self.with(|transport| transport.write_ahead(name, memory, remote, offset, len));
    }

    fn register(&mut self, name: OperationId, memory: T::Memory, access: Access) {
        self.with(|transport| transport.register(name, memory, access));
    }

    fn deregister(&mut self, name: OperationId) {
        self.with(|transport| transport.deregister(name));
    }

    fn waiting(&self) -> usize {
        self.peek(Transport::waiting).unwrap_or_default()
    }

    fn waiting_bytes(&self) -> usize {
        self.peek(Transport::waiting_bytes).unwrap_or_default()
    }

    fn has_messages(&self) -> bool {
        self.peek(Transport::has_messages).unwrap_or_default()
    }

    fn ignore_messages(&mut self) {
        self.with(Transport::ignore_messages);
    }

    fn closed(&self) -> Option<&Ending<Words>> {
        self.ended.as_ref()
    }

    fn close(&mut self, within: Duration) {
        self.with(|transport| transport.close(within));
    }

    fn drop_orders(&mut self) {
        self.with(Transport::drop_orders);
    }

    fn leave(&mut self) {
        self.with(Transport::leave);
    }
}

/// A result whose failure is a text.
fn said<R, E: Error>(result: Result<R, Failure<E>>) -> Result<R, Failure<Words>> {
    result.map_err(|failure| Failure::Backend(Words(failure.to_string())))
}

/// An event whose failures are texts.
fn words<E: Error>(event: Event<OperationId, E>) -> Event<OperationId, Words> {
    match event {
        Event::Established(negotiated) => Event::Established(negotiated),
        Event::RdmaDone { name, result } => Event::RdmaDone { name, result: said(result) },
        Event::Registered { name, result } => Event::Registered { name, result: said(result) },
        Event::Deregistered { name, result } => Event::Deregistered { name, result: said(result) },
        Event::Invalidated { name, token } => Event::Invalidated { name, token },
        Event::Probed(result) => Event::Probed(result),
        Event::Ended(ending) => Event::Ended(said(ending)),
    }
}
