//! Buffers that the server reads and writes: registered before their request goes, back before its result is told (3.2.4.6, 3.2.4.7,
//! 3.2.5.11, 3.2.5.12).

use alloc::vec::Vec;
use core::mem::{replace, take};

use smbd_core::Instant;
use smbd_core::wire::{BufferDescriptorV1, Token};

use super::machine::{Machine, Running, Step};
use super::operation::Kind;
use super::reason::{Failure, Refused};
use super::request::{Memory, Outcome, Owner, Wire};
use super::table::Key;
use super::tokens::Tokens;
use crate::wire::{Channel, Dialect, pack};

const UNKNOWN: Refused = Refused::Unknown("the registration");

impl Machine {
    /// The next registration that is to be made.
    pub(super) fn next_registration(&mut self) -> Option<Step> {
        while let Some(key) = self.to_register.pop_front() {
            let Some(request) = self.requests.get_mut(key) else { continue };
            let Memory::Wanted(buffer) = request.memory else { continue };
            request.memory = Memory::Asked(None);
            return Some(Step::Register(key, buffer));
        }
        None
    }

    /// The next registration that is to be taken back.
    pub(super) fn next_deregistration(&mut self) -> Option<Step> {
        while let Some(key) = self.to_deregister.pop_front() {
            let Some(request) = self.requests.get_mut(key) else { continue };
            match replace(&mut request.memory, Memory::None) {
                Memory::Leaving(tokens, outcome) => {
                    request.memory = Memory::Left(outcome);
                    return Some(Step::Deregister(key, tokens.is_empty()));
                }
                memory => request.memory = memory,
            }
        }
        None
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
            self.to_deregister.push_back(key);
            return Ok(());
        }
        let element = self.channel_element(key, descriptors)?;
        self.check_len(element.len())?;
        let request = self.requests.get_mut(key).ok_or(UNKNOWN)?;
        (request.memory, request.element, request.wire) = (Memory::Valid(tokens), element, Wire::Queued);
        self.queue.push_back(key);
        Ok(())
    }

    /// The request of a piece, with its descriptors.
    fn channel_element(&mut self, key: Key, descriptors: &[BufferDescriptorV1]) -> Result<Vec<u8>, Refused> {
        let request = self.requests.get_mut(key).ok_or(UNKNOWN)?;
        let Owner::Operation(operation) = request.owner else { return Err(UNKNOWN) };
        let (piece, scope) = (request.piece.ok_or(UNKNOWN)?, (request.session, request.tree));
        let spare = take(&mut request.element);
        let Some(Running { kind: Kind::Transfer(transfer), .. }) = self.operations.get(operation) else {
            return Err(UNKNOWN);
        };
        let invalidates = self.config.transport.rdma.is_some_and(|rdma| rdma.invalidates);
        let is_late = self.negotiated.is_some_and(|negotiated| negotiated.dialect >= Dialect::SMB_3_0_2);
        let channel = if invalidates && is_late { Channel::RDMA_V1_INVALIDATE } else { Channel::RDMA_V1 };
        Ok(self.piece_element(spare, transfer, piece, scope, Some((channel, &pack(descriptors))))?)
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
        match replace(&mut request.memory, Memory::None) {
            Memory::Left(outcome) => self.settle(key, outcome, now),
            memory => {
                request.memory = memory;
                return Err(UNKNOWN);
            }
        }
        Ok(())
    }

    /// The server has invalidated a token. It is one of a request that was sent, that is about to be, or whose memory is about to be
    /// taken back.
    pub(super) fn on_invalidated(&mut self, token: Token) -> Result<(), Refused> {
        let sent = self.outstanding.iter().map(|(_, key)| key);
        for key in sent.chain(&self.to_deregister).chain(&self.queue) {
            let memory = self.requests.get_mut(*key).map(|request| &mut request.memory);
            if memory.and_then(Memory::tokens).is_some_and(|tokens| tokens.remove(token)) {
                return Ok(());
            }
        }
        Err(Refused::Unknown("the token"))
    }
}
