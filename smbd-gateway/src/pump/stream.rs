//! The side over a stream.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use smbd_link::transport::Memory;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// A stream to a server, or to a client. All methods return at once; those that return `Pending` wake the task of `cx` later. A read of 0 bytes is
/// the end of the stream.
pub trait Stream<M> {
    /// Receives bytes into `into`. Returns their number.
    fn poll_read(&mut self, cx: &mut Context<'_>, into: &mut [u8]) -> Poll<io::Result<usize>>;

    /// Sends bytes. Returns how many were taken.
    fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>>;

    /// Receives bytes into `part`. What follows them may be received with them, into `behind`, if the part is full. Returns the
    /// number of both together.
    fn poll_read_into(
        &mut self,
        cx: &mut Context<'_>,
        part: Part<'_, M>,
        behind: &mut [u8],
    ) -> Poll<io::Result<usize>>;

    /// Sends `front`, and behind it `part`. Returns how many bytes of both were taken.
    fn poll_write_from(
        &mut self,
        cx: &mut Context<'_>,
        front: &[u8],
        part: Part<'_, M>,
    ) -> Poll<io::Result<usize>>;
}

/// A part of a device's memory.
#[derive(Debug)]
pub struct Part<'m, M> {
    /// The memory.
    pub memory: &'m M,
    /// Where the part begins, in bytes.
    pub offset: u32,
    /// Its length in bytes.
    pub len: u32,
}

/// Any stream. It copies what goes between the stream and a device's memory once more than
/// [`Tcp`](crate::Tcp).
#[derive(Debug)]
pub struct Copied<S> {
    stream: S,
    scratch: Box<[u8]>,
}

/// Bytes that are copied at once.
const SCRATCH: usize = 16 << 10;

impl<S> Copied<S> {
    /// Wraps a stream.
    pub fn new(stream: S) -> Self {
        Self { stream, scratch: vec![0; SCRATCH].into() }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin, M: Memory> Stream<M> for Copied<S> {
    fn poll_read(&mut self, cx: &mut Context<'_>, into: &mut [u8]) -> Poll<io::Result<usize>> {
        let mut read = ReadBuf::new(into);
        let result = Pin::new(&mut self.stream).poll_read(cx, &mut read);
        result.map_ok(|()| read.filled().len())
    }

    fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_read_into(
        &mut self,
        cx: &mut Context<'_>,
        part: Part<'_, M>,
        _: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        let mut read = ReadBuf::new(scratch(&mut self.scratch, part.len));
        let result = Pin::new(&mut self.stream).poll_read(cx, &mut read);
        let Poll::Ready(Ok(())) = result else { return result.map_ok(|()| 0) };
        let filled = part.memory.fill(part.offset, read.filled()).map_err(io::Error::other);
        Poll::Ready(filled.map(|()| read.filled().len()))
    }

    fn poll_write_from(
        &mut self,
        cx: &mut Context<'_>,
        front: &[u8],
        part: Part<'_, M>,
    ) -> Poll<io::Result<usize>> {
        if !front.is_empty() {
            return Pin::new(&mut self.stream).poll_write(cx, front);
        }
        let bytes = scratch(&mut self.scratch, part.len);
        if let Err(outside) = part.memory.read(part.offset, bytes) {
            return Poll::Ready(Err(io::Error::other(outside)));
        }
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }
}

/// Room for so many bytes at most.
fn scratch(all: &mut [u8], len: u32) -> &mut [u8] {
    all.get_mut(..SCRATCH.min(len as usize)).unwrap_or_default()
}
