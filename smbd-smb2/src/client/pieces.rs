//! Pieces of transfers become requests (3.2.4.6, 3.2.4.7).

use alloc::vec::Vec;

use smbd_core::Instant;

use super::machine::{Machine, Running, Task};
use super::operation::{Kind, Stored};
use super::request::{CREDIT_BYTES, Memory, Owner};
use super::submit::mark_replay;
use super::table::Key;
use super::transfer::{Piece, Transfer, Way};
use super::window::Window;
use crate::wire::{
    Channel, Header, ReadFlags, ReadRequest, WireError, WriteFlags, WriteRequest, write, write_element,
};

impl Machine {
    /// Cuts pieces of a transfer, as many as may be under way, and finishes it if nothing is left.
    pub(super) fn advance(&mut self, operation: Key, now: Instant) {
        loop {
            let has_room = self.has_room();
            let Some(running) = self.operations.get_mut(operation) else { return };
            let Kind::Transfer(transfer) = &mut running.kind else { return };
            let is_open = running.result.is_none() && !transfer.is_cut();
            let can_go = is_open && has_room && transfer.under_way() < self.config.pieces;
            let piece =
                if can_go { transfer.cut(piece_max(&self.window, self.config.credits)) } else { None };
            let Some(piece) = piece else {
                if running.is_done() {
                    self.tasks.push_back(Task::Tell(operation));
                }
                return;
            };
            let scope = (running.session, running.tree);
            let is_last = transfer.is_cut();
            let mut request = self.spare.take(Owner::Operation(operation), transfer.way.command());
            request.carry(transfer, piece, scope);
            if request.memory == Memory::None {
                let header = self.scopes.header(request.command, scope);
                // All of its fields have room for what is in them.
                let _ = transfer.write(&mut request.element, &header, piece, None);
            } else {
                // It is written when the descriptors are known.
                request.cover = self.cover(scope);
            }
            let deadline = self.deadline(now);
            self.enqueue(request, deadline);
            if is_last {
                return;
            }
        }
    }
}

impl Running {
    /// Whether it is a transfer of which nothing is under way or left: then it has its result now.
    #[inline(always)]
    pub(super) fn is_done(&mut self) -> bool {
        let Kind::Transfer(transfer) = &mut self.kind else { return false };
        if self.result.is_some() {
            return false;
        }
        self.result = transfer.result().map(|result| {
            result.map(|count| match transfer.way {
                Way::Read { .. } => Stored::Read(count),
                Way::Write { .. } => Stored::Written(count),
            })
        });
        self.result.is_some()
    }
}

/// The most bytes of a piece that the credits can pay for which there are or will be.
fn piece_max(window: &Window, target: u16) -> u32 {
    let credits = window.expected().min(target.into()).max(1);
    u32::try_from(credits).unwrap_or(u32::MAX).saturating_mul(CREDIT_BYTES)
}

impl Transfer {
    /// Writes the request of a piece, with this header and with what describes its channel, to an element that is empty.
    #[inline(always)]
    pub(super) fn write(
        &self,
        element: &mut Vec<u8>,
        header: &Header,
        piece: Piece,
        channel: Option<(Channel, &[u8])>,
    ) -> Result<(), WireError> {
        let (kind, channel_info) = channel.unwrap_or_default();
        let offset = self.offset.saturating_add(piece.offset);
        match self.way {
            Way::Read { flags, minimum } => {
                let body = ReadRequest {
                    padding: 0x50,
                    flags: ReadFlags(flags),
                    length: piece.len,
                    offset,
                    file_id: self.file_id,
                    // Of all pieces together it is looked at when they are there.
                    minimum_count: if self.is_whole() { minimum } else { 0 },
                    channel: kind,
                    remaining_bytes: 0,
                    channel_info,
                };
                write_element(element, header, &body)?;
            }
            Way::Write { flags } => {
                let body = WriteRequest {
                    offset,
                    file_id: self.file_id,
                    channel: kind,
                    remaining_bytes: if channel.is_some() { piece.len } else { 0 },
                    flags: WriteFlags(flags),
                    data: &[],
                    channel_info,
                };
                write_element(element, header, &body)?;
                if channel.is_none() && piece.len > 0 {
                    // The data follow the fixed part.
                    element.truncate(write::request::LAYOUT.end());
                    write::request::LENGTH.set(element, piece.len)?;
                }
            }
        }
        if self.is_replay { mark_replay(element) } else { Ok(()) }
    }
}
