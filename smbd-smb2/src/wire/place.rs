use core::ops::Range;

/// Where a field is: the structure it belongs to, its name and its bytes.
///
/// Offsets of messages count from the beginning of the SMB2 header, as those in the messages do. Offsets of other structures (a
/// negotiate context, an element of a list) count from the beginning of the structure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The structure that it belongs to.
    pub message: &'static str,
    /// The section of MS-SMB2 that defines the structure.
    pub section: &'static str,
    /// The name of the field in that section.
    pub name: &'static str,
    /// Where it begins, in bytes.
    pub at: usize,
    /// Its size in bytes.
    pub size: usize,
}

impl Place {
    /// Where the field ends, in bytes.
    #[must_use]
    pub const fn end(&self) -> usize {
        self.at.saturating_add(self.size)
    }

    /// Its bytes.
    #[must_use]
    pub const fn range(&self) -> Range<usize> {
        self.at..self.end()
    }
}
