//! Names within a share.

use alloc::string::String;

use super::status::OBJECT_PATH_SYNTAX_BAD;
use crate::wire::{NtStatus, Text};

/// The most UTF-16 code units that a component has.
const COMPONENT_MAX: usize = 255;

/// The path of a file from the root of its share on: components with a backslash between them, none of which is empty, `.` or `..`, or
/// has a character that names cannot have (MS-FSCC 2.1.5). The root has no component.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SharePath(String);

impl SharePath {
    /// Reads a name as CREATE and SET_INFO have it.
    ///
    /// # Errors
    /// STATUS_INVALID_PARAMETER for an odd number of bytes, half of a surrogate pair, a backslash at the beginning, or a component that
    /// is `.` or `..`. STATUS_OBJECT_PATH_SYNTAX_BAD if the first is `..`. STATUS_OBJECT_NAME_INVALID for a character that names cannot have, an empty component or one that is too long.
    pub fn parse(name: Text<'_>) -> Result<Self, NtStatus> {
        if name.wire().is_some_and(|bytes| !bytes.len().is_multiple_of(2)) {
            return Err(NtStatus::INVALID_PARAMETER);
        }
        let path: Result<String, _> = char::decode_utf16(name.units()).collect();
        let path = path.map_err(|_| NtStatus::INVALID_PARAMETER)?;
        if path.is_empty() {
            return Ok(Self::default());
        }
        if path.starts_with('\\') {
            return Err(NtStatus::INVALID_PARAMETER);
        }
        // It leads out of the share.
        if path.split('\\').next() == Some("..") {
            return Err(OBJECT_PATH_SYNTAX_BAD);
        }
        path.split('\\').try_for_each(component)?;
        Ok(Self(path))
    }

    /// The components, the root's child first.
    pub fn components(&self) -> impl DoubleEndedIterator<Item = &str> + Clone {
        self.0.split('\\').filter(|component| !component.is_empty())
    }

    /// The directory and the name within it; `None` for the root.
    #[must_use]
    pub fn split(&self) -> Option<(Self, &str)> {
        match self.0.rsplit_once('\\') {
            Some((parent, name)) => Some((Self(parent.into()), name)),
            None if self.0.is_empty() => None,
            None => Some((Self::default(), &self.0)),
        }
    }

    /// The path, without a backslash at the beginning.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// MS-FSCC 2.1.5.2.
fn component(name: &str) -> Result<(), NtStatus> {
    if name == "." || name == ".." {
        return Err(NtStatus::INVALID_PARAMETER);
    }
    let is_bad = |c: char| c < ' ' || matches!(c, '"' | '*' | '/' | ':' | '<' | '>' | '?' | '|');
    if name.is_empty() || name.contains(is_bad) || name.encode_utf16().count() > COMPONENT_MAX {
        return Err(NtStatus::OBJECT_NAME_INVALID);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    fn parse(name: &str) -> Result<SharePath, NtStatus> {
        SharePath::parse(Text::from(name))
    }

    #[test]
    fn no_path_leads_out_of_the_share() {
        for name in ["..", "..\\a", "..\\..\\.."] {
            assert_eq!(parse(name), Err(OBJECT_PATH_SYNTAX_BAD), "{name}");
        }
        for name in ["a\\..\\b", "a\\..", ".", "\\a", "a\\."] {
            assert_eq!(parse(name), Err(NtStatus::INVALID_PARAMETER), "{name}");
        }
        for name in ["a/../b", "a\\\\b", "a\\", "a:b", "a*", "a\0b", "a\nb", "a\\b?"] {
            assert_eq!(parse(name), Err(NtStatus::OBJECT_NAME_INVALID), "{name}");
        }
    }

    #[test]
    fn a_name_with_half_a_surrogate_pair_or_an_odd_byte_is_refused() {
        assert_eq!(SharePath::parse(Text::from_wire(&[0, 0xd8])), Err(NtStatus::INVALID_PARAMETER));
        assert_eq!(SharePath::parse(Text::from_wire(b"a\0b")), Err(NtStatus::INVALID_PARAMETER));
    }

    #[test]
    fn a_component_has_at_most_255_code_units() {
        assert!(parse(&"x".repeat(255)).is_ok());
        assert_eq!(parse(&"x".repeat(256)), Err(NtStatus::OBJECT_NAME_INVALID));
        assert_eq!(parse(&"\u{10000}".repeat(128)), Err(NtStatus::OBJECT_NAME_INVALID));
    }

    #[test]
    fn a_path_is_split_at_its_last_backslash() {
        let path = parse("a\\b\\c").unwrap();
        assert_eq!(path.components().collect::<Vec<_>>(), ["a", "b", "c"]);
        assert_eq!(path.split(), Some((parse("a\\b").unwrap(), "c")));
        assert_eq!(parse("a").unwrap().split(), Some((SharePath::default(), "a")));
        assert_eq!(SharePath::default().split(), None);
    }
}
