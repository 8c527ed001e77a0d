//! What came over SMB Direct and was not taken yet.

use std::collections::VecDeque;

/// Messages in pieces as they arrive, each with how many bytes of its message follow.
#[derive(Default)]
pub struct Pieces(VecDeque<(Vec<u8>, u32)>);

impl Pieces {
    /// A message, in pieces of at most `cut` bytes.
    pub fn message(&mut self, message: &[u8], cut: usize) {
        let mut left = message.len();
        for piece in message.chunks(cut) {
            left -= piece.len();
            self.0.push_back((piece.to_vec(), left as u32));
        }
    }

    /// A piece that begins a message, and the rest of it. Nothing where another message is under way: the next piece goes on with it.
    pub fn begin(&mut self, bytes: &[u8], remaining: u8) {
        if !bytes.is_empty() && self.0.back().is_none_or(|(_, remaining)| *remaining == 0) {
            self.0.push_back((bytes.to_vec(), remaining.into()));
            self.0.extend((remaining > 0).then(|| (vec![7; remaining.into()], 0)));
        }
    }

    /// The first piece, and how many bytes follow.
    pub fn front(&self) -> (&[u8], u32) {
        self.0.front().map_or((&[], 0), |(bytes, remaining)| (bytes, *remaining))
    }

    /// Of the first piece so many bytes are left.
    pub fn leave(&mut self, left: usize) {
        if left == 0 {
            self.0.pop_front();
        } else if let Some((bytes, _)) = self.0.front_mut() {
            bytes.drain(..bytes.len() - left);
        }
    }
}
