//! What a device knows about memory: protection domains, registrations, windows.

use std::{
    fmt, mem,
    mem::ManuallyDrop,
    ptr::NonNull,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use super::{
    buffer::Buffer,
    device::Device,
    error::{CallError, non_null, some_non_null},
    sys::{
        ibv_access_flags, ibv_alloc_mw, ibv_alloc_pd, ibv_dealloc_mw, ibv_dealloc_pd, ibv_dereg_mr, ibv_mr,
        ibv_mw, ibv_mw_type, ibv_pd, ibv_reg_mr_iova2,
    },
};

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

/// A buffer that a device knows. Its addresses on the device are those in this process.
pub(crate) struct MemoryRegion {
    region: NonNull<ibv_mr>,
    lkey: u32,
    rkey: u32,
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
        let start = buffer.start();
        // Order on the bus does not matter: bytes are looked at only after a completion that says they are there.
        let flags = rights.flags() | ibv_access_flags::IBV_ACCESS_RELAXED_ORDERING.0;
        // SAFETY: domain and memory exist, and are held by the region until it is deregistered.
        let region = unsafe {
            ibv_reg_mr_iova2(
                domain.as_ptr(),
                start.as_ptr().cast(),
                buffer.len() as usize,
                start.addr().get() as u64,
                flags,
            )
        };
        let region = non_null("ibv_reg_mr", region)?;
        // SAFETY: it was just made; the keys never change.
        let (lkey, rkey) = unsafe { ((*region.as_ptr()).lkey, (*region.as_ptr()).rkey) };
        let buffer = ManuallyDrop::new(buffer.clone());
        Ok(Self { region, lkey, rkey, buffer, _domain: Arc::clone(domain) })
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
        self.buffer.start().addr().get() as u64
    }

    /// Its length in bytes.
    pub(crate) fn len(&self) -> u32 {
        self.buffer.len()
    }

    /// The buffer it is about.
    pub(crate) fn buffer(&self) -> &Buffer {
        &self.buffer
    }

    pub(super) const fn as_ptr(&self) -> *mut ibv_mr {
        self.region.as_ptr()
    }

    pub(super) fn start(&self) -> NonNull<u8> {
        self.buffer.start()
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

/// The next key of a window: the low byte is the consumer's to choose.
pub(crate) const fn next_key(key: u32) -> u32 {
    (key & !0xff) | (key.wrapping_add(1) & 0xff)
}

/// A window of C, held by [`Window`] and by binds in progress.
pub(super) struct WindowHandle {
    window: NonNull<ibv_mw>,
    /// A bind was chained and not handed over. Until then the key in C's structure is the one before it.
    chained: AtomicBool,
    _domain: Arc<ProtectionDomain>,
}

// SAFETY: the key in C's structure is written only by who took `chained`; nothing else there changes.
unsafe impl Send for WindowHandle {}
// SAFETY: as above.
unsafe impl Sync for WindowHandle {}

impl WindowHandle {
    /// Takes the window for a bind; `false` if another one was not handed over yet.
    pub(super) fn begin_bind(&self) -> bool {
        !self.chained.swap(true, Ordering::Acquire)
    }

    /// Ends what `begin_bind` began. `key` is the one that the device got, if it did.
    pub(super) fn end_bind(&self, key: Option<u32>) {
        if let Some(key) = key {
            // SAFETY: the window exists; whoever chained the bind writes, alone. Some providers take the key that a
            // later bind replaces from here.
            unsafe { (*self.window.as_ptr()).rkey = key };
        }
        self.chained.store(false, Ordering::Release);
    }

    pub(super) const fn as_ptr(&self) -> *mut ibv_mw {
        self.window.as_ptr()
    }
}

impl Drop for WindowHandle {
    fn drop(&mut self) {
        // SAFETY: made by `ibv_alloc_mw` and freed once; binds in progress held it. An error leaves nothing to do.
        unsafe { ibv_dealloc_mw(self.window.as_ptr()) };
    }
}

/// A memory window of type 2: a key for part of a registration, made and taken back on the send queue.
///
/// After a bind that failed or was flushed its key is uncertain, and it is of no further use.
pub(crate) struct Window {
    /// Freed before the region that it may be bound to.
    handle: Arc<WindowHandle>,
    key: u32,
    bound: Option<Arc<MemoryRegion>>,
}

impl Window {
    /// A window that is not bound.
    pub(crate) fn alloc(domain: &Arc<ProtectionDomain>) -> Result<Self, CallError> {
        // SAFETY: the domain exists, and is held by the window.
        let window = unsafe { ibv_alloc_mw(domain.as_ptr(), ibv_mw_type::IBV_MW_TYPE_2) };
        let window = some_non_null("ibv_alloc_mw", window)?;
        // SAFETY: it was just made.
        let key = unsafe { (*window.as_ptr()).rkey };
        let chained = AtomicBool::new(false);
        let handle = WindowHandle { window, chained, _domain: Arc::clone(domain) };
        Ok(Self { handle: Arc::new(handle), key, bound: None })
    }

    /// The key of the last bind, or the one it was made with.
    pub(crate) const fn rkey(&self) -> u32 {
        self.key
    }

    /// The key that the next bind gives.
    pub(crate) const fn next_key(&self) -> u32 {
        next_key(self.key)
    }

    /// Lets go of the region it was bound to: the binding was invalidated.
    pub(crate) fn unbind(&mut self) {
        self.bound = None;
    }

    pub(super) const fn handle(&self) -> &Arc<WindowHandle> {
        &self.handle
    }

    /// Notes a bind that was chained. The region before is given up: it was invalidated, or its window gets a new place.
    pub(super) fn set_bound(&mut self, key: u32, region: &Arc<MemoryRegion>) {
        self.key = key;
        drop(mem::replace(&mut self.bound, Some(Arc::clone(region))));
    }
}

impl fmt::Debug for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Window(key 0x{:08x}, {:?})", self.key, self.bound)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_low_byte_of_a_key_goes_on() {
        assert_eq!(next_key(0x1234_5678), 0x1234_5679);
        assert_eq!(next_key(0x1234_56ff), 0x1234_5600);
        assert_eq!(next_key(u32::MAX), 0xffff_ff00);
    }

    #[test]
    fn the_peers_writing_implies_the_own() {
        let write = Rights { remote_write: true, ..Rights::default() };
        assert_eq!((write.flags(), write.remote_flags()), (0b11, 0b10));
        let all = Rights { local_write: true, remote_read: true, remote_write: true, bind: true };
        assert_eq!((all.flags(), all.remote_flags()), (0b1_0111, 0b0110));
        assert_eq!(Rights::default().flags(), 0);
    }
}
