//! Pieces of transfers become requests (3.2.4.6, 3.2.4.7).

use alloc::boxed::Box;
use alloc::vec::Vec;

use smbd_core::Instant;

use super::ids::BufferId;
use super::machine::{Machine, Running};
use super::operation::{Kind, Stored};
use super::request::{CREDIT_BYTES, Memory, Owner, Request};
use super::submit::{Scope, mark_replay};
use super::table::Key;
use super::transfer::{Piece, Source, Transfer, Way};
use crate::wire::{Channel, ReadFlags, ReadRequest, WireError, WriteFlags, WriteRequest, write};

impl Machine {
    /// Cuts pieces of a transfer, as many as may be under way, and finishes it if nothing is left.
    pub(super) fn advance(&mut self, operation: Key, now: Instant) {
        while let Some(request) = self.next_piece(operation) {
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

    /// The request for the next piece. One with memory is written when the descriptors are known.
    fn next_piece(&mut self, operation: Key) -> Option<Box<Request>> {
        let Kind::Transfer(transfer) = &self.operations.get(operation)?.kind else { return None };
        if transfer.is_cut() || transfer.under_way() >= self.config.pieces || !self.has_room() {
            return None;
        }
        let max = self.piece_credits();
        let running = self.operations.get_mut(operation)?;
        let scope = (running.session, running.tree);
        let Kind::Transfer(transfer) = &mut running.kind else { return None };
        let piece = transfer.cut(max)?;
        let mut request = self.spare.take(Owner::Operation(operation), transfer.way.command());
        request.carry(transfer, piece, scope);
        if matches!(request.memory, Memory::Wanted(_)) {
            request.cover = self.cover(scope);
        }
        if matches!(request.memory, Memory::None)
            && let Some(Running { kind: Kind::Transfer(transfer), .. }) = self.operations.get(operation)
        {
            // All of its fields have room for what is in them.
            let _ = self.write_piece(&mut request.element, transfer, piece, scope, None);
        }
        Some(request)
    }

    /// The most bytes of a piece that the credits can pay for which there are or will be.
    fn piece_credits(&self) -> u32 {
        let credits = self.window.expected().min(self.config.credits.into()).max(1);
        u32::try_from(credits).unwrap_or(u32::MAX).saturating_mul(CREDIT_BYTES)
    }

    /// The buffer that has to be registered for the pieces of an operation.
    pub(super) fn wanted(&self, operation: Key) -> Option<BufferId> {
        let Kind::Transfer(transfer) = &self.operations.get(operation)?.kind else { return None };
        if let Source::Buffer(buffer) = transfer.source { Some(buffer) } else { None }
    }

    /// Writes the header and the body of a piece's request, with what describes its channel.
    pub(super) fn write_piece(
        &self,
        element: &mut Vec<u8>,
        transfer: &Transfer,
        piece: Piece,
        (session, tree): Scope,
        channel: Option<(Channel, &[u8])>,
    ) -> Result<(), WireError> {
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
                self.write_request(element, &body, session, tree)?;
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
                self.write_request(element, &body, session, tree)?;
                if channel.is_none() && piece.len > 0 {
                    // The data follow the fixed part.
                    element.truncate(write::request::LAYOUT.end());
                    write::request::LENGTH.set(element, piece.len)?;
                }
            }
        }
        if transfer.is_replay { mark_replay(element) } else { Ok(()) }
    }
}
