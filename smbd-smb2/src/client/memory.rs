//! Buffers that the server reads and writes: registered before their request goes, back before its result is told (3.2.4.6, 3.2.4.7,
//! 3.2.5.11, 3.2.5.12).

use alloc::vec::Vec;
use core::mem::{replace, take};

use smbd_core::Instant;
use smbd_core::wire::{BufferDescriptorV1, Token};

use super::machine::{Machine, Running, Step, Task};
use super::operation::Kind;
use super::reason::{Failure, Refused};
use super::request::{Memory, Outcome, Owner, Wire};
use super::table::Key;
use super::tokens::Tokens;
use super::transform;
use crate::cover::Cover;
use crate::wire::{Channel, Dialect, pack_to};

const UNKNOWN: Refused = Refused::Unknown("the registration");

impl Machine {
    /// Has the memory of a request registered.
    pub(super) fn register(&mut self, key: Key) -> Option<Step> {
        let request = self.requests.get_mut(key)?;
        let Memory::Wanted(buffer) = request.memory else { return None };
        if let Some(transform) = request.bare() {
            request.memory = Memory::Bare(buffer);
            return Some(Step::Protect(key, buffer, transform));
        }
        request.memory = Memory::Asked(None);
        Some(Step::Register(key, buffer))
    }

    /// Has the memory of a request taken back.
    pub(super) fn deregister(&mut self, key: Key) -> Option<Step> {
        let request = self.requests.get_mut(key)?;
        if !matches!(request.memory, Memory::Leaving(..)) {
            return None;
        }
        let Memory::Leaving(tokens, outcome) = replace(&mut request.memory, Memory::None) else {
            return None;
        };
        request.memory = Memory::Left(outcome);
        Some(Step::Deregister(key, tokens.len()))
    }

    /// A registration is valid: its request can go.
    pub(super) fn on_registered(
        &mut self,
        key: Key,
        descriptors: &[BufferDescriptorV1],
    ) -> Result<(), Refused> {
        let request = self.requests.get_mut(key).ok_or(UNKNOWN)?;
        let Memory::Asked(outcome) = &mut request.memory else { return Err(UNKNOWN) };
        let got =
            descriptors.iter().map(|descriptor| u64::from(descriptor.length)).fold(0, u64::saturating_add);
        let expected = request.piece.map_or(0, |piece| piece.len.into());
        if got != expected {
            return Err(Refused::Descriptors { got, expected });
        }
        let tokens = Tokens::of(descriptors);
        if let Some(outcome) = outcome.take() {
            request.memory = Memory::Leaving(tokens, outcome);
            self.tasks.push_back(Task::Deregister(key));
            return Ok(());
        }
        let (mut element, mut info) = (take(&mut request.element), take(&mut self.scratch));
        info.clear();
        pack_to(&mut info, descriptors);
        let written =
            self.write_channel(&mut element, key, &info).and_then(|()| self.check_len(element.len()));
        self.scratch = info;
        let request = self.requests.get_mut(key).ok_or(UNKNOWN)?;
        request.element = element;
        written?;
        (request.memory, request.wire) = (Memory::Valid(tokens), Wire::Queued);
        self.queue.push_back(key);
        Ok(())
    }

    /// Writes the request of a piece, with its descriptors.
    fn write_channel(&self, element: &mut Vec<u8>, key: Key, info: &[u8]) -> Result<(), Refused> {
        let request = self.requests.get(key).ok_or(UNKNOWN)?;
        let Owner::Operation(operation) = request.owner else { return Err(UNKNOWN) };
        let Some(Running { kind: Kind::Transfer(transfer), .. }) = self.operations.get(operation) else {
            return Err(UNKNOWN);
        };
        let (piece, scope) = (request.piece.ok_or(UNKNOWN)?, (request.session, request.tree));
        let invalidates = self.config.transport.rdma.is_some_and(|rdma| rdma.invalidates);
        let is_late = self.negotiated.is_some_and(|negotiated| negotiated.dialect >= Dialect::SMB_3_0_2);
        let channel = if invalidates && is_late { Channel::RDMA_V1_INVALIDATE } else { Channel::RDMA_V1 };
        let Some(Cover { transform: kind, signature: Some(signature) }) = request.cover.as_deref() else {
            return Ok(self.write_piece(element, transfer, piece, scope, Some((channel, info)))?);
        };
        let info = transform::channel_info(channel, *kind, signature, info)?;
        Ok(self.write_piece(element, transfer, piece, scope, Some((Channel::RDMA_TRANSFORM, &info)))?)
    }

    /// The caller could not register it.
    pub(super) fn on_not_registered(&mut self, key: Key, now: Instant) -> Result<(), Refused> {
        let request = self.requests.get_mut(key).ok_or(UNKNOWN)?;
        let Memory::Asked(outcome) = &mut request.memory else { return Err(UNKNOWN) };
        let outcome = outcome.take().unwrap_or_else(|| Outcome::failed(Failure::Registration));
        request.memory = Memory::None;
        self.settle(key, outcome, now);
        Ok(())
    }

    /// The server can use it no longer: what its request has brought can be told.
    pub(super) fn on_deregistered(&mut self, key: Key, now: Instant) -> Result<(), Refused> {
        let request = self.requests.get_mut(key).ok_or(UNKNOWN)?;
        if !matches!(request.memory, Memory::Left(_)) {
            return Err(UNKNOWN);
        }
        let is_covered = request.cover.is_some();
        if let Memory::Left(outcome) = replace(&mut request.memory, Memory::None) {
            // RT-9
            if is_covered && let Some(buffer) = self.covered_buffer(key) {
                self.begin_check(key, buffer, outcome);
            } else {
                self.settle(key, outcome, now);
            }
        }
        Ok(())
    }

    /// The server has invalidated a token. It is one of a request that was sent, that is about to be, or whose memory is about to be
    /// taken back.
    pub(super) fn on_invalidated(&mut self, token: Token) -> Result<(), Refused> {
        let Self { requests, outstanding, tasks, queue, .. } = self;
        let mut has_it = |key: &Key| {
            let memory = requests.get_mut(*key).map(|request| &mut request.memory);
            memory.and_then(Memory::tokens).is_some_and(|tokens| tokens.remove(token))
        };
        let is_known = outstanding.iter().any(|(_, key)| has_it(key))
            || tasks.iter().any(|task| matches!(task, Task::Deregister(key) if has_it(key)))
            || queue.iter().any(has_it);
        if is_known { Ok(()) } else { Err(Refused::Unknown("the token")) }
    }
}
