//! Messages on a byte stream: each with its length before it, in four bytes.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf, BufMut, Bytes, BytesMut};
use smbd_core::error::DisconnectReason;
use smbd_core::{Head, SendId};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

const LENGTH: usize = size_of::<u32>();
/// Bytes read at a time.
const CHUNK: usize = 16 * 1024;

/// The receiving direction.
#[derive(Debug)]
pub(super) struct Incoming<R> {
    stream: R,
    bytes: BytesMut,
    longest: usize,
}

impl<R: AsyncRead + Unpin> Incoming<R> {
    /// Messages of more than `longest` bytes are refused.
    pub(super) fn new(stream: R, longest: usize) -> Self {
        Self { stream, bytes: BytesMut::new(), longest }
    }

    /// Takes in what is there, at least one byte.
    pub(super) fn poll_fill(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut chunk = [0; CHUNK];
        let mut read = ReadBuf::new(&mut chunk);
        ready!(Pin::new(&mut self.stream).poll_read(cx, &mut read))?;
        self.bytes.extend_from_slice(read.filled());
        Poll::Ready(if read.filled().is_empty() { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(()) })
    }

    /// What the stream's end says of that of the connection. A peer that closes in order does so between two messages.
    pub(super) fn why(&self, error: &io::Error) -> DisconnectReason {
        match error.kind() {
            io::ErrorKind::UnexpectedEof if self.bytes.is_empty() => DisconnectReason::PeerClosed,
            io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => {
                DisconnectReason::PeerAborted
            }
            io::ErrorKind::TimedOut => DisconnectReason::Unreachable,
            _ => DisconnectReason::Unknown,
        }
    }

    /// The next message that has arrived in full.
    pub(super) fn next(&mut self) -> io::Result<Option<Bytes>> {
        let Some((length, rest)) = self.bytes.split_first_chunk::<LENGTH>() else { return Ok(None) };
        let length = usize::try_from(u32::from_le_bytes(*length)).map_err(io::Error::other)?;
        if length > self.longest {
            return Err(io::ErrorKind::InvalidData.into());
        }
        if rest.len() < length {
            return Ok(None);
        }
        self.bytes.advance(LENGTH);
        // No copy: the message keeps its part of the buffer alive.
        Ok(Some(self.bytes.split_to(length).freeze()))
    }

    /// Reads to the end and forgets it: a socket closed with something unread resets the peer's.
    pub(super) fn poll_discard(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            self.bytes.clear();
            if ready!(self.poll_fill(cx)).is_err() {
                return Poll::Ready(());
            }
        }
    }
}

/// The sending direction.
#[derive(Debug)]
pub(super) struct Outgoing<W> {
    stream: W,
    bytes: BytesMut,
    /// Sends that are not written in full, with the position behind them.
    sends: VecDeque<(SendId, u64)>,
    /// Positions, counted from the beginning of the stream.
    queued: u64,
    written: u64,
}

impl<W: AsyncWrite + Unpin> Outgoing<W> {
    pub(super) fn new(stream: W) -> Self {
        Self { stream, bytes: BytesMut::new(), sends: VecDeque::new(), queued: 0, written: 0 }
    }

    /// Queues a message. The connection has no more sends in flight than it has slots, so this is bounded.
    pub(super) fn push(&mut self, id: SendId, head: &Head, body: &[u8]) {
        let before = self.bytes.len();
        let length = head.as_bytes().len() + body.len();
        self.bytes.put_u32_le(u32::try_from(length).unwrap_or(u32::MAX));
        self.bytes.put_slice(head.as_bytes());
        self.bytes.put_slice(body);
        self.queued += (self.bytes.len() - before) as u64;
        self.sends.push_back((id, self.queued));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Writes some of it.
    pub(super) fn poll_write(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let written = ready!(Pin::new(&mut self.stream).poll_write(cx, &self.bytes))?;
        self.bytes.advance(written);
        self.written += written as u64;
        Poll::Ready(if written == 0 { Err(io::ErrorKind::WriteZero.into()) } else { Ok(()) })
    }

    /// The next send that is written in full.
    pub(super) fn next_sent(&mut self) -> Option<SendId> {
        let (id, _) = self.sends.front().copied().filter(|(_, end)| *end <= self.written)?;
        self.sends.pop_front();
        Some(id)
    }

    /// Drops what was not written, whose sends are returned.
    pub(super) fn clear(&mut self) -> impl Iterator<Item = SendId> + use<W> {
        self.bytes.clear();
        std::mem::take(&mut self.sends).into_iter().map(|(id, _)| id)
    }

    /// Ends the stream.
    pub(super) fn poll_end(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
