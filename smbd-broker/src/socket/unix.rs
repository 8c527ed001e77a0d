//! Unix sockets on tokio's reactor.

use std::fs::{self, DirBuilder, Permissions};
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt as _, FileTypeExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
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
        rustix::io::ioctl_fionbio(&socket, true)?;
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

/// A socket that listens. Its path goes with it.
#[derive(Debug)]
pub struct UnixListener {
    socket: AsyncFd<OwnedFd>,
    path: PathBuf,
    /// Device and inode: another broker may have put its own there.
    id: (u64, u64),
}

impl UnixListener {
    /// Listens at a path, for whoever `mode` lets connect. A socket that is there, and at which nobody listens, is replaced.
    ///
    /// # Errors
    /// Somebody listens there, there is something else, or it is not allowed.
    pub fn bind(path: &Path, mode: u32) -> io::Result<Self> {
        make_way(path)?;
        // In a folder that nobody else can enter, so that the mode is right before anybody can connect.
        let mut nursery = path.as_os_str().to_owned();
        nursery.push(format!(".{}", std::process::id()));
        let nursery = PathBuf::from(nursery);
        let _ = fs::remove_dir_all(&nursery);
        DirBuilder::new().mode(0o700).create(&nursery)?;
        let place = nursery.join("s");
        let bound = system::listen(&place).and_then(|socket| {
            fs::set_permissions(&place, Permissions::from_mode(mode))?;
            fs::rename(&place, path)?;
            Ok(socket)
        });
        // An empty folder that stays is no fault of the socket.
        let _ = fs::remove_dir_all(&nursery);
        let found = fs::symlink_metadata(path);
        let socket = reactor(bound?)?;
        let found = found?;
        Ok(Self { socket, path: path.to_owned(), id: (found.dev(), found.ino()) })
    }

    /// The next owner. None is lost if this is dropped.
    ///
    /// # Errors
    /// There are no file descriptors left.
    pub async fn accept(&self) -> io::Result<UnixPackets> {
        loop {
            let mut ready = self.socket.readable().await?;
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

impl Drop for UnixListener {
    fn drop(&mut self) {
        let found = fs::symlink_metadata(&self.path);
        if found.is_ok_and(|found| (found.dev(), found.ino()) == self.id) {
            // What cannot be removed is replaced the next time.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Removes a socket at which nobody listens any more.
fn make_way(path: &Path) -> io::Result<()> {
    let found = match fs::symlink_metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    if !found.file_type().is_socket() {
        return Err(io::Error::new(ErrorKind::AlreadyExists, "there is something else"));
    }
    match system::connect(path) {
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => fs::remove_file(path),
        Err(error) if error.kind() != ErrorKind::WouldBlock => Err(error),
        // A queue that is full is somebody's.
        Ok(_) | Err(_) => Err(io::Error::new(ErrorKind::AddrInUse, "another broker listens there")),
    }
}

/// Gives the reactor a file descriptor, which nobody else closes.
#[expect(deprecated, reason = "the unsafe `register` asks for a descriptor that stays: an OwnedFd does")]
fn reactor(socket: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    AsyncFd::new(socket)
}
