//! The time of the day.

use std::time::SystemTime;

/// From 1601 to 1970, in 100 ns.
const EPOCH: u64 = 116_444_736_000_000_000;

/// The time as a FILETIME.
#[expect(clippy::disallowed_methods, reason = "clients are told the time of the day, and files have it")]
pub(super) fn now() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos() / 100).unwrap_or(0).saturating_add(EPOCH)
}
