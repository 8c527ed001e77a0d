use core::ops::Range;

/// One field of a message: its name and place in the specification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// The message it belongs to, as the specification's heading names it.
    pub message: &'static str,
    /// The section that defines the message.
    pub section: &'static str,
    /// The name of the field in that section.
    pub name: &'static str,
    /// Its bytes, counted from the beginning of the message.
    pub range: Range<usize>,
}
