//! Cutting a transfer into pieces of the peer's buffer descriptors (3.1.4.5, 3.1.4.6).

use crate::BufferDescriptorV1;
use crate::error::RdmaError;

/// Where in an array of descriptors the next byte of a transfer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Cursor {
    element: usize,
    within: u32,
}

impl Cursor {
    /// Checks the whole transfer of `len` bytes at `offset` of the peer's buffer, and finds its first byte.
    ///
    /// MR-1: every descriptor is checked, also those not needed; elements of length 0 are skipped.
    pub(crate) fn new(remote: &[BufferDescriptorV1], offset: u64, len: u32) -> Result<Self, RdmaError> {
        let mut total = 0_u64;
        let mut start = None;
        for (element, descriptor) in remote.iter().enumerate() {
            // The last byte must have an address: offset + length may be 2^64, not more.
            if descriptor.offset.checked_add(u64::from(descriptor.length.saturating_sub(1))).is_none() {
                let index = u64::try_from(element).unwrap_or(u64::MAX);
                return Err(RdmaError::DescriptorWraps {
                    index,
                    offset: descriptor.offset,
                    len: descriptor.length,
                });
            }
            let end = total.saturating_add(u64::from(descriptor.length));
            if start.is_none() && offset < end {
                let within = u32::try_from(offset.saturating_sub(total)).unwrap_or(u32::MAX);
                start = Some(Self { element, within });
            }
            total = end;
        }
        let beyond = RdmaError::BeyondDescriptors { offset, len, total };
        if offset.checked_add(u64::from(len)).is_none_or(|end| end > total) {
            return Err(beyond);
        }
        Ok(start.unwrap_or(Self { element: remote.len(), within: 0 }))
    }

    /// The next piece of at most `max` bytes, inside one descriptor. `None` at the end of the array.
    pub(crate) fn next(&mut self, remote: &[BufferDescriptorV1], max: u32) -> Option<BufferDescriptorV1> {
        loop {
            let descriptor = remote.get(self.element)?;
            let left = descriptor.length.saturating_sub(self.within);
            if left == 0 {
                self.element = self.element.saturating_add(1);
                self.within = 0;
                continue;
            }
            let length = left.min(max);
            let offset = descriptor.offset.wrapping_add(u64::from(self.within));
            self.within = self.within.saturating_add(length);
            return Some(BufferDescriptorV1 { offset, token: descriptor.token, length });
        }
    }
}

#[cfg(test)]
mod tests;
