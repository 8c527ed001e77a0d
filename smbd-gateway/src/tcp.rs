//! Streams over TCP, between the kernel and registered memory without a copy in this process.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use smbd_verbs::Buffer;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::TcpStream;

use crate::pump::{Part, Stream};

/// A server or a client over TCP.
#[derive(Debug)]
pub struct Tcp(TcpStream);

impl Tcp {
    /// Wraps a stream. Messages leave at once from now on (TCP_NODELAY).
    ///
    /// # Errors
    /// The system does not set the option.
    pub fn new(stream: TcpStream) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        Ok(Self(stream))
    }

    /// Waits until the stream is ready and makes a call on it, which moves `len` bytes at most. A call that has to be made later,
    /// or was interrupted, is made again.
    fn poll_call(
        &self,
        cx: &mut Context<'_>,
        interest: Interest,
        poll_ready: fn(&TcpStream, &mut Context<'_>) -> Poll<io::Result<()>>,
        len: usize,
        mut call: impl FnMut(BorrowedFd<'_>) -> io::Result<usize>,
    ) -> Poll<io::Result<usize>> {
        loop {
            ready!(poll_ready(&self.0, cx))?;
            let mut some = None;
            let called = self.0.try_io(interest, || match call(self.0.as_fd()) {
                // All that there was, or room for: another call would find nothing. Whoever says so here clears just the readiness
                // that was seen before the call, and none that came since. tokio does the same in its own calls.
                Ok(moved) if 0 < moved && moved < len => {
                    some = Some(moved);
                    Err(io::ErrorKind::WouldBlock.into())
                }
                result => result,
            });
            if let Some(moved) = some {
                return Poll::Ready(Ok(moved));
            }
            match called {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => return Poll::Ready(result),
            }
        }
    }
}

impl Stream<Buffer> for Tcp {
    fn poll_read(&mut self, cx: &mut Context<'_>, into: &mut [u8]) -> Poll<io::Result<usize>> {
        let mut read = ReadBuf::new(into);
        ready!(Pin::new(&mut self.0).poll_read(cx, &mut read))?;
        Poll::Ready(Ok(read.filled().len()))
    }

    fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, bytes)
    }

    fn poll_read_into(
        &mut self,
        cx: &mut Context<'_>,
        Part { memory, offset, len }: Part<'_, Buffer>,
        behind: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        let room = behind.len().saturating_add(len as usize);
        let call = |stream: BorrowedFd<'_>| memory.receive_from(stream, offset, len, behind);
        self.poll_call(cx, Interest::READABLE, TcpStream::poll_read_ready, room, call)
    }

    fn poll_write_from(
        &mut self,
        cx: &mut Context<'_>,
        front: &[u8],
        Part { memory, offset, len }: Part<'_, Buffer>,
    ) -> Poll<io::Result<usize>> {
        let all = front.len().saturating_add(len as usize);
        let call = |stream: BorrowedFd<'_>| memory.send_to(stream, front, offset, len);
        self.poll_call(cx, Interest::WRITABLE, TcpStream::poll_write_ready, all, call)
    }
}

#[cfg(test)]
mod tests;
