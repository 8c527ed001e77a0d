//! Buffers that the server reads and writes: registered before their request goes, back before its result is told (3.2.4.6, 3.2.4.7,
//! 3.2.5.11, 3.2.5.12).

use alloc::vec::Vec;

use smbd_core::Instant;
use smbd_core::wire::{BufferDescriptorV1, Token};

use super::machine::{Machine, Running, Step};
use super::operation::Kind;
use super::output::Access;
use super::reason::{Failure, Refused};
use super::request::{Cover, Memory, Outcome, Owner, Region, Request, Wire};
use super::table::Key;
use super::transform;
use crate::wire::{Channel, Command, Dialect, pack};

const UNKNOWN: Refused = Refused::Unknown("the registration");

impl Machine {
    /// The next registration that is to be made.
    pub(super) fn next_registration(&mut self) -> Option<Step> {
        while let Some(key) = self.to_register.pop_front() {
            let Some(request) = self.requests.get_mut(key) else { continue };
            let Memory::Wanted(region) = &request.memory else { continue };
            let region = region.clone();
            if let Some(transform) = request.bare() {
                request.memory = Memory::Bare(region.clone());
                return Some(Step::Protect(key, region, transform));
            }
            let access =
                if request.command == Command::READ { Access::RemoteWrite } else { Access::RemoteRead };
            request.memory = Memory::Asked(region.clone(), None);
            return Some(Step::Register(key, region, access));
        }
        None
    }

    /// The next registration that is to be taken back.
    pub(super) fn next_deregistration(&mut self) -> Option<Step> {
        while let Some(key) = self.to_deregister.pop_front() {
            let Some(request) = self.requests.get_mut(key) else { continue };
            if let Memory::Leaving(region, outcome) = &request.memory {
                let (is_invalidated, outcome) = (region.tokens.is_empty(), outcome.clone());
                request.memory = Memory::Left(outcome);
                return Some(Step::Deregister(key, is_invalidated));
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
        let request = self.requests.get(key).ok_or(UNKNOWN)?;
        let Memory::Asked(region, outcome) = &request.memory else { return Err(UNKNOWN) };
        let got =
            descriptors.iter().map(|descriptor| u64::from(descriptor.length)).fold(0, u64::saturating_add);
        let (expected, mut region) = (u64::from(region.len), region.clone());
        if got != expected {
            return Err(Refused::Descriptors { got, expected });
        }
        region.tokens = descriptors.iter().map(|descriptor| descriptor.token).collect();
        if let Some(outcome) = outcome {
            let outcome = outcome.clone();
            self.set_memory(key, Memory::Leaving(region, outcome));
            self.to_deregister.push_back(key);
            return Ok(());
        }
        let element = self.channel_element(request, descriptors)?;
        self.check_len(element.len())?;
        self.set_memory(key, Memory::Valid(region));
        let Some(request) = self.requests.get_mut(key) else { return Err(UNKNOWN) };
        (request.element, request.wire) = (element, Wire::Queued);
        self.queue.push_back(key);
        Ok(())
    }

    /// The request of a piece, with its descriptors.
    fn channel_element(
        &self,
        request: &Request,
        descriptors: &[BufferDescriptorV1],
    ) -> Result<Vec<u8>, Refused> {
        let Owner::Operation(operation) = request.owner else { return Err(UNKNOWN) };
        let Some(Running { kind: Kind::Transfer(transfer), .. }) = self.operations.get(operation) else {
            return Err(UNKNOWN);
        };
        let piece = request.piece.ok_or(UNKNOWN)?;
        let invalidates = self.config.transport.rdma.is_some_and(|rdma| rdma.invalidates);
        let is_late = self.negotiated.is_some_and(|negotiated| negotiated.dialect >= Dialect::SMB_3_0_2);
        let channel = if invalidates && is_late { Channel::RDMA_V1_INVALIDATE } else { Channel::RDMA_V1 };
        let scope = (request.session, request.tree);
        let info = pack(descriptors);
        let Some(Cover { transform: kind, signature: Some(signature) }) = request.cover.as_deref() else {
            return Ok(self.piece_element(transfer, piece, scope, Some((channel, &info)))?);
        };
        let info = transform::channel_info(channel, *kind, signature, &info)?;
        Ok(self.piece_element(transfer, piece, scope, Some((Channel::RDMA_TRANSFORM, &info)))?)
    }

    fn set_memory(&mut self, key: Key, memory: Memory) {
        if let Some(request) = self.requests.get_mut(key) {
            request.memory = memory;
        }
    }

    /// The caller could not register it.
    pub(super) fn on_not_registered(&mut self, key: Key, now: Instant) -> Result<(), Refused> {
        let request = self.requests.get_mut(key).ok_or(UNKNOWN)?;
        let Memory::Asked(_, outcome) = &request.memory else { return Err(UNKNOWN) };
        let outcome = outcome.clone().unwrap_or(Outcome::Failed(Failure::Registration));
        request.memory = Memory::None;
        self.settle(key, outcome, now);
        Ok(())
    }

    /// The server can use it no longer: what its request has brought can be told.
    pub(super) fn on_deregistered(&mut self, key: Key, now: Instant) -> Result<(), Refused> {
        let request = self.requests.get(key).ok_or(UNKNOWN)?;
        let Memory::Left(outcome) = &request.memory else { return Err(UNKNOWN) };
        let (outcome, is_covered) = (outcome.clone(), request.cover.is_some());
        // RT-9
        if is_covered && self.begin_check(key, &outcome) {
            return Ok(());
        }
        self.set_memory(key, Memory::None);
        self.settle(key, outcome, now);
        Ok(())
    }

    /// The server has invalidated a token. Segments of a registration may share one.
    pub(super) fn on_invalidated(&mut self, token: Token) -> Result<(), Refused> {
        let has_it = |region: &Region| region.tokens.contains(&token);
        let found = self.requests.keys(|request| match &request.memory {
            Memory::Valid(region) | Memory::Leaving(region, _) => has_it(region),
            Memory::None
            | Memory::Bare(_)
            | Memory::Wanted(_)
            | Memory::Asked(..)
            | Memory::Left(_)
            | Memory::Back(..) => false,
        });
        let Some(request) = found.first().and_then(|key| self.requests.get_mut(*key)) else {
            return Err(Refused::Unknown("the token"));
        };
        if let Memory::Valid(region) | Memory::Leaving(region, _) = &mut request.memory {
            region.tokens.retain(|other| *other != token);
        }
        Ok(())
    }
}
