//! Received messages that wait for the owner of a link.

use std::collections::VecDeque;
use std::mem;

use super::Piece;

/// Most messages and bytes that are kept when both sides are without credits, if twice the limits are less.
const MESSAGES_LEAST: usize = 1024;
const BYTES_LEAST: usize = 1 << 20;

/// The limits of received messages that wait for the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Most messages that wait for the program; 0 counts as 1.
    pub messages_max: usize,
    /// The number of their bytes from which on no other message is received; 0 counts as 1. The last message may exceed
    /// it.
    pub bytes_max: usize,
    /// Whether fragments are received as they arrive ([`Endpoint::in_pieces`](smbd_core::Endpoint::in_pieces)), and count as messages
    /// above. Whoever makes the machine himself leaves this to that machine.
    pub in_pieces: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { messages_max: 256, bytes_max: 4 << 20, in_pieces: false }
    }
}

impl Options {
    /// Whether so many messages, with so many bytes, are all that may wait.
    fn is_reached(&self, messages: usize, bytes: usize) -> bool {
        messages >= self.messages_max.max(1) || bytes >= self.bytes_max.max(1)
    }

    /// The larger limits that apply when both sides are without credits.
    fn twice(&self) -> Self {
        Self {
            messages_max: self.messages_max.saturating_mul(2).max(MESSAGES_LEAST),
            bytes_max: self.bytes_max.saturating_mul(2).max(BYTES_LEAST),
            ..*self
        }
    }
}

/// Messages, or pieces of them, that wait.
#[derive(Debug)]
pub(crate) struct Inbox {
    pieces: VecDeque<Piece>,
    bytes: usize,
    options: Options,
    /// Messages and their bytes that the owner has taken and keeps.
    kept: (usize, usize),
    /// Messages are not wanted any more.
    is_deaf: bool,
}

impl Inbox {
    pub(crate) const fn new(options: Options) -> Self {
        Self { pieces: VecDeque::new(), bytes: 0, options, kept: (0, 0), is_deaf: false }
    }

    pub(super) fn push(&mut self, piece: Piece) {
        if !self.is_deaf {
            self.bytes = self.bytes.saturating_add(piece.bytes.len());
            self.pieces.push_back(piece);
        }
    }

    pub(crate) fn pop(&mut self) -> Option<Piece> {
        let piece = self.pieces.pop_front()?;
        self.bytes = self.bytes.saturating_sub(piece.bytes.len());
        Some(piece)
    }

    /// Moves all messages to the inbox of the owner, where they count against the limits here too.
    pub(super) fn hand_over(&mut self, to: &mut Self) {
        to.bytes = to.bytes.saturating_add(mem::take(&mut self.bytes));
        to.pieces.append(&mut self.pieces);
        self.keep(to.pieces.len(), to.bytes);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Takes no message any more, and drops those that wait.
    pub(crate) fn ignore(&mut self) {
        self.is_deaf = true;
        self.pieces.clear();
        self.bytes = 0;
        self.kept = (0, 0);
    }

    pub(super) const fn is_deaf(&self) -> bool {
        self.is_deaf
    }

    pub(super) const fn keep(&mut self, messages: usize, bytes: usize) {
        self.kept = (messages, bytes);
    }

    /// Whether the limits are reached.
    pub(crate) fn is_full(&self) -> bool {
        self.reaches(&self.options)
    }

    /// Whether the larger limits are reached that apply when both sides are without credits.
    pub(super) fn is_overfull(&self) -> bool {
        self.reaches(&self.options.twice())
    }

    fn reaches(&self, limits: &Options) -> bool {
        let (kept, kept_bytes) = self.kept;
        limits.is_reached(self.pieces.len().saturating_add(kept), self.bytes.saturating_add(kept_bytes))
    }
}
