//! Buffers that the server reads and writes: registered before their request goes, back before its result is told (3.2.4.6, 3.2.4.7,
//! 3.2.5.11, 3.2.5.12).

use smbd_core::Instant;
use smbd_core::wire::{BufferDescriptorV1, Token};

use super::machine::{Machine, Running, Step, Task};
use super::operation::Kind;
use super::reason::{Failure, Refused};
use super::request::{Memory, Outcome, Owner, Request, Wire};
use super::table::Key;
use super::transform;
use crate::cover::Cover;
use crate::wire::{Channel, Command, Dialect, pack};

const UNKNOWN: Refused = Refused::Unknown("the registration");

impl Machine {
    /// Has the memory of a request registered.
    pub(super) fn register(&mut self, key: Key) -> Option<Step> {
        let request = self.requests.get_mut(key).filter(|request| request.memory == Memory::Wanted)?;
        let (buffer, piece) = (request.buffer?, request.piece?);
        if let Some(transform) = request.bare() {
            request.memory = Memory::Bare;
            return Some(Step::Protect(key, buffer, transform));
        }
        request.memory = Memory::Asked;
        Some(Step::Register { key, buffer, piece, is_read: request.command == Command::READ })
    }

    /// Has the memory of a request taken back.
    pub(super) fn deregister(&mut self, key: Key) -> Option<Step> {
        let request = self.requests.get_mut(key).filter(|request| request.memory == Memory::Leaving)?;
        request.memory = Memory::Left;
        Some(Step::Deregister { key, is_invalidated: request.tokens.is_empty() })
    }

    /// A registration is valid: its request can go.
    pub(super) fn on_registered(
        &mut self,
        key: Key,
        descriptors: &[BufferDescriptorV1],
    ) -> Result<(), Refused> {
        let request = self.asked(key)?;
        let got = match descriptors {
            [one] => one.length.into(),
            all => all.iter().fold(0, |sum: u64, one| sum.saturating_add(one.length.into())),
        };
        let expected = request.piece.map_or(0, |piece| piece.len.into());
        if got != expected {
            return Err(Refused::Descriptors { got, expected });
        }
        if request.outcome.is_some() {
            request.memory = Memory::Leaving;
            request.tokens.set(descriptors);
            self.tasks.push_back(Task::Deregister(key));
            return Ok(());
        }
        self.write_channel(key, descriptors)?;
        self.queue.push_back(key);
        Ok(())
    }

    /// A request whose memory the caller registers.
    fn asked(&mut self, key: Key) -> Result<&mut Request, Refused> {
        let request = self.requests.get_mut(key).filter(|request| request.memory == Memory::Asked);
        request.map(|request| &mut **request).ok_or(UNKNOWN)
    }

    /// Writes the request of a piece, with its descriptors.
    fn write_channel(&mut self, key: Key, descriptors: &[BufferDescriptorV1]) -> Result<(), Refused> {
        let Some(request) = self.requests.get_mut(key) else { return Err(UNKNOWN) };
        let (Owner::Operation(operation), Some(piece)) = (request.owner, request.piece) else {
            return Err(UNKNOWN);
        };
        let Some(Running { kind: Kind::Transfer(transfer), .. }) = self.operations.get(operation) else {
            return Err(UNKNOWN);
        };
        let invalidates = self.config.transport.rdma.is_some_and(|rdma| rdma.invalidates);
        let is_late =
            self.negotiated.as_ref().is_some_and(|negotiated| negotiated.dialect >= Dialect::SMB_3_0_2);
        request.asks_to_invalidate = invalidates && is_late;
        let channel = if request.asks_to_invalidate { Channel::RDMA_V1_INVALIDATE } else { Channel::RDMA_V1 };
        let header = self.scopes.header(request.command, (request.session, request.tree));
        let element = &mut request.element;
        if let Some(Cover { transform: kind, signature: Some(signature) }) = request.cover.as_deref() {
            let info = transform::channel_info(channel, *kind, signature, &pack(descriptors))?;
            let channel = Some((Channel::RDMA_TRANSFORM, info.len()));
            let places = transfer.write(element, &header, piece, channel)?;
            for (place, byte) in places.iter_mut().zip(info) {
                *place = byte;
            }
        } else {
            let len = descriptors.len().saturating_mul(BufferDescriptorV1::LEN);
            let info = transfer.write(element, &header, piece, Some((channel, len)))?;
            let (places, _) = info.as_chunks_mut::<{ BufferDescriptorV1::LEN }>();
            for (place, descriptor) in places.iter_mut().zip(descriptors) {
                // It has the length of one.
                let _ = descriptor.encode(place);
            }
        }
        self.config.transport.check_len(request.element.len())?;
        request.tokens.set(descriptors);
        (request.memory, request.wire) = (Memory::Valid, Wire::Queued);
        Ok(())
    }

    /// The caller could not register it.
    pub(super) fn on_not_registered(&mut self, key: Key, now: Instant) -> Result<(), Refused> {
        let request = self.asked(key)?;
        request.memory = Memory::None;
        let outcome = request.outcome.take().unwrap_or_else(|| Outcome::failed(Failure::Registration));
        self.settle(key, outcome, now);
        Ok(())
    }

    /// The server can use it no longer: what its request has brought can be told.
    pub(super) fn on_deregistered(&mut self, key: Key, now: Instant) -> Result<(), Refused> {
        let request = self.requests.get_mut(key).ok_or(UNKNOWN)?;
        if request.memory != Memory::Left {
            return Err(UNKNOWN);
        }
        // RT-9
        if request.is_covered_read() {
            request.memory = Memory::Back;
            self.tasks.push_back(Task::Check(key));
            return Ok(());
        }
        request.memory = Memory::None;
        if let Some(outcome) = request.outcome.take() {
            self.settle(key, outcome, now);
        }
        Ok(())
    }

    /// The server has invalidated a token. It is one of a request that was sent, that is about to be, or whose memory is about to be
    /// taken back. While the caller takes it back nothing changes: the server may answer what is not waited for any more.
    pub(super) fn on_invalidated(&mut self, token: Token) -> Result<(), Refused> {
        let Self { requests, outstanding, tasks, queue, .. } = self;
        let mut has_it = |key: &Key| {
            requests
                .get_mut(*key)
                .is_some_and(|request| request.can_be_invalidated() && request.tokens.remove(token))
        };
        let is_known = outstanding.iter().any(|(_, key)| has_it(key))
            || tasks.iter().any(|task| matches!(task, Task::Deregister(key) if has_it(key)))
            || queue.iter().any(&mut has_it)
            || self.is_left(token);
        if is_known { Ok(()) } else { Err(Refused::Unknown("the token")) }
    }

    fn is_left(&self, token: Token) -> bool {
        self.requests.iter().any(|(_, request)| request.memory == Memory::Left && request.tokens.has(token))
    }
}
