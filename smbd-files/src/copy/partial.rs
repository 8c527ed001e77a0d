//! Names of files that are being copied.

use std::hash::Hasher as _;

use twox_hash::XxHash3_64;

/// What follows the name of a file that is being copied.
const SUFFIX: &str = ".smbd-partial";
/// The most bytes of a name: those of Linux. Windows has as many UTF-16 code units.
const NAME_MAX: usize = 255;
/// Bytes that are kept of a name that is too long for the suffix, beside its sum.
const KEPT: usize = 200;

/// The name that a file of this name has until all of it is copied. Names that are too long for it are cut, and have a sum in it.
#[must_use]
pub fn partial(name: &str) -> String {
    let whole = format!("{name}{SUFFIX}");
    if whole.len() <= NAME_MAX {
        return whole;
    }
    let mut sum = XxHash3_64::new();
    sum.write(name.as_bytes());
    let kept = (0..=KEPT).rev().find_map(|end| name.get(..end)).unwrap_or_default();
    format!("{kept}~{:016x}{SUFFIX}", sum.finish())
}

/// The path in a share of a file that is being copied.
pub(super) fn remote(path: &str) -> String {
    match path.trim_end_matches('/').rsplit_once('/') {
        Some((directory, name)) => format!("{directory}/{}", partial(name)),
        None => partial(path),
    }
}
