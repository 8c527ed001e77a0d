//! Pieces of transfers become requests (3.2.4.6, 3.2.4.7).

use alloc::vec::Vec;

use smbd_core::Instant;

use super::machine::{CREDIT_BYTES, Machine, Running, element};
use super::operation::{Kind, Stored};
use super::request::{Memory, Owner, Region, Request};
use super::submit::Scope;
use super::table::Key;
use super::transfer::{Piece, Source, Transfer, Way};
use crate::wire::{Channel, Command, ReadFlags, ReadRequest, WireError, WriteFlags, WriteRequest, write};

impl Machine {
    /// Cuts pieces of a transfer, as many as may be under way, and finishes it if nothing is left.
    pub(super) fn advance(&mut self, operation: Key, now: Instant) {
        while self.has_room() {
            let (pieces, max) = (self.config.pieces, self.piece_credits());
            let Some(running) = self.operations.get_mut(operation) else { return };
            let scope = (running.session, running.tree);
            let Kind::Transfer(transfer) = &mut running.kind else { return };
            if transfer.under_way() >= pieces {
                break;
            }
            let Some(piece) = transfer.cut(max) else { break };
            let Some(Running { kind: Kind::Transfer(transfer), .. }) = self.operations.get(operation) else {
                return;
            };
            let request = self.piece(Owner::Operation(operation), transfer, piece, scope);
            let deadline = self.deadline(now);
            self.enqueue(request, deadline);
        }
        let Some(running) = self.operations.get_mut(operation) else { return };
        let Kind::Transfer(transfer) = &mut running.kind else { return };
        let Some(result) = transfer.result() else { return };
        let result = result.map(|count| match transfer.way {
            Way::Read { .. } => Stored::Read(count),
            Way::Write { .. } => Stored::Written(count),
        });
        self.finish(operation, result);
    }

    /// The most bytes of a piece that the credits can pay for which there are or will be.
    fn piece_credits(&self) -> u32 {
        let credits = self.window.expected().min(self.config.credits.into()).max(1);
        u32::try_from(credits).unwrap_or(u32::MAX).saturating_mul(CREDIT_BYTES)
    }

    /// The request for a piece. One with memory gets its body when the descriptors are known.
    pub(super) fn piece(&self, owner: Owner, transfer: &Transfer, piece: Piece, scope: Scope) -> Request {
        let command = match transfer.way {
            Way::Read { .. } => Command::READ,
            Way::Write { .. } => Command::WRITE,
        };
        let mut request = Request::new(owner, command);
        (request.session, request.tree, request.piece) = (scope.0, scope.1, Some(piece));
        request.charge = Self::charge(piece.len);
        match &transfer.source {
            Source::Buffer(_) => {
                request.memory = region(transfer, piece).map_or(Memory::None, Memory::Wanted);
                request.cover = self.cover(scope);
            }
            Source::Messages(data) => {
                let start = usize::try_from(piece.offset).unwrap_or(usize::MAX);
                let end = start.saturating_add(usize::try_from(piece.len).unwrap_or(usize::MAX));
                if command == Command::WRITE && end <= data.len() {
                    request.data = data.slice(start..end);
                }
                // All of its fields have room for what is in them.
                request.element = self.piece_element(transfer, piece, scope, None).unwrap_or_default();
            }
        }
        request
    }

    /// The part of a buffer that a piece of a transfer moves.
    pub(super) fn wanted(&self, operation: Key, piece: Piece) -> Option<Region> {
        let Kind::Transfer(transfer) = &self.operations.get(operation)?.kind else { return None };
        region(transfer, piece)
    }

    /// The header and the body of a piece's request, with what describes its channel.
    pub(super) fn piece_element(
        &self,
        transfer: &Transfer,
        piece: Piece,
        (session, tree): Scope,
        channel: Option<(Channel, &[u8])>,
    ) -> Result<Vec<u8>, WireError> {
        let (kind, channel_info) = channel.unwrap_or_default();
        let offset = transfer.offset.saturating_add(piece.offset);
        match transfer.way {
            Way::Read { flags, minimum } => {
                let body = ReadRequest {
                    padding: 0x50,
                    flags: ReadFlags(flags),
                    length: piece.len,
                    offset,
                    file_id: transfer.file_id,
                    // Of all pieces together it is looked at when they are there.
                    minimum_count: if transfer.is_whole() { minimum } else { 0 },
                    channel: kind,
                    remaining_bytes: 0,
                    channel_info,
                };
                element(&self.header(&body, session, tree), &body)
            }
            Way::Write { flags } => {
                let body = WriteRequest {
                    offset,
                    file_id: transfer.file_id,
                    channel: kind,
                    remaining_bytes: if channel.is_some() { piece.len } else { 0 },
                    flags: WriteFlags(flags),
                    data: &[],
                    channel_info,
                };
                let mut element = element(&self.header(&body, session, tree), &body)?;
                if channel.is_none() && piece.len > 0 {
                    // The data follow the fixed part.
                    element.truncate(write::request::LAYOUT.end());
                    write::request::LENGTH.set(&mut element, piece.len)?;
                }
                Ok(element)
            }
        }
    }
}

fn region(transfer: &Transfer, piece: Piece) -> Option<Region> {
    let Source::Buffer(buffer) = transfer.source else { return None };
    Some(Region { buffer, offset: piece.offset, len: piece.len, tokens: Vec::new() })
}
