//! Buffers of equal length in one registration.

use std::{ptr, slice, sync::Arc};

use crate::ffi::{Buffer, CallError, MemoryRegion, ProtectionDomain, Rights};

/// Slots begin at multiples of this: a cache line, so that two slots share none.
const ALIGN: u32 = 64;
/// Bytes of a page of memory: the smallest there is.
const PAGE: u64 = 4096;

/// Bytes of memory of so many slots, whole pages; `None` if there cannot be so many.
pub(crate) fn slab_bytes(slots: u32, slot_len: u32) -> Option<u64> {
    let len = slot_len.checked_next_multiple_of(ALIGN)?.checked_mul(slots)?;
    Some(u64::from(len).next_multiple_of(PAGE))
}

/// Slots that only one queue pair reaches.
pub(super) struct Slab {
    buffer: Buffer,
    lkey: u32,
    /// `None` only in tests, which have no device.
    _region: Option<MemoryRegion>,
    stride: u32,
    slot_len: u32,
    slots: u32,
}

impl Slab {
    pub(super) fn new(
        domain: &Arc<ProtectionDomain>,
        slots: u32,
        slot_len: u32,
        rights: Rights,
    ) -> Result<Self, CallError> {
        let mut slab = Self::unregistered(slots, slot_len)?;
        let region = MemoryRegion::register(domain, &slab.buffer, rights)?;
        slab.lkey = region.lkey();
        slab._region = Some(region);
        Ok(slab)
    }

    /// Slots that no device knows.
    pub(super) fn unregistered(slots: u32, slot_len: u32) -> Result<Self, CallError> {
        let invalid = CallError::new("ibv_reg_mr", libc::EINVAL);
        let stride = slot_len.checked_next_multiple_of(ALIGN).ok_or(invalid)?;
        let len = stride.checked_mul(slots).filter(|&len| len > 0).ok_or(invalid)?;
        let buffer = Buffer::new(len).map_err(|_| CallError::new("mmap", libc::ENOMEM))?;
        Ok(Self { buffer, lkey: 0, _region: None, stride, slot_len, slots })
    }

    pub(super) const fn slots(&self) -> u32 {
        self.slots
    }

    /// Length of a slot in bytes.
    pub(super) const fn slot_len(&self) -> u32 {
        self.slot_len
    }

    pub(super) const fn lkey(&self) -> u32 {
        self.lkey
    }

    /// Where a slot is, for the device.
    #[inline]
    pub(super) fn addr(&self, slot: u16) -> u64 {
        self.buffer.start().addr().get() as u64 + u64::from(slot) * u64::from(self.stride)
    }

    /// Where a slot is.
    ///
    /// # Safety
    /// `slot` is below the number of slots.
    #[inline]
    unsafe fn start(&self, slot: u16) -> ptr::NonNull<u8> {
        // SAFETY: the slab has `stride` bytes for each slot below their number (the caller).
        unsafe { self.buffer.start().add(usize::from(slot) * self.stride as usize) }
    }

    /// Writes `head` and `body`, one behind the other, to the beginning of a slot.
    ///
    /// # Safety
    /// `slot` is below the number of slots, and both fit into one.
    #[inline]
    pub(super) unsafe fn write(&mut self, slot: u16, head: &[u8], body: &[u8]) {
        // SAFETY: both fit into the slot (the caller). The arguments are not part of the slab, of which nobody has a
        // reference while `self` is borrowed mutably.
        unsafe {
            let start = self.start(slot).as_ptr();
            ptr::copy_nonoverlapping(head.as_ptr(), start, head.len());
            ptr::copy_nonoverlapping(body.as_ptr(), start.add(head.len()), body.len());
        }
    }

    /// The first `len` bytes of a slot.
    ///
    /// # Safety
    /// `slot` is below the number of slots, `len` at most their length, and no device writes there while `self` is
    /// borrowed.
    #[inline]
    pub(super) unsafe fn bytes(&self, slot: u16, len: u32) -> &[u8] {
        // SAFETY: the caller; mapped memory was written, with zeros at the latest when it was mapped.
        unsafe { slice::from_raw_parts(self.start(slot).as_ptr(), len as usize) }
    }
}
