//! An array of linked work requests that never moves in memory. A chain is a part of it.

use std::{mem, ptr::NonNull};

use crate::ffi::sys::{ibv_recv_wr, ibv_send_wr, ibv_sge};

/// Elements of each work request: what lies in the slab, and memory of the upper layer.
const ELEMENTS: usize = 2;

/// A work request of C that can be linked.
pub(super) trait WorkRequest {
    /// Sets `next`.
    fn link(&mut self, next: *mut Self);
    /// Sets where the elements are.
    fn set_elements(&mut self, elements: *mut ibv_sge);
}

macro_rules! work_request {
    ($name:ident) => {
        impl WorkRequest for $name {
            #[inline]
            fn link(&mut self, next: *mut Self) {
                self.next = next;
            }

            fn set_elements(&mut self, elements: *mut ibv_sge) {
                self.sg_list = elements;
            }
        }
    };
}
work_request!(ibv_send_wr);
work_request!(ibv_recv_wr);

/// The row. Each request is linked to the next and has its own elements, so chaining one writes only what differs.
pub(super) struct WorkList<W: WorkRequest> {
    requests: NonNull<W>,
    elements: NonNull<ibv_sge>,
    capacity: usize,
    /// How many from the beginning on are chained.
    len: usize,
}

// SAFETY: the memory belongs to this value alone, and no thread is special to it. Requests point into it or to memory
// that their queue pair keeps.
unsafe impl<W: WorkRequest> Send for WorkList<W> {}

impl<W: WorkRequest> WorkList<W> {
    /// Room for `capacity` requests.
    pub(super) fn new(capacity: usize) -> Self {
        let zeroed = |_| {
            // SAFETY: work requests are integers, pointers and unions of them; all may be zero.
            unsafe { mem::zeroed::<W>() }
        };
        let requests: Box<[W]> = (0..capacity).map(zeroed).collect();
        let elements = vec![ibv_sge { addr: 0, length: 0, lkey: 0 }; capacity * ELEMENTS].into_boxed_slice();
        // The row is reached through these pointers alone until it is freed, as C reaches it through its own.
        let requests = NonNull::from(Box::leak(requests)).cast::<W>();
        let elements = NonNull::from(Box::leak(elements)).cast::<ibv_sge>();
        let list = Self { requests, elements, capacity, len: 0 };
        for index in 0..capacity {
            // SAFETY: both rows have that many places; nothing else uses them yet.
            unsafe {
                let request = list.requests.add(index).as_mut();
                request.set_elements(list.elements.add(index * ELEMENTS).as_ptr());
                if index + 1 < capacity {
                    request.link(list.requests.add(index + 1).as_ptr());
                }
            }
        }
        list
    }

    /// How many are chained.
    #[inline]
    pub(super) const fn len(&self) -> usize {
        self.len
    }

    /// Chains one more and lets `fill` write it; `false` if there is no room.
    #[inline]
    pub(super) fn push(&mut self, fill: impl FnOnce(&mut W, &mut [ibv_sge; ELEMENTS])) -> bool {
        if self.len == self.capacity {
            return false;
        }
        // SAFETY: the place is inside both rows, and C does not use a chain before or after it was handed over.
        unsafe {
            let elements = self.elements.add(self.len * ELEMENTS).cast::<[ibv_sge; ELEMENTS]>();
            fill(self.requests.add(self.len).as_mut(), &mut *elements.as_ptr());
        }
        self.len += 1;
        true
    }

    /// A chained request.
    #[inline]
    pub(super) fn get(&self, index: usize) -> Option<&W> {
        // SAFETY: a chained place is inside the row, and was written.
        (index < self.len).then(|| unsafe { self.requests.add(index).as_ref() })
    }

    /// Has `post` hand over `count` requests from `from` on. It gets the first and where to put the refused one, and
    /// returns an error number. Returns how many were accepted, and the error number if not all.
    #[inline]
    pub(super) fn hand_over(
        &mut self,
        from: usize,
        count: usize,
        post: impl FnOnce(*mut W, *mut *mut W) -> i32,
    ) -> Result<(), (usize, i32)> {
        assert!(count > 0 && from + count <= self.len, "only what is chained is handed over");
        let mut refused = std::ptr::null_mut();
        // SAFETY: both places are inside the row (the assertion; callers cut a chain in parts).
        let (first, last) = unsafe { (self.requests.add(from), self.requests.add(from + count - 1)) };
        // SAFETY: as above; nothing else uses the row during the call.
        unsafe { (*last.as_ptr()).link(std::ptr::null_mut()) };
        let returned = post(first.as_ptr(), &raw mut refused);
        if from + count < self.capacity {
            // SAFETY: as above; the place behind the last is inside the row too.
            unsafe { (*last.as_ptr()).link(self.requests.add(from + count).as_ptr()) };
        }
        if returned == 0 && refused.is_null() {
            return Ok(());
        }
        // No call accepted everything and still failed: without a refused request nothing is certain, so none counts
        // as accepted. A provider that names a refused request and returns 0 has a full queue.
        let accepted = match refused.addr().checked_sub(first.addr().get()) {
            Some(bytes) if bytes / size_of::<W>() < count => bytes / size_of::<W>(),
            _ => 0,
        };
        Err((accepted, if returned == 0 { libc::ENOMEM } else { returned.saturating_abs() }))
    }

    /// Forgets the chain.
    #[inline]
    pub(super) const fn clear(&mut self) {
        self.len = 0;
    }
}

impl<W: WorkRequest> Drop for WorkList<W> {
    fn drop(&mut self) {
        let requests = NonNull::slice_from_raw_parts(self.requests, self.capacity);
        let elements = NonNull::slice_from_raw_parts(self.elements, self.capacity * ELEMENTS);
        // SAFETY: both came from boxes of these lengths, leaked by `new`; no call of C is using them.
        unsafe {
            drop(Box::from_raw(requests.as_ptr()));
            drop(Box::from_raw(elements.as_ptr()));
        }
    }
}

#[cfg(test)]
mod tests;
