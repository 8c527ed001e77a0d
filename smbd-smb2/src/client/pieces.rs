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
    Channel, Header, ReadFlags, ReadRequest, WireError, WriteFlags, WriteRequest, read, write,
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
        let Some(result) = transfer.result() else { return false };
        self.result.get_or_insert(result.map(|count| match transfer.way {
            Way::Read { .. } => Stored::Read(count),
            Way::Write { .. } => Stored::Written(count),
        }));
        true
    }
}

/// The most bytes of a piece that the credits can pay for which there are or will be.
fn piece_max(window: &Window, target: u16) -> u32 {
    let credits = window.expected().min(target.into()).max(1);
    u32::try_from(credits).unwrap_or(u32::MAX).saturating_mul(CREDIT_BYTES)
}

/// Where the fixed part of a READ or WRITE ends: both are of one length.
const END: usize = read::request::LAYOUT.end();

impl Transfer {
    /// Writes the request of a piece with this header; with a channel, and room for so many bytes that describe it, which are given back.
    /// Whatever was in the element is gone.
    #[inline(always)]
    pub(super) fn write<'e>(
        &self,
        element: &'e mut Vec<u8>,
        header: &Header,
        piece: Piece,
        channel: Option<(Channel, usize)>,
    ) -> Result<&'e mut [u8], WireError> {
        let (kind, info) = channel.unwrap_or_default();
        let has_data = matches!(self.way, Way::Write { .. }) && channel.is_none() && piece.len > 0;
        // A part of no length has a byte nevertheless (2.2.19, 2.2.21).
        let behind = if has_data { 0 } else { info.max(1) };
        if element.len() != END.saturating_add(behind) {
            element.resize(END.saturating_add(behind), 0);
        }
        // There are as many bytes.
        let Some((fixed, rest)) = element.split_first_chunk_mut::<END>() else { return Ok(&mut []) };
        *fixed = [0; END];
        if info == 0 {
            rest.fill(0);
        }
        if let Some(front) = fixed.first_chunk_mut() {
            header.fill(front)?;
            if self.is_replay {
                mark_replay(front)?;
            }
        }
        match self.way {
            Way::Read { flags, minimum } => {
                self.read(flags, minimum, piece, kind).fill(fixed)?;
                if info > 0 {
                    read::request::READ_CHANNEL_INFO_OFFSET.set_size(fixed, END)?;
                    read::request::READ_CHANNEL_INFO_LENGTH.set_size(fixed, info)?;
                }
            }
            Way::Write { flags } => {
                self.write_request(flags, piece, kind).fill(fixed)?;
                if info > 0 {
                    write::request::WRITE_CHANNEL_INFO_OFFSET.set_size(fixed, END)?;
                    write::request::WRITE_CHANNEL_INFO_LENGTH.set_size(fixed, info)?;
                } else if channel.is_none() {
                    // The data follow the fixed part.
                    write::request::DATA_OFFSET.set_size(fixed, END)?;
                    write::request::LENGTH.set(fixed, piece.len)?;
                }
            }
        }
        Ok(rest)
    }

    #[inline(always)]
    const fn read(&self, flags: u8, minimum: u32, piece: Piece, channel: Channel) -> ReadRequest<'static> {
        ReadRequest {
            padding: 0x50,
            flags: ReadFlags(flags),
            length: piece.len,
            offset: self.offset.saturating_add(piece.offset),
            file_id: self.file_id,
            // Of all pieces together it is looked at when they are there.
            minimum_count: if self.is_whole() { minimum } else { 0 },
            channel,
            remaining_bytes: 0,
            channel_info: &[],
        }
    }

    #[inline(always)]
    fn write_request(&self, flags: u32, piece: Piece, channel: Channel) -> WriteRequest<'static> {
        WriteRequest {
            offset: self.offset.saturating_add(piece.offset),
            file_id: self.file_id,
            channel,
            remaining_bytes: if channel == Channel::NONE { 0 } else { piece.len },
            flags: WriteFlags(flags),
            data: &[],
            channel_info: &[],
        }
    }
}
