//! Log lines of this process.

use std::sync::OnceLock;

use smbd_daemon::log::{Format, Line, Log};

/// How they look. Text, until that is known.
static LOG: OnceLock<Log> = OnceLock::new();

/// From now on lines look like this.
pub(crate) fn start(format: Format) {
    // It is called once.
    let _ = LOG.set(Log::new(format));
}

/// A line that says what happened.
pub(crate) fn line(what: &'static str) -> Line {
    LOG.get().copied().unwrap_or_default().line(what)
}

/// A line that says what somebody should look at.
pub(crate) fn warning(what: &'static str) -> Line {
    LOG.get().copied().unwrap_or_default().warning(what)
}
