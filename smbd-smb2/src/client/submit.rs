//! Operations begin (3.2.4).

use alloc::boxed::Box;
use alloc::vec::Vec;

use bytes::Bytes;
use smbd_core::Instant;

use super::config::{Rdma, Transport};
use super::ids::{OperationId, TreeHandle};
use super::machine::{Machine, OVERHEAD, Running};
use super::negotiate::Negotiated;
use super::operation::{Kind, Operation, Read, SingleMessage, Write, WriteData};
use super::reason::Refused;
use super::request::{CREDIT_BYTES, Memory, Owner, Request, charge};
use super::scope::Scope;
use super::session::{Session, Tree};
use super::table::Key;
use super::transfer::{Source, Transfer, Way};
use crate::wire::header::{self, field};
use crate::wire::{CommandBody, EchoRequest, FileId, Flags, WireError, transform};

/// A tree connect, for a call.
pub(super) struct Place<'a> {
    scope: Scope,
    tree: &'a Tree,
}

impl Machine {
    /// Whether an operation can begin at all.
    pub(super) fn ready(&self) -> Result<(), Refused> {
        if self.end.is_some() {
            return Err(Refused::Closed);
        }
        if self.negotiated.is_none() {
            return Err(Refused::NotNegotiated);
        }
        if self.operations.free_count() == 0 {
            return Err(Refused::Full("operations"));
        }
        if self.has_room() { Ok(()) } else { Err(Refused::Full("requests")) }
    }

    /// A session that is not over.
    pub(super) fn live(&self, session: Key) -> Result<&Session, Refused> {
        let session = self.scopes.sessions.get(session).filter(|session| !session.has_ended);
        session.map(Box::as_ref).ok_or(Refused::Unknown("the session"))
    }

    /// A tree connect that operations can be in.
    pub(super) fn place(&self, tree: TreeHandle) -> Result<Place<'_>, Refused> {
        let Some(state) = self.scopes.trees.get(tree.0) else {
            return Err(Refused::Unknown("the tree connect"));
        };
        // Those of a session that is over are gone.
        Ok(Place { scope: (Some(state.session), Some(tree.0)), tree: state })
    }

    /// Where the operations of a tree connect belong.
    pub(super) fn scope(&self, tree: TreeHandle) -> Result<Scope, Refused> {
        self.place(tree).map(|place| place.scope)
    }

    /// Begins an operation of one request, outside of a tree connect or in one.
    pub(super) fn begin<M: CommandBody>(
        &mut self,
        kind: Kind,
        scope: Scope,
        body: &M,
        now: Instant,
    ) -> Result<OperationId, Refused> {
        let request = self.single(scope, body, 1)?;
        self.put(kind, request, now)
    }

    /// Begins an operation in a tree connect.
    pub(super) fn submit(
        &mut self,
        tree: TreeHandle,
        operation: &Operation<'_>,
        is_replay: bool,
        now: Instant,
    ) -> Result<OperationId, Refused> {
        let place = self.place(tree)?;
        let scope = place.scope;
        self.ready()?;
        let mut transfer = if let Operation::Read(read) = operation {
            self.read(&place, read)?
        } else if let Operation::Write(write) = operation {
            self.write(&place, write)?
        } else {
            let (kind, mut request) = self.request(scope, operation)?;
            if is_replay {
                mark_replay(&mut request.element)?;
            }
            return self.put(kind, request, now);
        };
        transfer.is_replay = is_replay;
        let operation = self.operations.insert(running(scope, Kind::Transfer(transfer)));
        let operation = operation.ok_or(Refused::Full("operations"))?;
        self.advance(operation, now);
        Ok(OperationId(operation))
    }

    /// Begins several operations in one message, each of which uses session, tree connect and file of the one before (3.2.4.1.4).
    pub(super) fn submit_related(
        &mut self,
        tree: TreeHandle,
        operations: &[Operation<'_>],
        now: Instant,
    ) -> Result<Vec<OperationId>, Refused> {
        let scope = self.scope(tree)?;
        self.ready()?;
        if self.operations.free_count() < operations.len() {
            return Err(Refused::Full("operations"));
        }
        if self.requests.free_count() <= operations.len() {
            return Err(Refused::Full("requests"));
        }
        let mut parts = Vec::with_capacity(operations.len());
        let mut len = 0_usize;
        for operation in operations {
            let (kind, mut request) = if let Operation::Read(read) = operation {
                self.whole(self.read(&self.place(tree)?, read)?, scope)?
            } else if let Operation::Write(write) = operation {
                self.whole(self.write(&self.place(tree)?, write)?, scope)?
            } else {
                self.request(scope, operation)?
            };
            if !parts.is_empty() {
                let flags = field::FLAGS.get(&request.element)?.with(Flags::RELATED_OPERATIONS, true);
                field::FLAGS.set(&mut request.element, flags)?;
            }
            len = len
                .saturating_add(request.element.len())
                .saturating_add(request.data.len())
                .saturating_add(8);
            parts.push((kind, request));
        }
        self.config.transport.check_len(len)?;
        Ok(self.put_related(scope, parts, now))
    }

    /// The request of a transfer that is a part of a compound.
    fn whole(&mut self, mut transfer: Transfer, scope: Scope) -> Result<(Kind, Box<Request>), Refused> {
        let piece = transfer.cut(u32::MAX).filter(|_| transfer.is_whole()).ok_or(Refused::Compound)?;
        let mut request = self.spare.take(Owner::Nobody, transfer.way.command());
        request.carry(&transfer, piece, scope);
        if request.memory != Memory::None {
            return Err(Refused::Compound);
        }
        let header = self.scopes.header(request.command, scope);
        transfer.write(&mut request.element, &header, piece, None)?;
        request.charge = self.charge_for(piece.len)?;
        Ok((Kind::Transfer(transfer), request))
    }

    /// Puts the requests of a compound into their tables, the last one first: each knows the one behind it.
    fn put_related(
        &mut self,
        scope: Scope,
        parts: Vec<(Kind, Box<Request>)>,
        now: Instant,
    ) -> Vec<OperationId> {
        let deadline = self.deadline(now);
        let (mut ids, mut next) = (Vec::with_capacity(parts.len()), None);
        let first = parts.len();
        for (index, (kind, mut request)) in (1..=first).rev().zip(parts.into_iter().rev()) {
            let Some(operation) = self.operations.insert(running(scope, kind)) else { break };
            (request.owner, request.next) = (Owner::Operation(operation), next);
            // Only the first one waits for credits, for all of them.
            next = if index == 1 { self.enqueue(request, deadline) } else { self.requests.insert(request) };
            ids.push(OperationId(operation));
        }
        ids.reverse();
        ids
    }

    /// Begins an operation that is one message of the caller's, in a session or none.
    pub(super) fn submit_message(
        &mut self,
        scope: Scope,
        message: &SingleMessage<'_>,
        now: Instant,
    ) -> Result<OperationId, Refused> {
        self.ready()?;
        let request = self.message(scope, message)?;
        self.put(Kind::Message, request, now)
    }

    /// The request of an operation that is no transfer.
    fn request(&mut self, scope: Scope, operation: &Operation<'_>) -> Result<(Kind, Box<Request>), Refused> {
        let request = match operation {
            Operation::Message(message) => return Ok((Kind::Message, self.message(scope, message)?)),
            Operation::Create(body) => self.single(scope, body, 1)?,
            Operation::Lock(body) => self.single(scope, body, 1)?,
            Operation::Close(body) => self.single(scope, body, 1)?,
            Operation::Flush(body) => self.single(scope, body, 1)?,
            Operation::OplockBreak(body) => self.single(scope, body, 1)?,
            Operation::LeaseBreak(body) => self.single(scope, body, 1)?,
            Operation::Ioctl(body) => {
                let answer = body.max_input_response.saturating_add(body.max_output_response);
                let payload = self.transact("MaxOutputResponse", answer, body.input)?;
                self.single(scope, body, payload)?
            }
            Operation::QueryDirectory(body) => {
                let payload = self.transact("OutputBufferLength", body.output_buffer_length, &[])?;
                self.single(scope, body, payload)?
            }
            Operation::ChangeNotify(body) => {
                let payload = self.transact("OutputBufferLength", body.output_buffer_length, &[])?;
                self.single(scope, body, payload)?
            }
            Operation::QueryInfo(body) => {
                let payload = self.transact("OutputBufferLength", body.output_buffer_length, body.input)?;
                self.single(scope, body, payload)?
            }
            Operation::SetInfo(body) => {
                let payload = self.transact("BufferLength", 0, body.input)?;
                self.single(scope, body, payload)?
            }
            // A transfer is no single request.
            Operation::Read(_) | Operation::Write(_) => return Err(Refused::Compound),
        };
        Ok((Kind::Single, request))
    }

    /// A request with this body.
    fn single<M: CommandBody>(
        &mut self,
        scope: Scope,
        body: &M,
        payload: u32,
    ) -> Result<Box<Request>, Refused> {
        let (session, tree) = scope;
        let mut request = self.spare.take(Owner::Nobody, M::COMMAND);
        self.write_request(&mut request.element, body, scope)?;
        (request.session, request.tree, request.charge) = (session, tree, self.charge_for(payload)?);
        self.config.transport.check_len(request.element.len())?;
        Ok(request)
    }

    /// A request of which only the header is made here.
    fn message(&mut self, scope: Scope, message: &SingleMessage<'_>) -> Result<Box<Request>, Refused> {
        let mut request = self.single(scope, &EchoRequest::default(), message.payload)?;
        request.command = message.command;
        request.element.truncate(header::LEN);
        request.element.extend_from_slice(message.body);
        field::COMMAND.set(&mut request.element, message.command)?;
        self.config.transport.check_len(request.element.len())?;
        Ok(request)
    }

    /// Puts an operation and its request into their tables.
    fn put(&mut self, kind: Kind, mut request: Box<Request>, now: Instant) -> Result<OperationId, Refused> {
        let scope = (request.session, request.tree);
        let operation = self.operations.insert(running(scope, kind)).ok_or(Refused::Full("operations"))?;
        request.owner = Owner::Operation(operation);
        let deadline = self.deadline(now);
        self.enqueue(request, deadline);
        Ok(OperationId(operation))
    }

    /// The payload of a request and its answer, below the limits (3.1.5.2).
    fn transact(&self, field: &'static str, answer: u32, input: &[u8]) -> Result<u32, Refused> {
        let payload = u32::try_from(input.len()).unwrap_or(u32::MAX).max(answer);
        let server = self.negotiated.as_ref().map_or(0, |negotiated| negotiated.max_transact_size);
        let max = server.min(self.config.transport.max_receive.saturating_sub(OVERHEAD));
        if payload <= max {
            return Ok(payload);
        }
        Err(Refused::TooLong { field, value: payload.into(), max: max.into() })
    }

    fn charge_for(&self, payload: u32) -> Result<u16, Refused> {
        let has_multi_credit = self.negotiated.as_ref().is_some_and(Negotiated::has_multi_credit);
        if payload > CREDIT_BYTES && !has_multi_credit {
            let (value, max) = (payload.into(), CREDIT_BYTES.into());
            return Err(Refused::TooLong { field: "the payload of one credit", value, max });
        }
        Ok(charge(payload))
    }

    /// Whether transfers of so many bytes may go by RDMA (3.2.4.6, 3.2.4.7).
    pub(super) fn channel(&self, place: &Place<'_>, length: u64) -> Option<&Rdma> {
        let rdma = self.config.transport.rdma.as_ref()?;
        (length > rdma.threshold.into() && place.tree.allows_channel).then_some(rdma)
    }

    /// How a READ is carried out (3.2.4.6).
    #[inline(always)]
    fn read(&self, place: &Place<'_>, read: &Read) -> Result<Transfer, Refused> {
        let way = Way::Read { flags: read.flags.0, minimum: read.minimum };
        let (source, max) = match (read.buffer, self.channel(place, read.length)) {
            (Some(buffer), Some(rdma)) => (Source::Buffer(buffer), rdma.max_read_write),
            _ => (Source::Messages(Bytes::new()), self.config.transport.max_receive.saturating_sub(OVERHEAD)),
        };
        let server_max = self.negotiated.as_ref().map_or(0, |negotiated| negotiated.max_read_size);
        self.transfer(way, source, read.file_id, (read.offset, read.length), max.min(server_max))
    }

    /// How a WRITE is carried out (3.2.4.7).
    fn write(&self, place: &Place<'_>, write: &Write) -> Result<Transfer, Refused> {
        let way = Way::Write { flags: write.flags.0 };
        let length = match &write.data {
            WriteData::Bytes(data, _) => data.len() as u64,
            WriteData::Buffer(_, length) => *length,
        };
        let (source, max) = match (&write.data, self.channel(place, length)) {
            (WriteData::Bytes(_, Some(buffer)) | WriteData::Buffer(buffer, _), Some(rdma)) => {
                (Source::Buffer(*buffer), rdma.max_read_write)
            }
            (WriteData::Buffer(..), None) => return Err(Refused::NoChannel),
            (WriteData::Bytes(data, _), _) => {
                let max = self.config.transport.max_send.saturating_sub(OVERHEAD);
                (Source::Messages(data.clone()), max)
            }
        };
        let server_max = self.negotiated.as_ref().map_or(0, |negotiated| negotiated.max_write_size);
        self.transfer(way, source, write.file_id, (write.offset, length), max.min(server_max))
    }

    #[inline(always)]
    fn transfer(
        &self,
        way: Way,
        source: Source,
        file_id: FileId,
        (offset, length): (u64, u64),
        max: u32,
    ) -> Result<Transfer, Refused> {
        let Some(negotiated) = &self.negotiated else { return Err(Refused::NotNegotiated) };
        if offset.checked_add(length).is_none() {
            return Err(Refused::Offset);
        }
        let max = if negotiated.has_multi_credit() { max } else { max.min(CREDIT_BYTES) };
        Ok(Transfer::new(way, source, file_id, (offset, length), max))
    }
}

impl Transport {
    /// A message has to be one that the server receives, encrypted too.
    pub(super) fn check_len(&self, len: usize) -> Result<(), Refused> {
        let max = u64::from(self.max_send).saturating_sub(transform::LEN as u64);
        let value = len as u64;
        if value <= max { Ok(()) } else { Err(Refused::TooLong { field: "the message", value, max }) }
    }
}

/// Says that a request may have been sent on another connection (3.2.7.1).
pub(super) fn mark_replay(element: &mut [u8]) -> Result<(), WireError> {
    let flags = field::FLAGS.get(element)?.with(Flags::REPLAY_OPERATION, true);
    field::FLAGS.set(element, flags)
}

fn running((session, tree): Scope, kind: Kind) -> Running {
    Running { session, tree, kind, result: None }
}
