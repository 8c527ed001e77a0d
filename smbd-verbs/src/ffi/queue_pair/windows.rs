//! The windows that a queue pair has bound.

use std::{
    ptr::NonNull,
    sync::{Arc, Weak},
};

use crate::ffi::{sys::ibv_qp, window::WindowHandle};

/// Windows to free before the queue pair. Software RoCE waits a minute for a window that is still bound when its queue
/// pair is destroyed, and then leaves the queue pair behind.
#[derive(Default)]
pub(super) struct Windows(Vec<Weak<WindowHandle>>);

impl Windows {
    /// Notes one that is bound for the first time. Those that are gone make room before more is taken.
    pub(super) fn add(&mut self, window: &Arc<WindowHandle>) {
        if self.0.len() == self.0.capacity() {
            self.0.retain(|known| known.strong_count() > 0);
        }
        self.0.push(Arc::downgrade(window));
    }

    /// Frees all that `queue` bound last.
    pub(super) fn free(&mut self, queue: NonNull<ibv_qp>) {
        for window in self.0.drain(..).filter_map(|window| window.upgrade()) {
            window.free_with(queue);
        }
    }
}
