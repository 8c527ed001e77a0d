//! What waits to be sent to the stream.

use std::collections::VecDeque;
use std::io::ErrorKind;
use std::task::{Context, Poll};

use smbd_link::transport::Memory;
use smbd_smb2::relay::{BufferId, Misuse, Side};

use super::buffers::Buffers;
use super::ending::Ending;
use super::stream::{Part, Stream};

/// Bytes of copies from which on nothing is taken. Those in buffers wait there.
const WAITING_MAX: usize = 256 << 10;
/// Bytes from which on they are sent rather than copied, if nothing is before them.
const DIRECT_MIN: usize = 4 << 10;

/// Bytes from which on a piece takes no more: what was sent of it is freed with it.
const PIECE_MAX: usize = 64 << 10;

/// The most bytes that it has on the heap. What is taken at once comes on top of what waits, a piece is freed when all of it was
/// sent, and memory that grows is twice as large at most; that of one piece is kept.
pub(super) const BYTES_MAX: usize = 2 * (3 * WAITING_MAX + PIECE_MAX) + 2 * PIECE_MAX;

#[derive(Debug)]
pub(super) struct Outbox {
    /// Whose stream it is.
    side: Side,
    pieces: VecDeque<Piece>,
    /// Bytes of copies.
    waiting: usize,
    /// Memory of a piece that was sent, for the next one.
    spare: Vec<u8>,
    /// The stream's peer has closed its end, and takes nothing. Pieces that wait are dropped; bytes that the peer sent before are received.
    is_closed: bool,
}

#[derive(Debug)]
enum Piece {
    Bytes { bytes: Vec<u8>, sent: usize },
    Buffer { buffer: BufferId, offset: u32, len: u32 },
}

impl Outbox {
    pub(super) const fn new(side: Side) -> Self {
        Self { side, pieces: VecDeque::new(), waiting: 0, spare: Vec::new(), is_closed: false }
    }

    /// Bytes for which there is room.
    pub(super) const fn room(&self) -> usize {
        // All at once: a buffer that is cut is sent in two calls.
        if self.waiting < WAITING_MAX { WAITING_MAX } else { 0 }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Sends bytes, as far as that is possible now, or keeps a copy of them.
    pub(super) fn bytes<M>(
        &mut self,
        bytes: &[u8],
        stream: &mut impl Stream<M>,
        cx: &mut Context<'_>,
    ) -> Result<(), Ending> {
        let mut left = bytes;
        if self.pieces.is_empty() && bytes.len() >= DIRECT_MIN && !self.is_closed {
            while let Poll::Ready(sent) = stream.poll_write(cx, left) {
                left = left.get(self.written(sent)?..).unwrap_or_default();
                if left.is_empty() {
                    return Ok(());
                }
            }
        }
        if self.is_closed {
            return Ok(());
        }
        self.waiting = self.waiting.saturating_add(left.len());
        match self.pieces.back_mut() {
            Some(Piece::Bytes { bytes, .. }) if bytes.len() < PIECE_MAX => bytes.extend_from_slice(left),
            last => {
                let is_behind_a_full_one = matches!(last, Some(Piece::Bytes { .. }));
                let mut bytes = std::mem::take(&mut self.spare);
                // There is much to send, and growing would copy it again.
                bytes.reserve(if is_behind_a_full_one { PIECE_MAX.max(left.len()) } else { left.len() });
                bytes.extend_from_slice(left);
                self.pieces.push_back(Piece::Bytes { bytes, sent: 0 });
            }
        }
        Ok(())
    }

    /// Bytes of a buffer.
    pub(super) fn buffer(&mut self, buffer: BufferId, offset: u32, len: u32) {
        self.pieces.push_back(Piece::Buffer { buffer, offset, len });
    }

    /// Sends what can be sent now, and tells `tell` what was sent of buffers. Whether anything was.
    pub(super) fn send<M: Memory + Clone>(
        &mut self,
        stream: &mut impl Stream<M>,
        mut tell: impl FnMut(BufferId, u32) -> Result<(), Misuse>,
        buffers: &mut Buffers<M>,
        cx: &mut Context<'_>,
    ) -> Result<bool, Ending> {
        let mut has_sent = false;
        while !self.is_closed
            && let Poll::Ready(sent) = self.send_front(stream, buffers, cx)?
        {
            let sent = self.written(sent)?;
            self.on_sent(sent, &mut tell)?;
            has_sent = true;
        }
        if self.is_closed && !self.is_empty() {
            self.on_sent(usize::MAX, &mut tell)?;
        }
        Ok(has_sent)
    }

    /// Sends the first piece. A buffer goes together with the header before it.
    fn send_front<M: Memory + Clone>(
        &self,
        stream: &mut impl Stream<M>,
        buffers: &mut Buffers<M>,
        cx: &mut Context<'_>,
    ) -> Result<Poll<std::io::Result<usize>>, Ending> {
        let (front, buffer) = match (self.pieces.front(), self.pieces.get(1)) {
            (None, _) => return Ok(Poll::Pending),
            (Some(Piece::Bytes { bytes, sent }), second) => (bytes.get(*sent..).unwrap_or_default(), second),
            (first @ Some(Piece::Buffer { .. }), _) => (&[][..], first),
        };
        let Some(&Piece::Buffer { buffer, offset, len }) = buffer else {
            return Ok(stream.poll_write(cx, front));
        };
        let part = Part { memory: buffers.get(buffer)?, offset, len };
        Ok(stream.poll_write_from(cx, front, part))
    }

    /// So many bytes were sent.
    fn on_sent(
        &mut self,
        sent: usize,
        tell: &mut impl FnMut(BufferId, u32) -> Result<(), Misuse>,
    ) -> Result<(), Ending> {
        let mut left = sent;
        while let Some(piece) = self.pieces.front_mut().filter(|_| left > 0) {
            let (now, is_over) = match piece {
                Piece::Bytes { bytes, sent } => {
                    let now = bytes.len().saturating_sub(*sent).min(left);
                    *sent = sent.saturating_add(now);
                    self.waiting = self.waiting.saturating_sub(now);
                    (now, *sent >= bytes.len())
                }
                Piece::Buffer { buffer, offset, len } => {
                    let now = u32::try_from(left).unwrap_or(*len).min(*len);
                    tell(*buffer, now)?;
                    (*offset, *len) = (offset.saturating_add(now), len.saturating_sub(now));
                    (now as usize, *len == 0)
                }
            };
            left = left.saturating_sub(now);
            if is_over && let Some(Piece::Bytes { mut bytes, .. }) = self.pieces.pop_front() {
                bytes.clear();
                // What was longer than usual is freed.
                if (self.spare.capacity()..=2 * PIECE_MAX).contains(&bytes.capacity()) {
                    self.spare = bytes;
                }
            }
        }
        Ok(())
    }

    /// How many bytes were sent: all, as far as anybody can tell, if the peer has left. A stream that takes nothing has ended.
    fn written(&mut self, sent: std::io::Result<usize>) -> Result<usize, Ending> {
        match sent {
            // Behind a reset nothing comes.
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {
                self.is_closed = true;
                Ok(usize::MAX)
            }
            Ok(0) => Err(Ending::of(self.side, "it takes no bytes any more".into())),
            Ok(sent) => Ok(sent),
            Err(error) => Err(Ending::of(self.side, error.to_string())),
        }
    }
}
