//! Handles to memory that a device can access.

use std::fmt;

use super::Device;
use crate::memory::Range;

/// A name of memory of the host whose device gets it.
pub trait Placed: Clone + fmt::Debug {
    /// The memory.
    fn range(&self) -> Range;
}

impl Placed for Range {
    fn range(&self) -> Range {
        *self
    }
}

/// A handle to memory of a simulated host.
pub(crate) trait SimMemory: Clone + fmt::Debug {
    /// The memory, if this device knows it.
    fn range(&self, device: &Device) -> Option<Range>;
}

impl<M: Placed> SimMemory for M {
    fn range(&self, _: &Device) -> Option<Range> {
        Some(Placed::range(self))
    }
}
