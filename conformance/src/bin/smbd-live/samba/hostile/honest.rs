//! The kernel's client, which does nothing wrong while others do.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use smbd_tools::exercise::pattern;

use crate::case::Failure;
use crate::cifs::Mounted;
use crate::patience::PATIENCE;
use crate::samba::service::behind;
use crate::samba::sizes::equal;

/// Bytes of a file: several requests, and an end that is too short for RDMA.
const FILE: usize = 1_500_001;
/// Its pause between two rounds: it is there to be served, and not to keep the others from their work.
const PAUSE: Duration = Duration::from_secs(2);
/// Files that it keeps.
const FILES: u64 = 8;
/// How often it is asked whether it has gone on.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// A mount that is used on a thread of its own. Dropped, it stops, and the share is taken away.
#[derive(Debug)]
pub(super) struct Honest {
    stop: Arc<AtomicBool>,
    rounds: Arc<AtomicU64>,
    /// `None` once it has been stopped.
    thread: Option<JoinHandle<Result<Mounted, String>>>,
}

impl Honest {
    /// Writes and reads files, and compares each byte, until it is told to stop.
    pub(super) fn start(mounted: Mounted) -> Self {
        let (stop, rounds) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let (stopped, counted) = (Arc::clone(&stop), Arc::clone(&rounds));
        let thread = thread::spawn(move || {
            for number in 0_u64.. {
                round(&mounted, number)
                    .map_err(|failure| format!("the honest client, round {number}: {failure}"))?;
                counted.fetch_add(1, Ordering::Relaxed);
                if stopped.load(Ordering::Relaxed) {
                    break;
                }
                thread::sleep(PAUSE);
            }
            Ok(mounted)
        });
        Self { stop, rounds, thread: Some(thread) }
    }

    /// Waits until it has gone on by a round that began after this was called.
    pub(super) fn goes_on(&self) -> Result<(), Failure> {
        let until = self.rounds.load(Ordering::Relaxed) + 2;
        let mut left = PATIENCE;
        while self.rounds.load(Ordering::Relaxed) < until {
            if self.has_stopped() {
                // What was wrong is told when it is stopped.
                return Ok(());
            }
            if left.is_zero() {
                return Err(format!("the honest client waits for more than {} s", PATIENCE.as_secs()).into());
            }
            thread::sleep(POLL_INTERVAL);
            left = left.saturating_sub(POLL_INTERVAL);
        }
        Ok(())
    }

    /// Whether it has stopped by itself: something was wrong.
    pub(super) fn has_stopped(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Its mount, and how many rounds it has had.
    pub(super) fn stop(mut self) -> Result<(Mounted, u64), Failure> {
        let mounted = self.end().ok_or("it was stopped before")??;
        Ok((mounted, self.rounds.load(Ordering::Relaxed)))
    }

    fn end(&mut self) -> Option<Result<Mounted, Failure>> {
        self.stop.store(true, Ordering::Relaxed);
        let ended = self.thread.take()?.join();
        Some(ended.map_err(|_| "the honest client panicked".into()).and_then(|ended| Ok(ended?)))
    }
}

impl Drop for Honest {
    fn drop(&mut self) {
        // A test that fails has said why.
        drop(self.end());
    }
}

/// A file, written and read, seen on both sides.
fn round(mounted: &Mounted, number: u64) -> Result<(), Failure> {
    let (contents, name) = (pattern(number, FILE), format!("honest-{}", number % FILES));
    fs::write(mounted.file(&name), &contents)?;
    equal("behind the share", &fs::read(behind(&name))?, &contents)?;
    equal("read again", &fs::read(mounted.file(&name))?, &contents)
}
