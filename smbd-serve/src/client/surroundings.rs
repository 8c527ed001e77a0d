//! What a server needs of the machine that it runs on.

use std::future::Future;
use std::time::Duration;

use smbd_core::Instant;
use smbd_link::time::{self, Clock, TokioTime};
use smbd_smb2::server::Misuse;
use tokio::task::spawn_blocking;

/// What a server needs of the machine that it runs on: time, the date, random bytes, tasks, and threads that may wait for a disk. Clones have
/// the same time.
pub trait Surroundings: Clock<Sleep: Send> + Clone + Send + Sync + 'static {
    /// Fills `into` with bytes that are fit for keys.
    ///
    /// # Errors
    /// The system has none: why, as a text for people.
    fn random(&self, into: &mut [u8]) -> Result<(), String>;

    /// The date: a FILETIME, 100 ns since 1601, UTC.
    fn date(&self) -> u64;

    /// Starts a task, which goes on by itself.
    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static);

    /// Starts work that may wait for a disk. The work goes on even if nobody waits for the result, which is `None` if the work has
    /// panicked.
    fn work<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> impl Future<Output = Option<T>> + Send + 'static;

    /// The server has taken a message of the client, which is decrypted: for who watches it.
    fn taken(&self, message: &[u8]) {
        let _ = message;
    }

    /// The driver of a client has told [`smbd_smb2::server`] something that it does not expect, a bug of this crate: for who watches it.
    fn misused(&self, misuse: Misuse) {
        let _ = misuse;
    }
}

/// The surroundings of a process with a runtime of tokio.
impl Surroundings for TokioTime {
    fn random(&self, into: &mut [u8]) -> Result<(), String> {
        getrandom::fill(into).map_err(|error| format!("the system has no entropy: {error}"))
    }

    fn date(&self) -> u64 {
        time::date()
    }

    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        tokio::spawn(task);
    }

    fn work<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> impl Future<Output = Option<T>> + Send + 'static {
        let working = spawn_blocking(work);
        async { working.await.ok() }
    }
}

/// The time of a client, by which its timers go: the date at which the client came, and monotonic time from then on. The time does not jump
/// when somebody sets the date.
#[derive(Clone, Copy, Debug)]
pub(super) struct Times<A> {
    pub(super) around: A,
    at: u64,
    began: Instant,
    last: u64,
}

impl<A: Surroundings> Times<A> {
    pub(super) fn begin(around: A) -> Self {
        let at = around.date();
        Self { at, began: around.now(), last: at, around }
    }

    /// A FILETIME.
    pub(super) fn now(&mut self) -> u64 {
        let passed = self.around.now().saturating_since(self.began).as_nanos() / 100;
        self.last = self.at.saturating_add(u64::try_from(passed).unwrap_or(u64::MAX));
        self.last
    }

    /// The time at which the clock was looked at last, a FILETIME.
    pub(super) const fn last(&self) -> u64 {
        self.last
    }

    /// When a FILETIME is reached.
    pub(super) fn at(&self, filetime: u64) -> Instant {
        // Units of 100 ns.
        self.began.saturating_add(Duration::from_nanos(filetime.saturating_sub(self.at).saturating_mul(100)))
    }
}
