use core::ops::Range;

/// One field of a message: its name, its section and its byte range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// The message that it belongs to, with the name of the section's heading.
    pub message: &'static str,
    /// The section that defines the message.
    pub section: &'static str,
    /// The name of the field in that section.
    pub name: &'static str,
    /// Its byte range, from the beginning of the message.
    pub range: Range<usize>,
}
