//! A stream of messages over direct TCP.

use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// How long it may take to connect, and until there is room for a message.
const PATIENCE: Duration = Duration::from_secs(30);
/// Bytes that are read at a time.
const PIECE: usize = 1 << 16;
/// Bytes of the length before each message (2.1), of which the first is zero.
const LENGTH: usize = 4;

/// A stream, and what has come of a message that is not whole.
#[derive(Debug)]
pub(super) struct Stream {
    socket: TcpStream,
    came: Vec<u8>,
    /// It is read now.
    pub(super) is_awaited: bool,
}

impl Stream {
    pub(super) fn to(at: SocketAddr) -> io::Result<Self> {
        let socket = TcpStream::connect_timeout(&at, PATIENCE)?;
        socket.set_nodelay(true)?;
        socket.set_write_timeout(Some(PATIENCE))?;
        Ok(Self { socket, came: Vec::new(), is_awaited: false })
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Whether something has come, or the end.
    pub(super) fn has_more(&self) -> bool {
        let mut fds = [PollFd::new(&self.socket, PollFlags::IN)];
        poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).is_ok_and(|ready| ready > 0)
    }

    /// A message that is whole.
    pub(super) fn message(&mut self) -> Option<Vec<u8>> {
        let (length, behind) = self.came.split_first_chunk::<LENGTH>()?;
        let length = usize::try_from(u32::from_be_bytes(*length)).unwrap_or(usize::MAX);
        let message = behind.get(..length)?.to_vec();
        self.came.drain(..LENGTH + length);
        Some(message)
    }

    /// Sends a message.
    pub(super) fn write(&mut self, message: &[u8]) -> io::Result<()> {
        let length = u32::try_from(message.len()).unwrap_or(u32::MAX).to_be_bytes();
        self.socket.write_all(&length)?;
        self.socket.write_all(message)
    }

    /// Takes in what has come, which is something; whether it was not the end.
    pub(super) fn read(&mut self) -> bool {
        let mut piece = vec![0; PIECE];
        let count = self.socket.read(&mut piece).unwrap_or(0);
        self.came.extend(piece.iter().take(count));
        count > 0
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn messages_come_as_they_were_sent_however_the_stream_is_cut() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut ours = Stream::to(listener.local_addr().unwrap()).unwrap();
        let (mut theirs, _) = listener.accept().unwrap();
        ours.write(b"abc").unwrap();
        let mut sent = [0; 7];
        theirs.read_exact(&mut sent).unwrap();
        assert_eq!(&sent, b"\0\0\0\x03abc");

        assert!(!ours.has_more());
        for piece in [&b"\0\0"[..], b"\0\x02d", b"e\0\0\0\0\0\0\0\x01f"] {
            assert_eq!(ours.message(), None);
            theirs.write_all(piece).unwrap();
            assert!(ours.read());
        }
        let all = [ours.message(), ours.message(), ours.message(), ours.message()];
        assert_eq!(all, [Some(b"de".to_vec()), Some(Vec::new()), Some(b"f".to_vec()), None]);
        drop(theirs);
        assert!(!ours.read());
    }
}
