//! A file descriptor of `smbd-verbs` in tokio's reactor.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};

use tokio::io::unix::AsyncFd;

/// Something to wait for.
#[derive(Debug)]
pub(super) struct Readable(AsyncFd<OwnedFd>);

impl Readable {
    /// Takes a duplicate: that stays open for as long as tokio knows it.
    #[expect(deprecated, reason = "the unsafe `register` asks for a descriptor that stays: an OwnedFd does")]
    pub(super) fn new(fd: BorrowedFd<'_>) -> io::Result<Self> {
        AsyncFd::new(fd.try_clone_to_owned()?).map(Self)
    }

    /// Returns when there may be something, and asks tokio to look again the next time.
    pub(super) async fn wait(&self) -> io::Result<()> {
        self.0.readable().await.map(|mut guard| guard.clear_ready())
    }
}
