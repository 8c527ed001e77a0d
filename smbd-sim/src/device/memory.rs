//! Handles to memory that a device can access.

use std::fmt;

use super::Device;
use crate::memory::Range;

/// A handle to memory of a simulated host.
pub(crate) trait SimMemory: Clone + fmt::Debug {
    /// The memory, if this device knows it.
    fn range(&self, device: &Device) -> Option<Range>;
}

impl SimMemory for Range {
    fn range(&self, _: &Device) -> Option<Range> {
        Some(*self)
    }
}
