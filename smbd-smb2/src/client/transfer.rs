//! READs and WRITEs of any length: how they are cut, and what comes of the pieces (3.2.4.6, 3.2.4.7). Plain arithmetic.

use alloc::boxed::Box;

use bytes::Bytes;

use super::ids::BufferId;
use super::reason::Failure;
use crate::wire::{Command, FileId, NtStatus};

const END_OF_FILE: Failure = Failure::Status(NtStatus::END_OF_FILE);

/// Which way the data go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    Read { flags: u8, minimum: u32 },
    Write { flags: u32 },
}

/// Where the data are.
#[derive(Clone, Debug)]
pub(super) enum Source {
    /// They go by RDMA, from or to this buffer.
    Buffer(BufferId),
    /// They go in messages; those of a READ are handed out as they come.
    Messages(Bytes),
}

/// A part of a transfer that one request moves. Offsets count from the beginning of the transfer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) offset: u64,
    pub(super) len: u32,
}

impl Way {
    pub(super) const fn command(self) -> Command {
        match self {
            Self::Read { .. } => Command::READ,
            Self::Write { .. } => Command::WRITE,
        }
    }
}

impl Piece {
    /// Its bytes of a transfer's, if those are there.
    pub(super) fn of(self, data: &Bytes) -> Bytes {
        let start = usize::try_from(self.offset).unwrap_or(usize::MAX);
        let end = start.saturating_add(usize::try_from(self.len).unwrap_or(usize::MAX));
        if end <= data.len() { data.slice(start..end) } else { Bytes::new() }
    }
}

#[derive(Debug)]
pub(super) struct Transfer {
    pub(super) way: Way,
    pub(super) source: Source,
    pub(super) file_id: FileId,
    /// Where it begins in the file.
    pub(super) offset: u64,
    pub(super) length: u64,
    /// Where the next piece begins; `None` if all is cut.
    next: Option<u64>,
    under_way: u16,
    /// Where the data end: no later than the first piece that moved less than it should have.
    end: u64,
    failure: Option<(u64, Box<Failure>)>,
    /// The most bytes of a piece.
    piece_max: u32,
    /// Whether its requests have SMB2_FLAGS_REPLAY_OPERATION.
    pub(super) is_replay: bool,
}

impl Transfer {
    pub(super) const fn new(
        way: Way,
        source: Source,
        file_id: FileId,
        (offset, length): (u64, u64),
        piece_max: u32,
    ) -> Self {
        let (next, under_way, end, failure) = (Some(0), 0, length, None);
        let is_replay = false;
        Self { way, source, file_id, offset, length, next, under_way, end, failure, piece_max, is_replay }
    }

    /// Whether all of it is one piece.
    pub(super) const fn is_whole(&self) -> bool {
        self.length <= self.piece_max as u64
    }

    /// Cuts the next piece, which has `max` bytes at most; `None` if nothing is left, or there is no use in going on. A transfer of 0
    /// bytes has one piece.
    pub(super) fn cut(&mut self, max: u32) -> Option<Piece> {
        let offset = self.next?;
        let left = self.end.saturating_sub(offset);
        if self.failure.is_some() || (left == 0 && offset > 0) {
            self.next = None;
            return None;
        }
        let len = u32::try_from(left).unwrap_or(u32::MAX).min(max.max(1)).min(self.piece_max);
        self.next = Some(offset.saturating_add(len.into())).filter(|next| *next < self.end);
        self.under_way = self.under_way.saturating_add(1);
        Some(Piece { offset, len })
    }

    /// Whether no piece is left to be cut.
    pub(super) const fn is_cut(&self) -> bool {
        self.next.is_none()
    }

    pub(super) const fn under_way(&self) -> u16 {
        self.under_way
    }

    /// No further piece is cut.
    pub(super) fn stop(&mut self) {
        match self.next.take() {
            Some(0) => self.failure = Some((0, Box::new(Failure::Cancelled))),
            Some(next) => self.end = self.end.min(next),
            None => {}
        }
    }

    /// What came of a piece: how many bytes it moved.
    pub(super) fn on_piece(&mut self, piece: Piece, moved: Result<u32, Box<Failure>>) {
        self.under_way = self.under_way.saturating_sub(1);
        let is_read = matches!(self.way, Way::Read { .. });
        match moved {
            Ok(moved) if moved < piece.len => {
                self.end = self.end.min(piece.offset.saturating_add(moved.into()));
            }
            Ok(_) => {}
            // Behind the end of the file there is nothing: that is no failure of what came before.
            Err(failure) if *failure == END_OF_FILE && is_read && piece.offset > 0 => {
                self.end = self.end.min(piece.offset);
            }
            Err(failure) => {
                if self.failure.as_ref().is_none_or(|(offset, _)| piece.offset < *offset) {
                    self.failure = Some((piece.offset, failure));
                }
            }
        }
    }

    /// What came of all of it, if nothing is under way or left: how many bytes were moved, from the beginning on without a gap.
    #[inline(always)]
    pub(super) fn result(&mut self) -> Option<Result<u64, Box<Failure>>> {
        let is_left = |next| next < self.end || next == 0;
        if self.under_way > 0 || (self.failure.is_none() && self.next.is_some_and(is_left)) {
            return None;
        }
        if let Some((_, failure)) = self.failure.take() {
            return Some(Err(failure));
        }
        if let Way::Read { minimum, .. } = self.way
            && self.end < u64::from(minimum)
        {
            return Some(Err(Box::new(END_OF_FILE)));
        }
        Some(Ok(self.end))
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use proptest::prelude::*;

    use super::*;

    fn read(length: u64, piece_max: u32) -> Transfer {
        let way = Way::Read { flags: 0, minimum: 0 };
        Transfer::new(way, Source::Messages(Bytes::new()), FileId::default(), (7, length), piece_max)
    }

    proptest! {
        #[test]
        fn pieces_follow_each_other_and_cover_the_transfer_exactly(
            length in 0..1_000_000_u64, piece_max in 1000..70_000_u32, max in prop::collection::vec(1..90_000_u32, 1..20),
            file in 0..1_000_000_u64, order: u64,
        ) {
            let mut transfer = read(length, piece_max);
            let (mut at, mut pieces) = (0, Vec::new());
            for max in max.iter().cycle() {
                let Some(piece) = transfer.cut(*max) else { break };
                prop_assert_eq!(piece.offset, at);
                prop_assert!(piece.len <= piece_max.min(*max));
                at += u64::from(piece.len);
                pieces.push(piece);
            }
            prop_assert_eq!(at, length);
            // The answers come in some order, and the file may end before the transfer does.
            while !pieces.is_empty() {
                prop_assert!(transfer.result().is_none());
                let piece = pieces.swap_remove(order as usize % pieces.len());
                let left = file.saturating_sub(piece.offset).min(piece.len.into()) as u32;
                let moved = if left == 0 && piece.len > 0 { Err(Box::new(END_OF_FILE)) } else { Ok(left) };
                transfer.on_piece(piece, moved);
            }
            let expected = if length > 0 && file == 0 {
                Err(Box::new(END_OF_FILE))
            } else {
                Ok(length.min(file))
            };
            prop_assert_eq!(transfer.result(), Some(expected));
        }
    }

    #[test]
    fn a_failure_of_the_first_piece_is_told_before_that_of_a_later_one() {
        let mut transfer = read(30, 10);
        let pieces = [transfer.cut(10).unwrap(), transfer.cut(10).unwrap()];
        transfer.on_piece(pieces[1], Err(Box::new(Failure::TimedOut)));
        assert_eq!(transfer.cut(10), None, "there is no use in going on");
        transfer.on_piece(pieces[0], Err(Box::new(Failure::Registration)));
        assert_eq!(transfer.result(), Some(Err(Box::new(Failure::Registration))));
    }
}
