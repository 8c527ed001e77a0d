//! Sizes and times on the command line.

/// The longest operation.
const SIZE_MAX: u32 = 64 << 20;

/// Bytes of an operation, such as `4096`, `64K` or `1M`.
pub(crate) fn size(text: &str) -> Result<u32, String> {
    let (digits, unit) = match text.chars().last() {
        Some('K' | 'k') => (&text[..text.len() - 1], 1 << 10),
        Some('M' | 'm') => (&text[..text.len() - 1], 1 << 20),
        _ => (text, 1),
    };
    let size = digits.parse::<u32>().ok().and_then(|number| number.checked_mul(unit));
    size.filter(|size| (1..=SIZE_MAX).contains(size)).ok_or_else(|| {
        format!("it has to be a number of bytes from 1 to {SIZE_MAX}, or of KiB (64K) or MiB (1M)")
    })
}

/// Seconds, of which fractions count.
pub(crate) fn time(text: &str) -> Result<f64, String> {
    let seconds = text.parse::<f64>().ok().filter(|seconds| (0.0..=3600.0).contains(seconds));
    seconds.ok_or_else(|| "it has to be a number of seconds from 0 to 3600".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_bytes_kib_or_mib_and_have_an_end() {
        let sizes = ["1", "4096", "64K", "1m", "64M"].map(|text| size(text).unwrap());
        assert_eq!(sizes, [1, 4096, 65_536, 1 << 20, 64 << 20]);
        for wrong in ["", "0", "K", "65M", "4294967296", "4096M", "1G", "-1", "1.5M", "\u{e4}"] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
    }
}
