//! SMB2 as the upper layer of a subject: a server of files, or a client that copies one; or the server of `smbd-smb2`.

mod copying;
mod late;
mod machine;
mod serving;

use std::collections::VecDeque;
use std::fmt;

use bytes::Bytes;
use smbd_core::backend::HostMemory;
use smbd_core::endpoint::NotSent;
use smbd_core::error::{CommandError, OpError, SendError};
use smbd_core::{Endpoint, Instant, OpId, RegId, Token};

use copying::Copying;
use machine::Machine;
pub(in crate::suite::rig) use machine::{PASSWORD, Shared, USER};
use serving::Serving;

/// A message, and the peer's token that goes with it.
#[derive(Debug)]
struct Outgoing {
    bytes: Bytes,
    invalidate: Option<Token>,
}

impl Outgoing {
    fn of(bytes: Vec<u8>) -> Self {
        Self { bytes: bytes.into(), invalidate: None }
    }
}

/// An SMB2 program, and what it has to say and had no room for. `M` is a buffer of the backend.
#[derive(Debug)]
pub(super) struct Smb2<M> {
    side: Side<M>,
    backlog: VecDeque<Outgoing>,
}

#[derive(Debug)]
enum Side<M> {
    Server(Box<Serving<M>>),
    Client(Box<Copying<M>>),
    Machine(Box<Machine<M>>),
}

impl<M: Clone + fmt::Debug> Smb2<M> {
    /// A server; one that `is_late` says of each request that it is under way, before it answers.
    pub(super) fn server(is_late: bool) -> Self {
        Self { side: Side::Server(Box::new(Serving::new(is_late))), backlog: VecDeque::new() }
    }

    pub(super) fn client() -> Self {
        Self { side: Side::Client(Box::new(Copying::new())), backlog: VecDeque::new() }
    }

    /// The server of `smbd-smb2`.
    pub(super) fn of_smb2(share: &Shared) -> Self {
        Self { side: Side::Machine(Box::new(Machine::new(share))), backlog: VecDeque::new() }
    }

    /// The buffer of an RDMA operation.
    pub(super) fn operation(&self, op: OpId) -> Option<&M> {
        match &self.side {
            Side::Server(serving) => serving.operation(op),
            Side::Machine(machine) => machine.operation(op),
            Side::Client(_) => None,
        }
    }

    /// The buffer of a registration.
    pub(super) fn registration(&self, id: RegId) -> Option<&M> {
        match &self.side {
            Side::Server(_) | Side::Machine(_) => None,
            Side::Client(copying) => copying.registration(id),
        }
    }

    /// A registration is valid, or not.
    pub(super) fn registered(&mut self, endpoint: &mut Endpoint, now: Instant, id: RegId, is_valid: bool) {
        if let Side::Client(copying) = &mut self.side {
            copying.registered(endpoint, id, is_valid, &mut self.backlog);
        }
        self.send(endpoint, now);
    }

    /// A registration is gone.
    pub(super) fn deregistered(&mut self, endpoint: &mut Endpoint, now: Instant, id: RegId) {
        if let Side::Client(copying) = &mut self.side {
            copying.deregistered(endpoint, now, id);
        }
    }

    /// There is a connection: a client begins.
    pub(super) fn established(&mut self, endpoint: &mut Endpoint, now: Instant) {
        match &mut self.side {
            Side::Server(_) => {}
            Side::Client(copying) => copying.begin(&mut self.backlog),
            Side::Machine(machine) => machine.begin(endpoint, now),
        }
        self.send(endpoint, now);
    }

    /// A message came. What is no SMB2 has no answer.
    pub(super) fn message<B: HostMemory<Buffer = M>>(
        &mut self,
        endpoint: &mut Endpoint,
        backend: &mut B,
        message: &[u8],
    ) {
        match &mut self.side {
            Side::Server(serving) => serving.take(message, &mut self.backlog),
            Side::Client(copying) => copying.take(endpoint, backend, message, &mut self.backlog),
            Side::Machine(machine) => machine.take(backend.now(), message),
        }
        self.pump(endpoint, backend);
    }

    /// An RDMA operation ended.
    pub(super) fn rdma_done<B: HostMemory<Buffer = M>>(
        &mut self,
        endpoint: &mut Endpoint,
        backend: &mut B,
        op: OpId,
        result: Result<(), OpError>,
    ) {
        match &mut self.side {
            Side::Server(serving) => serving.rdma_done(backend, op, result, &mut self.backlog),
            Side::Machine(machine) => machine.rdma_done(backend, op, result.is_ok()),
            Side::Client(_) => {}
        }
        self.pump(endpoint, backend);
    }

    /// Begins and sends as much as there is room for.
    pub(super) fn pump<B: HostMemory<Buffer = M>>(&mut self, endpoint: &mut Endpoint, backend: &mut B) {
        match &mut self.side {
            Side::Server(serving) => serving.go_on(endpoint, backend, &mut self.backlog),
            Side::Machine(machine) => machine.go_on(endpoint, backend),
            Side::Client(_) => {}
        }
        self.send(endpoint, backend.now());
    }

    fn send(&mut self, endpoint: &mut Endpoint, now: Instant) {
        while let Some(Outgoing { bytes, invalidate }) = self.backlog.pop_front() {
            // Or the peer takes none so long, or there is no connection any more.
            if let Err(NotSent { payload: bytes, error: SendError::Command(CommandError::NoRoom { .. }) }) =
                endpoint.send(now, bytes, invalidate)
            {
                self.backlog.push_front(Outgoing { bytes, invalidate });
                return;
            }
        }
    }
}
