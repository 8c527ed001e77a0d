//! Streams over TCP, between the kernel and registered memory without a copy in this process.

use std::io;
use std::os::fd::AsFd;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use smbd_core::backend::{OutOfMemory, OutOfRange};
use smbd_verbs::Buffer;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::TcpStream;

use crate::pump::{Memory, Server};

/// A server over TCP.
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
}

impl Server<Buffer> for Tcp {
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
        memory: &Buffer,
        offset: u32,
        len: u32,
    ) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.0.poll_read_ready(cx))?;
            let receive = || memory.receive_from(self.0.as_fd(), offset, len);
            match self.0.try_io(Interest::READABLE, receive) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => return Poll::Ready(result),
            }
        }
    }

    fn poll_write_from(
        &mut self,
        cx: &mut Context<'_>,
        memory: &Buffer,
        offset: u32,
        len: u32,
    ) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.0.poll_write_ready(cx))?;
            let send = || memory.send_to(self.0.as_fd(), offset, len);
            match self.0.try_io(Interest::WRITABLE, send) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => return Poll::Ready(result),
            }
        }
    }
}

impl Memory for Buffer {
    fn allocate(len: u32) -> Result<Self, OutOfMemory> {
        Self::new(len)
    }

    fn fill(&self, offset: u32, bytes: &[u8]) -> Result<(), OutOfRange> {
        self.fill(offset, bytes)
    }

    fn read(&self, offset: u32, out: &mut [u8]) -> Result<(), OutOfRange> {
        self.read(offset, out)
    }
}
