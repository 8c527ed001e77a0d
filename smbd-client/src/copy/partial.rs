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
    let path = path.trim_end_matches('/');
    match path.rsplit_once('/') {
        Some((directory, name)) => format!("{directory}/{}", partial(name)),
        None => partial(path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_too_long_for_the_suffix_is_cut_and_stays_one_of_its_own() {
        let longest = "x".repeat(NAME_MAX - SUFFIX.len());
        assert_eq!(partial(&longest), format!("{longest}{SUFFIX}"));
        // 3 bytes each: no boundary is at 200.
        for (name, kept) in [(format!("{longest}y"), 200), ("\u{20ac}".repeat(85), 198)] {
            let cut = partial(&name);
            assert!(cut.len() <= NAME_MAX && cut.ends_with(SUFFIX), "{cut}");
            assert_eq!(cut.find('~'), Some(kept));
            assert_ne!(cut, partial(&format!("{name}z")), "others with this beginning have other names");
        }
        assert_eq!(remote("f/"), partial("f"));
        assert_eq!(remote(&format!("a/b/{longest}y/")), format!("a/b/{}", partial(&format!("{longest}y"))));
    }
}
