//! The client machine of `smbd-smb2`: what it asks for is done in its order, for a program that copies a file.

mod program;

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::time::Duration;

use smbd_core::backend::HostMemory;
use smbd_core::{Close, Endpoint, Instant, RegId, Token};
use smbd_smb2::client::{
    self, Arrived, Client, Config, DataPart, OperationId, Output, Params, Rdma, RegistrationId, Transport,
};
use smbd_smb2::security::RdmaTransforms;
use smbd_smb2::wire::{Guid, NtStatus};

use super::Outgoing;
use program::{Program, Result};

/// Segments of a registration at most.
const SEGMENTS: u16 = 4;
/// Longer transfers go by RDMA.
const THRESHOLD: u32 = 4096;
/// Longer than any play. The machine has no timer here.
const LONG: Duration = Duration::from_secs(1 << 20);

/// Memory that the server may use.
#[derive(Debug)]
struct Registered<M> {
    registration: RegistrationId,
    buffer: M,
    offset: u64,
    len: u32,
    access: client::Access,
}

/// What the machine says, without what it borrows.
enum Then {
    GoOn,
    Idle,
    Begin,
    Register(RegistrationId, u64, u32, client::Access),
    Deregister(RegistrationId),
    Sign(DataPart),
    Encrypt(DataPart),
    Check(DataPart),
    Done(OperationId, Result),
    Close,
}

/// The client of one connection. `M` is a buffer of the backend.
#[derive(Debug)]
pub(super) struct Copier<M> {
    client: Option<Client>,
    program: Program,
    registered: BTreeMap<RegId, Registered<M>>,
}

impl<M: Clone + fmt::Debug> Copier<M> {
    pub(super) fn new() -> Self {
        Self { client: None, program: Program::default(), registered: BTreeMap::new() }
    }

    pub(super) fn registration(&self, id: RegId) -> Option<&M> {
        self.registered.get(&id).map(|registered| &registered.buffer)
    }

    /// What the last READ by RDMA gave.
    pub(super) const fn given(&self) -> Option<NtStatus> {
        self.program.given()
    }

    /// SMB Direct has negotiated.
    pub(super) fn begin<B: HostMemory<Buffer = M>>(
        &mut self,
        endpoint: &mut Endpoint,
        backend: &mut B,
        out: &mut VecDeque<Outgoing>,
    ) {
        let Some(negotiated) = endpoint.connection().negotiated() else { return };
        let rdma = Rdma {
            threshold: THRESHOLD,
            max_read_write: negotiated.max_read_write_size.max(1),
            invalidates: true,
        };
        let params = Params {
            client_guid: Guid(*b"smbd-smb2 client"),
            rdma_transforms: RdmaTransforms::ALL,
            allow_guests: true,
            transport: Transport {
                max_send: negotiated.max_fragmented_send_size,
                max_receive: negotiated.max_fragmented_recv_size,
                rdma: Some(rdma),
            },
            timeout: LONG,
            echo_after: LONG,
            silence_max: LONG * 2,
            ..Params::default()
        };
        self.client = Config::new(params).ok().map(Client::new);
        self.say(endpoint, backend, &mut Arrived::nothing(), out);
    }

    /// The server has invalidated a token, with the message that comes next.
    pub(super) fn invalidated(&mut self, token: Token) {
        if let Some(client) = &mut self.client {
            // One that names nothing any more needs nothing.
            let _ = client.invalidated(token);
        }
    }

    /// Takes a message of the server.
    pub(super) fn take<B: HostMemory<Buffer = M>>(
        &mut self,
        endpoint: &mut Endpoint,
        backend: &mut B,
        message: &[u8],
        out: &mut VecDeque<Outgoing>,
    ) {
        let mut message = message.to_vec();
        self.say(endpoint, backend, &mut Arrived::new(&mut message), out);
    }

    /// A registration is valid, or not.
    pub(super) fn registered<B: HostMemory<Buffer = M>>(
        &mut self,
        endpoint: &mut Endpoint,
        backend: &mut B,
        (id, is_valid): (RegId, bool),
        out: &mut VecDeque<Outgoing>,
    ) {
        let (Some(client), Some(known)) = (&mut self.client, self.registered.get(&id)) else { return };
        let descriptors: Vec<_> = endpoint.connection().live_segments(id).collect();
        let taken = match is_valid {
            true => client.registered(known.registration, &descriptors),
            false => client.not_registered(backend.now(), known.registration),
        };
        debug_assert_eq!(taken, Ok(()), "it was asked for");
        self.say(endpoint, backend, &mut Arrived::nothing(), out);
    }

    /// A registration is gone: what is in the memory is the client's own.
    pub(super) fn deregistered<B: HostMemory<Buffer = M>>(
        &mut self,
        endpoint: &mut Endpoint,
        backend: &mut B,
        id: RegId,
        out: &mut VecDeque<Outgoing>,
    ) {
        let (Some(client), Some(gone)) = (&mut self.client, self.registered.remove(&id)) else { return };
        if gone.access == client::Access::RemoteWrite {
            let read = backend.read(&gone.buffer, 0, self.program.part(gone.offset, gone.len));
            debug_assert_eq!(read, Ok(()), "the buffer has this length");
        }
        // It may have been ended by the end of the connection.
        let _ = client.deregistered(backend.now(), gone.registration);
        self.say(endpoint, backend, &mut Arrived::nothing(), out);
    }

    /// Does what the machine asks for, until it has nothing to say.
    fn say<B: HostMemory<Buffer = M>>(
        &mut self,
        endpoint: &mut Endpoint,
        backend: &mut B,
        arrived: &mut Arrived<'_>,
        out: &mut VecDeque<Outgoing>,
    ) {
        loop {
            let now = backend.now();
            let then = self.next(now, arrived, out);
            let Self { client: Some(client), program, registered } = self else { return };
            let taken = match then {
                Then::GoOn => Ok(()),
                Then::Idle => return,
                Then::Begin => program.begin(client, now),
                Then::Register(registration, offset, len, access) => {
                    let known = Registered { registration, buffer: (), offset, len, access };
                    match register(endpoint, backend, program, known) {
                        Some((id, known)) => {
                            registered.insert(id, known);
                            Ok(())
                        }
                        None => client.not_registered(now, registration),
                    }
                }
                Then::Deregister(registration) => {
                    let found = registered.iter().find(|(_, known)| known.registration == registration);
                    if let Some((id, _)) = found {
                        // There may be no connection any more.
                        let _ = endpoint.deregister(now, *id);
                    }
                    Ok(())
                }
                Then::Sign(DataPart { registration, offset, len, .. }) => {
                    client.sign(now, registration, &[program.part(offset, len)])
                }
                Then::Encrypt(DataPart { registration, offset, len, .. }) => {
                    client.encrypt(now, registration, &mut [program.part(offset, len)])
                }
                Then::Check(DataPart { registration, offset, len, .. }) => {
                    client.check(now, registration, &mut [program.part(offset, len)])
                }
                Then::Done(operation, result) => program.done(client, now, operation, result),
                Then::Close => {
                    endpoint.close(now, Close::Abort);
                    Ok(())
                }
            };
            debug_assert_eq!(taken, Ok(()), "the machine asks for what it takes");
        }
    }

    fn next(&mut self, now: Instant, arrived: &mut Arrived<'_>, out: &mut VecDeque<Outgoing>) -> Then {
        let Some(client) = &mut self.client else { return Then::Idle };
        match client.poll(now, arrived) {
            Output::Negotiated(_) => Then::Begin,
            Output::Send { message, .. } => {
                out.push_back(Outgoing::of(message.concat()));
                Then::GoOn
            }
            Output::Register { registration, offset, len, access, .. } => {
                Then::Register(registration, offset, len, access)
            }
            Output::Deregister { registration, .. } => Then::Deregister(registration),
            Output::Sign(part) => Then::Sign(part),
            Output::Encrypt(part) => Then::Encrypt(part),
            Output::Check(part) => Then::Check(part),
            Output::Data { operation, offset, data } => {
                self.program.data(operation, offset, data);
                Then::GoOn
            }
            Output::Done { operation, result, .. } => Then::Done(operation, Result::of(result)),
            Output::Close(_) => Then::Close,
            Output::Idle(_) => Then::Idle,
            // The script takes nothing back.
            _ => Then::GoOn,
        }
    }
}

/// Memory for the server: what is to be read of it is in it.
fn register<B: HostMemory>(
    endpoint: &mut Endpoint,
    backend: &mut B,
    program: &mut Program,
    known: Registered<()>,
) -> Option<(RegId, Registered<B::Buffer>)> {
    let Registered { registration, offset, len, access, .. } = known;
    let buffer = backend.allocate(len).ok()?;
    let rights = match access {
        client::Access::RemoteRead => {
            backend.fill(&buffer, 0, program.part(offset, len)).ok()?;
            smbd_core::Access::Read
        }
        client::Access::RemoteWrite => smbd_core::Access::Write,
    };
    let id = endpoint.register(backend.now(), rights, SEGMENTS).ok()?;
    Some((id, Registered { registration, buffer, offset, len, access }))
}
