//! Unix sockets on tokio's reactor.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::task::{Context, Poll, ready};

use rustix::net::accept_with;
use tokio::io::unix::AsyncFd;

use super::PacketSocket;
use super::buffer::PacketBuffer;
use super::system::{self, receive, send};

/// A connected socket. Needs a runtime with I/O.
#[derive(Debug)]
pub struct UnixPackets(AsyncFd<OwnedFd>);

impl UnixPackets {
    /// Of a connected socket, which does not wait.
    ///
    /// # Errors
    /// The reactor does not take it.
    pub fn new(socket: OwnedFd) -> io::Result<Self> {
        system::prepare(socket.as_fd())?;
        reactor(socket).map(Self)
    }

    /// Of a socket that listens at a path.
    ///
    /// # Errors
    /// Nobody listens there, or it is not allowed.
    pub fn connect(path: &Path) -> io::Result<Self> {
        Self::new(system::connect(path)?)
    }

    /// The socket itself.
    #[must_use]
    pub fn get_ref(&self) -> &OwnedFd {
        self.0.get_ref()
    }
}

impl AsFd for UnixPackets {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl From<UnixPackets> for OwnedFd {
    fn from(packets: UnixPackets) -> Self {
        packets.0.into_inner()
    }
}

impl PacketSocket for UnixPackets {
    type Descriptor = OwnedFd;

    fn poll_receive(
        &mut self,
        cx: &mut Context<'_>,
        packet: &mut PacketBuffer,
    ) -> Poll<io::Result<Vec<OwnedFd>>> {
        loop {
            let mut ready = ready!(self.0.poll_read_ready(cx))?;
            if let Ok(result) = ready.try_io(|socket| receive(socket.as_fd(), packet)) {
                return Poll::Ready(result);
            }
        }
    }

    fn poll_send(
        &mut self,
        cx: &mut Context<'_>,
        packet: &[u8],
        descriptor: Option<&OwnedFd>,
    ) -> Poll<io::Result<()>> {
        loop {
            let mut ready = ready!(self.0.poll_write_ready(cx))?;
            let descriptor = descriptor.map(AsFd::as_fd);
            if let Ok(result) = ready.try_io(|socket| send(socket.as_fd(), packet, descriptor)) {
                return Poll::Ready(result);
            }
        }
    }
}

/// A socket that listens.
#[derive(Debug)]
pub struct UnixListener(AsyncFd<OwnedFd>);

impl UnixListener {
    /// Listens at a path, which must not be there. It stays when the listener goes.
    ///
    /// # Errors
    /// There is something, or it is not allowed.
    pub fn bind(path: &Path) -> io::Result<Self> {
        reactor(system::listen(path)?).map(Self)
    }

    /// The next owner. None is lost if this is dropped.
    ///
    /// # Errors
    /// There are no file descriptors left.
    pub async fn accept(&self) -> io::Result<UnixPackets> {
        loop {
            let mut ready = self.0.readable().await?;
            let accept = |socket: &AsyncFd<OwnedFd>| {
                let flags = rustix::net::SocketFlags::CLOEXEC | rustix::net::SocketFlags::NONBLOCK;
                Ok(accept_with(socket, flags)?)
            };
            if let Ok(accepted) = ready.try_io(accept) {
                return accepted.and_then(UnixPackets::new);
            }
        }
    }
}

/// Gives the reactor a file descriptor, which nobody else closes.
#[expect(deprecated, reason = "the unsafe `register` asks for a descriptor that stays: an OwnedFd does")]
fn reactor(socket: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    AsyncFd::new(socket)
}
