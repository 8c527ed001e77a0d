//! Progress on a terminal, and a line for each file that is done.

use std::sync::OnceLock;

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use smbd_client::copy::Watch;
use tokio::time::Instant;

use crate::outcome::Outcome;
use crate::say;
use crate::summary::{self, plain};
use crate::trouble::Trouble;

const COPIES: &str = "{prefix} {wide_bar} {bytes}/{total_bytes} {bytes_per_sec} {eta} {msg}";

/// The bars of all files.
pub(crate) struct Bars {
    all: MultiProgress,
    is_quiet: bool,
}

impl Bars {
    /// On standard error, if that is a terminal and they are wanted.
    pub(crate) fn new(is_quiet: bool) -> Self {
        let target = if is_quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        Self { all: MultiProgress::with_draw_target(target), is_quiet }
    }

    pub(crate) fn add(&self, name: &str, way: String) -> Bar {
        let bar = ProgressBar::new(0).with_prefix(plain(name)).with_message(way.clone());
        if let Ok(style) = ProgressStyle::with_template(COPIES) {
            bar.set_style(style);
        }
        Bar { bar: self.all.add(bar), way, checked_from: OnceLock::new() }
    }

    /// Tells what came of a file: failures always.
    ///
    /// # Errors
    /// Standard output cannot be written to.
    pub(crate) fn say(&self, outcome: &Outcome, way: &str) -> Result<(), Trouble> {
        self.all.suspend(|| {
            match &outcome.result {
                Ok(done) if !self.is_quiet => return say::line(summary::line(&outcome.job, done, way)),
                Ok(_) => {}
                Err(failure) => say::trouble(outcome.job.told(failure)),
            }
            Ok(())
        })
    }
}

/// The bar of a file.
pub(crate) struct Bar {
    bar: ProgressBar,
    way: String,
    checked_from: OnceLock<Instant>,
}

impl Bar {
    /// When all was copied, and the files began to be compared.
    pub(crate) fn checked_from(&self) -> Option<Instant> {
        self.checked_from.get().copied()
    }

    pub(crate) fn end(&self) {
        self.bar.finish_and_clear();
    }
}

impl Watch for Bar {
    fn begins(&self, size: u64, resumed: u64) {
        self.bar.set_length(size);
        self.bar.set_position(resumed);
        // The rate is that of what is copied now.
        self.bar.reset_eta();
    }

    fn moved(&self, bytes: u64) {
        self.bar.inc(bytes);
    }

    fn checks(&self, size: u64) {
        let _ = self.checked_from.set(Instant::now());
        self.bar.set_length(size);
        self.bar.set_position(0);
        self.bar.set_message(format!("{}, check", self.way));
    }
}
