//! Protection domains and memory regions.

use std::{fmt, mem::ManuallyDrop, ptr::NonNull, sync::Arc};

use super::{
    buffer::Buffer,
    device::Device,
    error::{CallError, non_null},
    sys::{ibv_access_flags, ibv_alloc_pd, ibv_mr, ibv_pd},
};

// Unit tests have no device.
#[cfg(test)]
pub(crate) mod fake;
#[cfg(not(test))]
use super::sys::{ibv_dealloc_pd, ibv_dereg_mr, ibv_reg_mr_iova2};
#[cfg(test)]
use fake::{ibv_dealloc_pd, ibv_dereg_mr, ibv_reg_mr_iova2};

/// What belongs together on a device: a queue pair reaches only registrations of its own domain.
pub(crate) struct ProtectionDomain {
    domain: NonNull<ibv_pd>,
    device: Device,
}

// SAFETY: calls of libibverbs on a domain may be made by any thread, several at once.
unsafe impl Send for ProtectionDomain {}
// SAFETY: as above; nothing behind the pointer is written here.
unsafe impl Sync for ProtectionDomain {}

impl ProtectionDomain {
    /// A new domain.
    pub(crate) fn alloc(device: Device) -> Result<Arc<Self>, CallError> {
        // SAFETY: a kept device is open.
        let domain = non_null("ibv_alloc_pd", unsafe { ibv_alloc_pd(device.context().as_ptr()) })?;
        Ok(Arc::new(Self { domain, device }))
    }

    /// The device it belongs to.
    pub(crate) const fn device(&self) -> Device {
        self.device
    }

    pub(super) const fn as_ptr(&self) -> *mut ibv_pd {
        self.domain.as_ptr()
    }
}

impl Drop for ProtectionDomain {
    fn drop(&mut self) {
        // SAFETY: made by `ibv_alloc_pd` and freed once; what stands on it holds it. An error leaves nothing to do.
        unsafe { ibv_dealloc_pd(self.domain.as_ptr()) };
    }
}

impl fmt::Debug for ProtectionDomain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProtectionDomain").field("device", &self.device).finish_non_exhaustive()
    }
}

/// What devices may do with memory. All may read locally.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Rights {
    /// The own device may write: receives, and what RDMA Read fetches.
    pub(crate) local_write: bool,
    /// The peer may read.
    pub(crate) remote_read: bool,
    /// The peer may write. The own device then may too, as C demands.
    pub(crate) remote_write: bool,
    /// Windows may be bound to it.
    pub(crate) bind: bool,
}

impl Rights {
    pub(super) fn flags(self) -> u32 {
        let flag = |on: bool, flag: ibv_access_flags| if on { flag.0 } else { 0 };
        flag(self.local_write || self.remote_write, ibv_access_flags::IBV_ACCESS_LOCAL_WRITE)
            | self.remote_flags()
            | flag(self.bind, ibv_access_flags::IBV_ACCESS_MW_BIND)
    }

    /// Those of a window, which only has rights of the peer.
    pub(super) fn remote_flags(self) -> u32 {
        let flag = |on: bool, flag: ibv_access_flags| if on { flag.0 } else { 0 };
        flag(self.remote_read, ibv_access_flags::IBV_ACCESS_REMOTE_READ)
            | flag(self.remote_write, ibv_access_flags::IBV_ACCESS_REMOTE_WRITE)
    }
}

/// A buffer that a device knows, or a part of it. Its addresses on the device are those in this process.
pub(crate) struct MemoryRegion {
    region: NonNull<ibv_mr>,
    lkey: u32,
    rkey: u32,
    /// Where it begins in the buffer.
    offset: u32,
    len: u32,
    /// Given up only after the device has forgotten the memory.
    buffer: ManuallyDrop<Buffer>,
    _domain: Arc<ProtectionDomain>,
}

// SAFETY: the structure of C is only read after it was made, and deregistered once, by whoever has the last handle.
unsafe impl Send for MemoryRegion {}
// SAFETY: as above.
unsafe impl Sync for MemoryRegion {}

impl MemoryRegion {
    /// Tells the device about all of `buffer`, and pins its pages.
    pub(crate) fn register(
        domain: &Arc<ProtectionDomain>,
        buffer: &Buffer,
        rights: Rights,
    ) -> Result<Self, CallError> {
        Self::register_part(domain, buffer, (0, buffer.len()), rights)
    }

    /// Tells the device about the bytes of `buffer` from an offset on, so many, and about no others.
    pub(crate) fn register_part(
        domain: &Arc<ProtectionDomain>,
        buffer: &Buffer,
        (offset, len): (u32, u32),
        rights: Rights,
    ) -> Result<Self, CallError> {
        if offset.checked_add(len).is_none_or(|end| end > buffer.len()) {
            return Err(CallError::new("ibv_reg_mr", libc::EINVAL));
        }
        // SAFETY: it is not behind the end of the buffer.
        let start = unsafe { buffer.start().add(offset as usize) };
        // Order on the bus does not matter: bytes are looked at only after a completion that says they are there.
        let flags = rights.flags() | ibv_access_flags::IBV_ACCESS_RELAXED_ORDERING.0;
        // SAFETY: domain and memory exist, and are held by the region until it is deregistered.
        let region = unsafe {
            ibv_reg_mr_iova2(
                domain.as_ptr(),
                start.as_ptr().cast(),
                len as usize,
                start.addr().get() as u64,
                flags,
            )
        };
        let region = non_null("ibv_reg_mr", region)?;
        // SAFETY: it was just made; the keys never change.
        let (lkey, rkey) = unsafe { ((*region.as_ptr()).lkey, (*region.as_ptr()).rkey) };
        let buffer = ManuallyDrop::new(buffer.clone());
        Ok(Self { region, lkey, rkey, offset, len, buffer, _domain: Arc::clone(domain) })
    }

    /// The key of the own device.
    pub(crate) const fn lkey(&self) -> u32 {
        self.lkey
    }

    /// The key of peers.
    pub(crate) const fn rkey(&self) -> u32 {
        self.rkey
    }

    /// Where it begins, in the numbering of the device.
    pub(crate) fn addr(&self) -> u64 {
        self.buffer.start().addr().get() as u64 + u64::from(self.offset)
    }

    /// Its length in bytes.
    pub(crate) const fn len(&self) -> u32 {
        self.len
    }

    /// The buffer that it is of.
    pub(crate) fn buffer(&self) -> &Buffer {
        &self.buffer
    }

    pub(super) const fn as_ptr(&self) -> *mut ibv_mr {
        self.region.as_ptr()
    }

    /// Where `len` bytes from `offset` on are; `None` if they are not inside.
    pub(super) fn range(&self, offset: u64, len: u64) -> Option<u64> {
        let end = offset.checked_add(len)?;
        (end <= u64::from(self.len())).then(|| self.addr() + offset)
    }
}

impl Drop for MemoryRegion {
    fn drop(&mut self) {
        // SAFETY: made by `ibv_reg_mr_iova2` and deregistered once; nobody has it any more.
        let returned = unsafe { ibv_dereg_mr(self.region.as_ptr()) };
        if returned == 0 {
            // SAFETY: dropped once, here; nothing uses it afterwards.
            unsafe { ManuallyDrop::drop(&mut self.buffer) };
        }
        // If the device did not forget the memory it may still write there, so that is never given to anyone else.
    }
}

impl fmt::Debug for MemoryRegion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MemoryRegion({:?}, key 0x{:08x})", *self.buffer, self.rkey)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peers_writing_implies_the_own() {
        let write = Rights { remote_write: true, ..Rights::default() };
        assert_eq!((write.flags(), write.remote_flags()), (0b11, 0b10));
        let all = Rights { local_write: true, remote_read: true, remote_write: true, bind: true };
        assert_eq!((all.flags(), all.remote_flags()), (0b1_0111, 0b0110));
        assert_eq!(Rights::default().flags(), 0);
    }
}
