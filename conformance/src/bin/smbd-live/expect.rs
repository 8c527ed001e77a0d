//! What a test demands.

use std::fmt::Debug;

use crate::case::Failure;

/// Demands that what was seen is what was expected.
pub(crate) fn same<T: PartialEq + Debug>(what: &str, seen: T, expected: T) -> Result<(), Failure> {
    if seen == expected {
        Ok(())
    } else {
        Err(format!("{what}: seen {seen:?}, expected {expected:?}").into())
    }
}

/// Demands that something holds; `seen` says what was seen instead.
pub(crate) fn holds(holds: bool, seen: impl FnOnce() -> String) -> Result<(), Failure> {
    if holds { Ok(()) } else { Err(seen().into()) }
}
