//! What waits to be sent to the server.

use std::collections::VecDeque;
use std::task::{Context, Poll};

use smbd_smb2::relay::{BufferId, Event, Relay};

use super::buffers::Buffers;
use super::client::Memory;
use super::ending::Ending;
use super::server::Server;

/// Bytes that may wait, those in buffers included.
const WAITING_MAX: usize = 256 << 10;
/// Bytes from which on they are sent rather than copied, if nothing is before them.
const DIRECT_MIN: usize = 4 << 10;

/// Bytes from which on a piece takes no more: what was sent of it is freed with it.
const PIECE_MAX: usize = 64 << 10;

#[derive(Debug, Default)]
pub(super) struct Outbox {
    pieces: VecDeque<Piece>,
    waiting: usize,
}

#[derive(Debug)]
enum Piece {
    Bytes { bytes: Vec<u8>, sent: usize },
    Buffer { buffer: BufferId, offset: u32, len: u32 },
}

impl Outbox {
    /// Bytes for which there is room.
    pub(super) const fn room(&self) -> usize {
        WAITING_MAX.saturating_sub(self.waiting)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Sends bytes, as far as that is possible now, or keeps a copy of them.
    pub(super) fn bytes<M>(
        &mut self,
        bytes: &[u8],
        server: &mut impl Server<M>,
        cx: &mut Context<'_>,
    ) -> Result<(), Ending> {
        let mut left = bytes;
        if self.pieces.is_empty() && bytes.len() >= DIRECT_MIN {
            while let Poll::Ready(sent) = server.poll_write(cx, left) {
                left = left.get(written(sent)?..).unwrap_or_default();
                if left.is_empty() {
                    return Ok(());
                }
            }
        }
        self.waiting = self.waiting.saturating_add(left.len());
        match self.pieces.back_mut() {
            Some(Piece::Bytes { bytes, .. }) if bytes.len() < PIECE_MAX => bytes.extend_from_slice(left),
            _ => self.pieces.push_back(Piece::Bytes { bytes: left.to_vec(), sent: 0 }),
        }
        Ok(())
    }

    /// Bytes of a buffer.
    pub(super) fn buffer(&mut self, buffer: BufferId, offset: u32, len: u32) {
        self.waiting = self.waiting.saturating_add(len as usize);
        self.pieces.push_back(Piece::Buffer { buffer, offset, len });
    }

    /// Sends what can be sent now. Whether any was.
    pub(super) fn send<M: Memory>(
        &mut self,
        server: &mut impl Server<M>,
        relay: &mut Relay,
        buffers: &mut Buffers<M>,
        cx: &mut Context<'_>,
    ) -> Result<bool, Ending> {
        let mut has_sent = false;
        while let Some(piece) = self.pieces.front_mut() {
            let (now, is_over) = match piece {
                Piece::Bytes { bytes, sent } => {
                    let left = bytes.get(*sent..).unwrap_or_default();
                    let Poll::Ready(now) = server.poll_write(cx, left) else { break };
                    let now = written(now)?;
                    *sent = sent.saturating_add(now);
                    (now, *sent >= bytes.len())
                }
                Piece::Buffer { buffer, offset, len } => {
                    let memory = buffers.get(*buffer)?;
                    let Poll::Ready(now) = server.poll_write_from(cx, memory, *offset, *len) else { break };
                    let now = written(now)?;
                    let part = u32::try_from(now).unwrap_or(*len);
                    relay.handle(Event::Sent { buffer: *buffer, len: part })?;
                    (*offset, *len) = (offset.saturating_add(part), len.saturating_sub(part));
                    (now, *len == 0)
                }
            };
            has_sent = true;
            self.waiting = self.waiting.saturating_sub(now);
            if is_over {
                self.pieces.pop_front();
            }
        }
        Ok(has_sent)
    }
}

/// A stream that takes nothing has ended.
fn written(sent: std::io::Result<usize>) -> Result<usize, Ending> {
    match sent {
        Ok(0) => Err(Ending::Server("it takes no bytes any more".into())),
        Ok(sent) => Ok(sent),
        Err(error) => Err(Ending::Server(error.to_string())),
    }
}
