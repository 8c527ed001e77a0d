//! Registrations at no device, for tests: what a device would know.

use std::{
    cell::RefCell,
    ffi::{c_int, c_uint, c_void},
    mem,
    ptr::{self, NonNull},
    sync::Arc,
};

use super::ProtectionDomain;
use crate::ffi::{
    device::Device,
    sys::{ibv_mr, ibv_pd},
};

/// What a device knows of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Registered {
    pub(crate) domain: usize,
    pub(crate) addr: u64,
    pub(crate) len: usize,
    /// `ibv_access_flags`, without those that are only wishes.
    pub(crate) access: u32,
    pub(crate) key: u32,
}

/// `IBV_ACCESS_OPTIONAL_RANGE`.
const WISHES: u32 = 0x3FF0_0000;

// Shared: for tests.
thread_local! {
    static KNOWN: RefCell<(Vec<Registered>, u32)> = const { RefCell::new((Vec::new(), 0)) };
}

/// All that is registered by this thread.
pub(crate) fn known() -> Vec<Registered> {
    KNOWN.with_borrow(|(known, _)| known.clone())
}

/// A domain, and the number by which it is known.
pub(crate) fn domain() -> (Arc<ProtectionDomain>, usize) {
    // SAFETY: integers and pointers; all may be zero.
    let domain = NonNull::from(Box::leak(Box::new(unsafe { mem::zeroed::<ibv_pd>() })));
    (Arc::new(ProtectionDomain { domain, device: Device::none() }), domain.addr().get())
}

pub(super) unsafe fn ibv_reg_mr_iova2(
    domain: *mut ibv_pd,
    addr: *mut c_void,
    len: usize,
    iova: u64,
    access: c_uint,
) -> *mut ibv_mr {
    assert_eq!(addr.addr() as u64, iova, "addresses are those of the process");
    if len == 0 {
        return ptr::null_mut();
    }
    KNOWN.with_borrow_mut(|(known, keys)| {
        *keys += 1;
        // SAFETY: integers and pointers; all may be zero.
        let mut region = Box::new(unsafe { mem::zeroed::<ibv_mr>() });
        (region.lkey, region.rkey) = (*keys, *keys);
        let access = access & !WISHES;
        known.push(Registered { domain: domain.addr(), addr: iova, len, access, key: *keys });
        Box::into_raw(region)
    })
}

pub(super) unsafe fn ibv_dereg_mr(region: *mut ibv_mr) -> c_int {
    // SAFETY: it was made above, and is given back once.
    let region = unsafe { Box::from_raw(region) };
    KNOWN.with_borrow_mut(|(known, _)| known.retain(|other| other.key != region.rkey));
    0
}

pub(super) unsafe fn ibv_dealloc_pd(domain: *mut ibv_pd) -> c_int {
    // SAFETY: it was made above, and is given back once.
    drop(unsafe { Box::from_raw(domain) });
    0
}
