//! The Unix socket at which a program tells.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};
use tokio::io::AsyncWriteExt;
use tokio::net::UnixListener;
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use crate::socket_path::{SocketMode, SocketPath};

/// The time that whoever asks has to take the answer.
const WITHIN: Duration = Duration::from_secs(5);
/// Answers that are given at the same time. Whoever asks beyond them waits.
const ANSWERS_MAX: usize = 8;

/// A socket that answers. Dropping it removes it.
#[derive(Debug)]
pub struct Socket {
    _path: SocketPath,
    task: JoinHandle<()>,
}

impl Socket {
    /// Answers at `path`, from now on, each who connects with what `tell` returns. Call it inside a runtime with I/O and time enabled.
    ///
    /// # Errors
    /// Those of [`SocketPath::bind`].
    pub fn open(
        path: &Path,
        mode: SocketMode,
        tell: impl Fn() -> String + Send + 'static,
    ) -> io::Result<Self> {
        let (path, listener) = SocketPath::bind(path, mode, reach, |place| UnixListener::bind(place))?;
        Ok(Self { _path: path, task: tokio::spawn(serve(listener, tell)) })
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Connects without waiting for a place in the queue.
fn reach(path: &Path) -> io::Result<()> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    Ok(connect(&socket, &SocketAddrUnix::new(path)?)?)
}

async fn serve(listener: UnixListener, tell: impl Fn() -> String) {
    let room = Arc::new(Semaphore::new(ANSWERS_MAX));
    loop {
        let Ok(permit) = Arc::clone(&room).acquire_owned().await else { return };
        match listener.accept().await {
            Ok((mut stream, _)) => {
                let text = tell();
                tokio::spawn(async move {
                    // Whoever is too slow gets a part. Nothing is read: there is nothing to ask.
                    let _ = timeout(WITHIN, stream.write_all(text.as_bytes())).await;
                    drop(permit);
                });
            }
            // No file descriptors are left, for example.
            Err(_) => sleep(Duration::from_secs(1)).await,
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt;
    use tokio::net::UnixStream;

    use super::*;
    use crate::folder::Folder;

    fn open(path: &Path) -> io::Result<Socket> {
        Socket::open(path, SocketMode::User, || "told\n".into())
    }

    async fn ask(path: &Path) -> String {
        let mut text = String::new();
        UnixStream::connect(path).await.unwrap().read_to_string(&mut text).await.unwrap();
        text
    }

    #[tokio::test]
    async fn it_answers_whoever_asks_with_what_is_told_then_until_it_is_dropped() {
        let folder = Folder::new("answers");
        let path = folder.0.join("run/status.sock");
        let socket = open(&path).unwrap();
        assert_eq!(ask(&path).await, "told\n");
        assert_eq!(open(&path).unwrap_err().kind(), io::ErrorKind::AddrInUse);
        assert_eq!(ask(&path).await, "told\n");
        drop(socket);
        assert!(!path.exists());
    }

    /// A socket of a program that accepts nobody.
    #[tokio::test]
    async fn a_queue_that_is_full_is_somebodys_and_is_not_waited_for() {
        let folder = Folder::new("full");
        let path = folder.0.join("status.sock");
        let _listener = UnixListener::bind(&path).unwrap();
        let mut waiting = 0;
        while reach(&path).is_ok() {
            waiting += 1;
            assert!(waiting < 100_000, "the queue has no end");
        }
        assert_eq!(open(&path).unwrap_err().kind(), io::ErrorKind::AddrInUse);
    }

    /// More than a socket takes at once, so that answers wait for whoever does not read.
    #[tokio::test(start_paused = true)]
    async fn those_who_read_nothing_hold_up_others_for_seconds_only() {
        let folder = Folder::new("slow");
        let path = folder.0.join("status.sock");
        let _socket = Socket::open(&path, SocketMode::User, || "x".repeat(8 << 20)).unwrap();
        let mut slow = Vec::new();
        for _ in 0..ANSWERS_MAX {
            slow.push(UnixStream::connect(&path).await.unwrap());
        }
        let mut first = [0];
        let mut next = UnixStream::connect(&path).await.unwrap();
        timeout(WITHIN * 2, next.read_exact(&mut first)).await.unwrap().unwrap();
        assert_eq!(first, *b"x");
    }
}
