//! Inline functions of `infiniband/verbs.h`, which call the function table in the device's context.
//!
//! libibverbs fills every entry of that table. If one is empty nevertheless, C would call a null pointer; here the call
//! is refused.

use std::ffi::{c_int, c_uint};

use super::{ibv_cq, ibv_mw, ibv_pd, ibv_qp, ibv_recv_wr, ibv_send_wr, ibv_wc};

/// `None` if the device has no windows.
///
/// # Safety
/// `pd` exists and its device is open.
pub unsafe fn ibv_alloc_mw(pd: *mut ibv_pd, kind: c_uint) -> Option<*mut ibv_mw> {
    // SAFETY: the caller's word; the table is that of the device.
    unsafe { (*(*pd).context).ops.alloc_mw.map(|alloc| alloc(pd, kind)) }
}

/// # Safety
/// `mw` exists and its device is open.
pub unsafe fn ibv_dealloc_mw(mw: *mut ibv_mw) -> c_int {
    // SAFETY: the caller's word; the table is that of the device.
    unsafe { (*(*mw).context).ops.dealloc_mw.map_or(libc::EOPNOTSUPP, |dealloc| dealloc(mw)) }
}

/// # Safety
/// `cq` exists and its device is open.
#[inline]
pub unsafe fn ibv_req_notify_cq(cq: *mut ibv_cq, solicited_only: c_int) -> c_int {
    // SAFETY: the caller's word; the table is that of the device.
    unsafe {
        (*(*cq).context).ops.req_notify_cq.map_or(libc::EOPNOTSUPP, |notify| notify(cq, solicited_only))
    }
}

/// # Safety
/// `cq` exists and its device is open; there is room for `entries` at `wc`.
#[inline]
pub unsafe fn ibv_poll_cq(cq: *mut ibv_cq, entries: c_int, wc: *mut ibv_wc) -> c_int {
    // SAFETY: the caller's word; the table is that of the device.
    unsafe { (*(*cq).context).ops.poll_cq.map_or(-1, |poll| poll(cq, entries, wc)) }
}

/// # Safety
/// `qp` exists and its device is open; `wr` is a list of work requests, and `bad` can be written.
#[inline]
pub unsafe fn ibv_post_send(qp: *mut ibv_qp, wr: *mut ibv_send_wr, bad: *mut *mut ibv_send_wr) -> c_int {
    // SAFETY: the caller's word; the table is that of the device.
    unsafe {
        let Some(post) = (*(*qp).context).ops.post_send else {
            *bad = wr;
            return libc::EOPNOTSUPP;
        };
        post(qp, wr, bad)
    }
}

/// # Safety
/// As of [`ibv_post_send`].
#[inline]
pub unsafe fn ibv_post_recv(qp: *mut ibv_qp, wr: *mut ibv_recv_wr, bad: *mut *mut ibv_recv_wr) -> c_int {
    // SAFETY: the caller's word; the table is that of the device.
    unsafe {
        let Some(post) = (*(*qp).context).ops.post_recv else {
            *bad = wr;
            return libc::EOPNOTSUPP;
        };
        post(qp, wr, bad)
    }
}
