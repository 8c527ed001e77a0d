//! SMB2 as the upper layer of a subject: a server of files, or a client that copies one; or the server or client of `smbd-smb2`.

mod copier;
mod copying;
mod host;
mod machine;
mod rules;
mod serving;

use std::collections::VecDeque;
use std::fmt;

use bytes::Bytes;
use smbd_core::backend::HostMemory;
use smbd_core::endpoint::NotSent;
use smbd_core::error::{CommandError, OpError, SendError};
use smbd_core::{Endpoint, Instant, OpId, RegId, Token};
use smbd_smb2::wire::NtStatus;

use copier::Copier;
use copying::Copying;
pub(in crate::suite::rig) use host::{ADDRESSES, Door, PASSWORD, Shared, USER, Work};
use machine::Machine;
use rules::Rules;
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
    Copier(Box<Copier<M>>),
}

impl<M: Clone + fmt::Debug> Smb2<M> {
    /// A server; one that `is_late` says of each request that it is under way, before it answers.
    pub(super) fn server(is_late: bool) -> Self {
        Self { side: Side::Server(Box::new(Serving::new(is_late))), backlog: VecDeque::new() }
    }

    pub(super) fn client() -> Self {
        Self { side: Side::Client(Box::new(Copying::new())), backlog: VecDeque::new() }
    }

    /// A client that logs in as the user, and leaves out a rule of 3.2.5.11.
    pub(super) fn lax(without: Option<&'static str>) -> Self {
        Self { side: Side::Client(Box::new(Copying::as_user(Rules { without }))), backlog: VecDeque::new() }
    }

    /// The server of `smbd-smb2`.
    pub(super) fn of_smb2(share: &Shared) -> Self {
        Self { side: Side::Machine(Box::new(Machine::new(share))), backlog: VecDeque::new() }
    }

    /// The client of `smbd-smb2`, for a program that copies a file.
    pub(super) fn client_of_smb2() -> Self {
        Self { side: Side::Copier(Box::new(Copier::new())), backlog: VecDeque::new() }
    }

    /// What the last READ by RDMA gave the program that it is for.
    pub(super) const fn given(&self) -> Option<NtStatus> {
        match &self.side {
            Side::Copier(copier) => copier.given(),
            Side::Client(copying) => copying.given(),
            Side::Server(_) | Side::Machine(_) => None,
        }
    }

    /// The buffer of an RDMA operation.
    pub(super) fn operation(&self, op: OpId) -> Option<&M> {
        match &self.side {
            Side::Server(serving) => serving.operation(op),
            Side::Machine(machine) => machine.operation(op),
            Side::Client(_) | Side::Copier(_) => None,
        }
    }

    /// The buffer of a registration.
    pub(super) fn registration(&self, id: RegId) -> Option<&M> {
        match &self.side {
            Side::Server(_) | Side::Machine(_) => None,
            Side::Client(copying) => copying.registration(id),
            Side::Copier(copier) => copier.registration(id),
        }
    }

    /// A registration is valid, or not.
    pub(super) fn registered<B: HostMemory<Buffer = M>>(
        &mut self,
        endpoint: &mut Endpoint,
        backend: &mut B,
        id: RegId,
        is_valid: bool,
    ) {
        match &mut self.side {
            Side::Client(copying) => copying.registered(endpoint, id, is_valid, &mut self.backlog),
            Side::Copier(copier) => {
                copier.registered(endpoint, backend, (id, is_valid), &mut self.backlog);
            }
            Side::Server(_) | Side::Machine(_) => {}
        }
        self.send(endpoint, backend.now());
    }

    /// A registration is gone.
    pub(super) fn deregistered<B: HostMemory<Buffer = M>>(
        &mut self,
        endpoint: &mut Endpoint,
        backend: &mut B,
        id: RegId,
    ) {
        match &mut self.side {
            Side::Client(copying) => copying.deregistered(endpoint, backend, id),
            Side::Copier(copier) => copier.deregistered(endpoint, backend, id, &mut self.backlog),
            Side::Server(_) | Side::Machine(_) => {}
        }
        self.send(endpoint, backend.now());
    }

    /// The peer has invalidated a token, with the message that comes next.
    pub(super) fn invalidated(&mut self, token: Token) {
        if let Side::Copier(copier) = &mut self.side {
            copier.invalidated(token);
        }
    }

    /// There is a connection: a client begins.
    pub(super) fn established<B: HostMemory<Buffer = M>>(
        &mut self,
        endpoint: &mut Endpoint,
        backend: &mut B,
    ) {
        match &mut self.side {
            Side::Server(_) => {}
            Side::Client(copying) => copying.begin(&mut self.backlog),
            Side::Machine(machine) => machine.begin(endpoint),
            Side::Copier(copier) => copier.begin(endpoint, backend, &mut self.backlog),
        }
        self.send(endpoint, backend.now());
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
            Side::Copier(copier) => copier.take(endpoint, backend, message, &mut self.backlog),
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
            Side::Client(_) | Side::Copier(_) => {}
        }
        self.pump(endpoint, backend);
    }

    /// There is no connection any more.
    pub(super) fn closed(&mut self, now: Instant) {
        if let Side::Machine(machine) = &mut self.side {
            machine.closed(now);
        }
    }

    /// Begins and sends as much as there is room for.
    pub(super) fn pump<B: HostMemory<Buffer = M>>(&mut self, endpoint: &mut Endpoint, backend: &mut B) {
        match &mut self.side {
            Side::Server(serving) => serving.go_on(endpoint, backend, &mut self.backlog),
            Side::Machine(machine) => machine.go_on(endpoint, backend),
            Side::Client(_) | Side::Copier(_) => {}
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
