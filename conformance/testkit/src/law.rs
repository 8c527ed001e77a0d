//! Laws, which models and swarms demand.

/// A law that was broken: its name, and how.
pub type Breach = String;

/// Demands a law: returns from the function with a [`Breach`] if the law does not hold.
#[macro_export]
macro_rules! law {
    ($name:literal, $holds:expr, $($how:tt)*) => {
        if !$holds {
            return Err(format!("{}: {}", $name, format!($($how)*)));
        }
    };
}
