//! How a law is broken.

/// A law that was broken: its name, and how.
pub type Breach = String;

/// Demands a law.
macro_rules! law {
    ($name:literal, $holds:expr, $($how:tt)*) => {
        if !$holds {
            return Err(format!("{}: {}", $name, format!($($how)*)));
        }
    };
}
pub(crate) use law;
