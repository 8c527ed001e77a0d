//! Bytes that come in pieces, cut into blocks of 16.

/// What is left over from pieces until a block is full.
#[derive(Clone)]
pub(super) struct Blocks {
    partial: [u8; 16],
    len: usize,
}

impl Blocks {
    pub(super) const fn new() -> Self {
        Self { partial: [0; 16], len: 0 }
    }

    /// Gives `full` all blocks that `piece` completes, some at a time: each time a multiple of 16 bytes.
    pub(super) fn feed(&mut self, mut piece: &[u8], mut full: impl FnMut(&[[u8; 16]])) {
        if self.len > 0 {
            let room = self.partial.get_mut(self.len..).unwrap_or_default();
            let taken = room.len().min(piece.len());
            let (head, rest) = piece.split_at_checked(taken).unwrap_or((piece, &[]));
            for (to, from) in room.iter_mut().zip(head) {
                *to = *from;
            }
            piece = rest;
            self.len = self.len.saturating_add(taken);
            if self.len < 16 {
                return;
            }
            full(&[self.partial]);
            self.len = 0;
        }
        let (blocks, rest) = piece.as_chunks();
        if !blocks.is_empty() {
            full(blocks);
        }
        for (to, from) in self.partial.iter_mut().zip(rest) {
            *to = *from;
        }
        self.len = rest.len();
    }

    /// What is left, with zeros behind it; nothing if nothing is left. The next piece begins a block.
    pub(super) fn pad(&mut self, full: impl FnOnce(&[[u8; 16]])) {
        if self.len > 0 {
            for byte in self.partial.iter_mut().skip(self.len) {
                *byte = 0;
            }
            full(&[self.partial]);
            self.len = 0;
        }
    }
}
