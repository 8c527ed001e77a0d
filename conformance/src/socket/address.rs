//! Where the other end is: a Unix socket or a TCP port.

use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileTypeExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use thiserror::Error;

/// How long a TCP connection may take to come up.
const CONNECT_TIME: Duration = Duration::from_secs(5);

/// Address of an acceptor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// Path of a Unix socket.
    Unix(PathBuf),
    /// Address and port of TCP.
    Tcp(SocketAddr),
}

/// Neither a path nor an address with a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("neither an address with a port, such as 127.0.0.1:5445, nor a path, which has a `/`")]
pub struct BadAddress;

impl FromStr for Address {
    type Err = BadAddress;

    fn from_str(text: &str) -> Result<Self, BadAddress> {
        match text.parse() {
            Ok(at) => Ok(Self::Tcp(at)),
            Err(_) if text.contains('/') => Ok(Self::Unix(text.into())),
            Err(_) => Err(BadAddress),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(path) => write!(f, "{}", path.display()),
            Self::Tcp(at) => write!(f, "{at}"),
        }
    }
}

/// A connected socket, whatever its kind.
#[derive(Debug)]
pub struct Stream(OwnedFd);

impl Stream {
    /// The socket, which does not block.
    pub(super) fn nonblocking(self) -> io::Result<OwnedFd> {
        rustix::io::ioctl_fionbio(&self.0, true)?;
        Ok(self.0)
    }
}

impl From<UnixStream> for Stream {
    fn from(stream: UnixStream) -> Self {
        Self(stream.into())
    }
}

impl From<TcpStream> for Stream {
    fn from(stream: TcpStream) -> Self {
        // Frames are written as a whole.
        let _ = stream.set_nodelay(true);
        Self(stream.into())
    }
}

impl Address {
    /// Connects. Waits at most 5 s.
    ///
    /// # Errors
    /// Nobody listens there, or the address cannot be reached.
    pub fn connect(&self) -> io::Result<Stream> {
        Ok(match self {
            Self::Unix(path) => UnixStream::connect(path)?.into(),
            Self::Tcp(at) => TcpStream::connect_timeout(at, CONNECT_TIME)?.into(),
        })
    }

    /// Listens. A Unix socket that nobody listens on any more is replaced.
    ///
    /// # Errors
    /// Somebody else listens there, or the address is not one of this host.
    pub fn listen(&self) -> io::Result<Listener> {
        let socket = match self {
            Self::Tcp(at) => {
                let listener = TcpListener::bind(at)?;
                listener.set_nonblocking(true)?;
                Socket::Tcp(listener)
            }
            Self::Unix(path) => {
                let is_socket = path.symlink_metadata().is_ok_and(|found| found.file_type().is_socket());
                if is_socket && UnixStream::connect(path).is_err() {
                    std::fs::remove_file(path)?;
                }
                let listener = UnixListener::bind(path)?;
                listener.set_nonblocking(true)?;
                Socket::Unix(listener, path.clone())
            }
        };
        Ok(Listener { socket })
    }
}

#[derive(Debug)]
enum Socket {
    Unix(UnixListener, PathBuf),
    Tcp(TcpListener),
}

/// Takes connections. Dropping it removes its Unix socket.
#[derive(Debug)]
pub struct Listener {
    socket: Socket,
}

impl Listener {
    /// The next connection; `None` if there is none at the moment.
    ///
    /// # Errors
    /// The system has no room for one.
    pub fn accept(&self) -> io::Result<Option<Stream>> {
        let accepted = match &self.socket {
            Socket::Unix(listener, _) => listener.accept().map(|(stream, _)| Stream::from(stream)),
            Socket::Tcp(listener) => listener.accept().map(|(stream, _)| Stream::from(stream)),
        };
        match accepted {
            Ok(stream) => Ok(Some(stream)),
            // One that was gone before it was taken is no reason to end.
            Err(error) if is_for_now(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The next connection, waited for.
    ///
    /// # Errors
    /// As [`accept`](Self::accept).
    pub fn wait(&self) -> io::Result<Stream> {
        loop {
            if let Some(stream) = self.accept()? {
                return Ok(stream);
            }
            let mut fds = [rustix::event::PollFd::new(&self.socket, rustix::event::PollFlags::IN)];
            match rustix::event::poll(&mut fds, None) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

fn is_for_now(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, Interrupted, WouldBlock};
    matches!(error.kind(), WouldBlock | Interrupted | ConnectionAborted)
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Unix(listener, _) => listener.as_fd(),
            Self::Tcp(listener) => listener.as_fd(),
        }
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Socket::Unix(_, path) = &self.socket {
            // Whoever has removed it before has done the same.
            let _ = std::fs::remove_file(path);
        }
    }
}
