//! Data that go by RDMA signed or encrypted: before the server may read them, and after it may no longer write them (3.2.4.7, 3.2.5.11).

use alloc::boxed::Box;
use alloc::vec::Vec;

use smbd_core::Instant;

use super::machine::{Machine, Step, Task};
use super::reason::{Failure, Refused};
use super::request::{Memory, Outcome, Request};
use super::scope::Scope;
use super::table::Key;
use super::transform_error::TransformError;
use crate::cover::Cover;
use crate::security::{RdmaSignature, SecurityError};
use crate::wire::RdmaTransformType;

const UNKNOWN: Refused = Refused::Unknown("the registration");

/// Data of a WRITE, as their owner gives them to be signed or encrypted.
pub(super) enum Plain<'a, 'p> {
    Sign(&'a [&'p [u8]]),
    Encrypt(&'a mut [&'p mut [u8]]),
    EncryptInto(&'a [&'p [u8]], &'a mut [u8]),
}

impl Plain<'_, '_> {
    fn len(&self) -> u64 {
        match self {
            Self::Sign(pieces) | Self::EncryptInto(pieces, _) => {
                total(pieces.iter().map(|piece| piece.len()))
            }
            Self::Encrypt(pieces) => total(pieces.iter().map(|piece| piece.len())),
        }
    }

    const fn transform(&self) -> RdmaTransformType {
        match self {
            Self::Sign(_) => RdmaTransformType::SIGNING,
            Self::Encrypt(_) | Self::EncryptInto(..) => RdmaTransformType::ENCRYPTION,
        }
    }
}

fn total(lengths: impl Iterator<Item = usize>) -> u64 {
    lengths.fold(0, |total, len| total.saturating_add(len as u64))
}

impl Machine {
    /// What data that go by RDMA need in a tree connect.
    pub(super) fn cover(&self, (_, tree): Scope) -> Option<Box<Cover>> {
        let negotiated = self.negotiated.as_ref()?;
        if negotiated.rdma_transforms.is_empty() {
            return None;
        }
        let transform = self.scopes.trees.get(tree?)?.cover?;
        Some(Box::new(Cover { transform, signature: None }))
    }

    /// Data of a WRITE are given, before they are registered.
    pub(super) fn on_plain(&mut self, key: Key, plain: Plain<'_, '_>, now: Instant) -> Result<(), Refused> {
        let request = self.requests.get(key).ok_or(UNKNOWN)?;
        let (Memory::Bare, Some(cover)) = (request.memory, &request.cover) else {
            return Err(UNKNOWN);
        };
        let transform = cover.transform;
        if transform != plain.transform() {
            return Err(UNKNOWN);
        }
        let (got, expected) = (plain.len(), length(request));
        if got != expected {
            return Err(Refused::Length { got, expected });
        }
        if let Plain::EncryptInto(_, into) = &plain
            && into.len() as u64 != expected
        {
            return Err(Refused::Length { got: into.len() as u64, expected });
        }
        let signature = self.protect(request.session, plain);
        let Some(request) = self.requests.get_mut(key) else { return Err(UNKNOWN) };
        match signature {
            Ok(signature) => {
                request.cover = Some(Box::new(Cover { transform, signature: Some(signature) }));
                request.memory = Memory::Wanted;
                self.tasks.push_back(Task::Register(key));
            }
            Err(error) => {
                request.memory = Memory::None;
                self.settle(key, Outcome::failed(error), now);
            }
        }
        Ok(())
    }

    fn protect(
        &mut self,
        session: Option<Key>,
        plain: Plain<'_, '_>,
    ) -> Result<RdmaSignature, SecurityError> {
        let session = session.and_then(|key| self.scopes.sessions.get_mut(key));
        let Some(session) = session else { return Err(SecurityError::Empty) };
        match (plain, &mut session.channel, &mut session.encryption) {
            (Plain::Sign(pieces), Some(channel), _) => channel.signer.sign_rdma(pieces.iter().copied()),
            (Plain::Encrypt(pieces), _, Some((sealer, _))) => sealer.seal_rdma(pieces),
            (Plain::EncryptInto(from, into), _, Some((sealer, _))) => sealer.seal_rdma_into(from, into),
            // Nothing is sent that needs a transform without a key for it.
            (Plain::Sign(_), None, _) | (Plain::Encrypt(_) | Plain::EncryptInto(..), _, None) => {
                Err(SecurityError::Empty)
            }
        }
    }

    /// The part of a buffer that is to be looked at.
    pub(super) fn next_check(&mut self, key: Key) -> Option<Step> {
        let request = self.requests.get(key)?;
        let buffer = request.buffer.filter(|_| request.memory == Memory::Back)?;
        Some(Step::Check(key, buffer))
    }

    /// A part of a buffer is given: data are decrypted or verified in it, and everything else becomes zeros (RT-13).
    pub(super) fn on_check(
        &mut self,
        key: Key,
        pieces: &mut [&mut [u8]],
        now: Instant,
    ) -> Result<(), Refused> {
        let request = self.requests.get(key).ok_or(UNKNOWN)?;
        if request.memory != Memory::Back {
            return Err(UNKNOWN);
        }
        let (got, expected) = (total(pieces.iter().map(|piece| piece.len())), length(request));
        if got != expected {
            return Err(Refused::Length { got, expected });
        }
        let mut failure = None;
        if let (Some(Outcome::Moved(count)), None) = (&request.outcome, &self.end) {
            let mut data = front(pieces, *count);
            failure = self.uncover(request, &mut data).err();
            if failure.is_some() {
                wipe(&mut data);
            }
        } else {
            wipe(pieces);
        }
        let Some(request) = self.requests.get_mut(key) else { return Err(UNKNOWN) };
        request.memory = Memory::None;
        if let (Some(outcome), None) = (request.outcome.take(), &self.end) {
            self.settle(key, failure.map_or(outcome, Outcome::failed), now);
        }
        Ok(())
    }

    /// Decrypts or verifies what a READ has brought.
    fn uncover(&self, request: &Request, data: &mut [&mut [u8]]) -> Result<(), TransformError> {
        if data.iter().all(|piece| piece.is_empty()) {
            return Ok(());
        }
        let Some(cover) = &request.cover else { return Ok(()) };
        let missing = TransformError::Missing(cover.transform);
        // RT-4
        let signature = cover.signature.ok_or(missing)?;
        let session = request.session.and_then(|key| self.scopes.sessions.get(key)).ok_or(missing)?;
        Ok(session.cover_key(cover.transform).ok_or(missing)?.open(&signature, data)?)
    }

    /// The connection is over: what is in the memory of READs was not looked at, and never will be.
    pub(super) fn check_all(&mut self) {
        for key in self.requests.keys(|request| request.memory.is_given() && request.is_covered_read()) {
            if let Some(request) = self.requests.get_mut(key) {
                (request.memory, request.outcome) = (Memory::Back, Some(Outcome::failed(Failure::Closed)));
                self.tasks.push_back(Task::Check(key));
            }
        }
    }
}

/// How long the data of a request are, in bytes.
fn length(request: &Request) -> u64 {
    request.piece.map_or(0, |piece| piece.len.into())
}

/// The first `count` bytes. All behind them become zeros.
fn front<'a>(pieces: &'a mut [&mut [u8]], count: u32) -> Vec<&'a mut [u8]> {
    let mut left = count as usize;
    let mut data = Vec::with_capacity(pieces.len());
    for piece in pieces {
        let (head, tail) = piece.split_at_mut(left.min(piece.len()));
        tail.fill(0);
        left = left.saturating_sub(head.len());
        data.push(head);
    }
    data
}

fn wipe(pieces: &mut [&mut [u8]]) {
    pieces.iter_mut().for_each(|piece| piece.fill(0));
}
