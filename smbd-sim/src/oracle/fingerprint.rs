//! Fingerprints of the records: equal for records that differ only in ids and other values without influence.

use std::hash::{DefaultHasher, Hash, Hasher};

use smbd_core::Instant;

/// From `now` to `at` in nanoseconds, negative if it has passed.
pub(super) fn distance(at: Instant, now: Instant) -> i128 {
    i128::from(at.as_nanos()) - i128::from(now.as_nanos())
}

/// For sets whose order is an accident of slot numbers.
pub(super) fn digest(item: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    item.hash(&mut hasher);
    hasher.finish()
}
