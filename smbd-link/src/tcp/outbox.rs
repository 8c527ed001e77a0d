//! Messages that wait to be written, each behind its header.

use std::collections::VecDeque;
use std::io::IoSlice;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use tokio::io::AsyncWrite;

use super::{HEADER, LENGTH_MAX, TcpError};

/// Bytes of memory that a message takes besides its own: its place in the queue, and what an allocator adds.
const OF_MESSAGE: usize = 128;
/// Parts of messages that go into one call of the system.
const PARTS_MAX: usize = 16;

#[derive(Debug)]
pub(super) struct Outbox {
    messages: VecDeque<Waiting>,
    /// Bytes of memory that they hold.
    held: usize,
}

#[derive(Debug)]
struct Waiting {
    header: [u8; HEADER],
    /// Bytes of the header that were written.
    written: usize,
    /// What is left of the message.
    message: Bytes,
}

impl Outbox {
    pub(super) const fn new() -> Self {
        Self { messages: VecDeque::new(), held: 0 }
    }

    pub(super) fn push(&mut self, message: Bytes) {
        // Owners send no message that is longer than the limits allow.
        let len = u32::try_from(message.len()).unwrap_or(LENGTH_MAX);
        self.held = self.held.saturating_add(message.len()).saturating_add(OF_MESSAGE);
        self.messages.push_back(Waiting { header: len.to_be_bytes(), written: 0, message });
    }

    /// Number of messages of which not all is written.
    pub(super) fn len(&self) -> usize {
        self.messages.len()
    }

    pub(super) const fn held(&self) -> usize {
        self.held
    }

    pub(super) fn clear(&mut self) {
        *self = Self::new();
    }

    /// Writes what waits. Ready when nothing waits.
    pub(super) fn poll_flush(
        &mut self,
        stream: &mut (impl AsyncWrite + Unpin),
        cx: &mut Context<'_>,
    ) -> Poll<Result<(), TcpError>> {
        while !self.messages.is_empty() {
            let mut slices = [IoSlice::new(&[]); PARTS_MAX];
            let parts = self.messages.iter().flat_map(Waiting::parts);
            for (slice, part) in slices.iter_mut().zip(parts) {
                *slice = IoSlice::new(part);
            }
            let count = self.messages.len().saturating_mul(2).min(PARTS_MAX);
            let slices = slices.get(..count).unwrap_or_default();
            let written = ready!(Pin::new(&mut *stream).poll_write_vectored(cx, slices))?;
            if written == 0 {
                return Poll::Ready(Err(TcpError::Full));
            }
            self.written(written);
        }
        Pin::new(stream).poll_flush(cx).map_err(TcpError::from)
    }

    /// These bytes were written.
    fn written(&mut self, mut bytes: usize) {
        while let Some(Waiting { header, written, message }) = self.messages.front_mut() {
            let of_header = bytes.min(header.len().saturating_sub(*written));
            *written = written.saturating_add(of_header);
            let of_message = bytes.saturating_sub(of_header).min(message.len());
            message.advance(of_message);
            self.held = self.held.saturating_sub(of_message);
            bytes = bytes.saturating_sub(of_header).saturating_sub(of_message);
            if *written < header.len() || !message.is_empty() {
                return;
            }
            self.messages.pop_front();
            self.held = self.held.saturating_sub(OF_MESSAGE);
        }
    }
}

impl Waiting {
    fn parts(&self) -> [&[u8]; 2] {
        [self.header.get(self.written..).unwrap_or_default(), &self.message]
    }
}
