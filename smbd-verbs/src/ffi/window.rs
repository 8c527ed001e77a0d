//! Memory windows of type 2.

use std::{
    fmt,
    ptr::NonNull,
    sync::{Arc, Mutex},
};

use super::{
    error::{CallError, some_non_null},
    lock,
    memory::{MemoryRegion, ProtectionDomain},
    sys::{ibv_alloc_mw, ibv_dealloc_mw, ibv_mw, ibv_mw_type, ibv_qp},
};

/// The next key of a window: the low byte is the consumer's to choose.
pub(crate) const fn next_key(key: u32) -> u32 {
    (key & !0xff) | (key.wrapping_add(1) & 0xff)
}

/// A window of C, held by [`Window`] and by binds in progress.
pub(super) struct WindowHandle {
    // Shared: locked by a bind, which a registration has and a message has not.
    state: Mutex<State>,
    _domain: Arc<ProtectionDomain>,
}

struct State {
    /// `None` once freed.
    window: Option<NonNull<ibv_mw>>,
    /// A bind was chained and not handed over. Until then the key in C's structure is the one before it.
    chained: bool,
    /// The queue pair that bound it last; only told from others, never followed.
    queue: Option<NonNull<ibv_qp>>,
}

// SAFETY: calls of libibverbs on a window may be made by any thread.
unsafe impl Send for State {}

/// A window cannot be bound now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NotBindable {
    /// A bind of it was not handed over yet.
    Chained,
    /// It went with the queue pair that bound it last.
    Freed,
}

/// A window that was taken for a bind.
pub(super) struct Taken {
    /// Stays until the bind ends.
    pub(super) window: *mut ibv_mw,
    /// The queue pair has not bound it before, or others have since.
    pub(super) is_new: bool,
}

impl WindowHandle {
    /// Takes the window for a bind on `queue`.
    pub(super) fn begin_bind(&self, queue: Option<NonNull<ibv_qp>>) -> Result<Taken, NotBindable> {
        let mut state = lock(&self.state);
        let window = state.window.ok_or(NotBindable::Freed)?;
        if state.chained {
            return Err(NotBindable::Chained);
        }
        let is_new = state.queue != queue;
        state.chained = true;
        state.queue = queue;
        Ok(Taken { window: window.as_ptr(), is_new })
    }

    /// Ends what `begin_bind` began. `key` is the one that the device got, if it did.
    pub(super) fn end_bind(&self, key: Option<u32>) {
        let mut state = lock(&self.state);
        if let (Some(window), Some(key)) = (state.window, key) {
            // SAFETY: the window was not freed, and others read and write it under the same lock, or hand over a bind of
            // it, which excludes this. Some providers take the key that a later bind replaces from here.
            unsafe { (*window.as_ptr()).rkey = key };
        }
        state.chained = false;
    }

    /// Frees the window if `queue` bound it last. No bind of it may be chained there.
    pub(super) fn free_with(&self, queue: NonNull<ibv_qp>) {
        let mut state = lock(&self.state);
        if state.queue == Some(queue) && !state.chained {
            state.free();
        }
    }
}

impl State {
    fn free(&mut self) {
        if let Some(window) = self.window.take() {
            // SAFETY: made by `ibv_alloc_mw` and freed once. Binds that were handed over name it by its key; none is
            // chained, which would name it by this pointer. An error leaves nothing to do.
            unsafe { ibv_dealloc_mw(window.as_ptr()) };
        }
    }
}

impl Drop for WindowHandle {
    fn drop(&mut self) {
        lock(&self.state).free();
    }
}

/// A memory window of type 2: a key for part of a registration, made and taken back on the send queue.
///
/// The queue pair that bound it last frees it when it is destroyed: some devices cannot destroy one that has windows.
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
        let state = State { window: Some(window), chained: false, queue: None };
        let handle = WindowHandle { state: Mutex::new(state), _domain: Arc::clone(domain) };
        Ok(Self { handle: Arc::new(handle), key, bound: None })
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

    /// Notes a bind that was chained. The region before is given up: its binding was invalidated.
    pub(super) fn set_bound(&mut self, key: u32, region: &Arc<MemoryRegion>) {
        self.key = key;
        self.bound = Some(Arc::clone(region));
    }
}

impl fmt::Debug for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Window(key 0x{:08x}, {:?})", self.key, self.bound)
    }
}

#[cfg(test)]
mod tests {
    use super::next_key;

    #[test]
    fn only_the_low_byte_of_a_key_goes_on() {
        assert_eq!(next_key(0x1234_5678), 0x1234_5679);
        assert_eq!(next_key(0x1234_56ff), 0x1234_5600);
        assert_eq!(next_key(u32::MAX), 0xffff_ff00);
    }
}
