//! The only unsafe code: libibverbs and librdmacm behind a safe interface.
//!
//! Each wrapper owns its C object, and keeps the objects that it depends on. So callers may drop wrappers in any order.
//! Memory is freed only after it is deregistered from the device.
#![expect(unsafe_code, reason = "libibverbs and librdmacm are C; each block has its own reason")]

mod addr;
mod buffer;
mod cm;
mod cm_event;
mod consts;
mod device;
mod error;
mod extended;
mod interfaces;
mod memory;
mod queue_pair;
mod sys;
mod window;

pub use buffer::Buffer;
pub(crate) use cm::{CmId, ConnParams, EventChannel};
pub(crate) use cm_event::{CmEvent, CmEventKind, PrivateData};
pub(crate) use device::Device;
pub use device::{DeviceAttributes, LinkType};
pub use error::CallError;
pub(crate) use interfaces::addresses as interface_addresses;
#[cfg(test)]
pub(crate) use memory::fake as fake_memory;
pub(crate) use memory::{MemoryRegion, ProtectionDomain, Rights};
pub use queue_pair::QueueCounters;
#[cfg(test)]
pub(crate) use queue_pair::queue_tables;
pub(crate) use queue_pair::{
    Body, ChainError, Completion, Granted, Message, PostError, QueuePair, SendFlags, Sizes, slab_bytes,
};

pub(crate) use window::Window;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks; a panic of another holder changes nothing here, because no lock is held over code that can leave a mess.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes reads of `descriptor` return `EAGAIN` where they would wait.
fn set_nonblocking(descriptor: libc::c_int) -> Result<(), CallError> {
    // SAFETY: both commands take and return numbers; a wrong descriptor is an error.
    let flags = unsafe { libc::fcntl(descriptor, libc::F_GETFL) };
    if flags < 0 {
        return Err(CallError::last("fcntl"));
    }
    // SAFETY: as above.
    error::ok("fcntl", unsafe { libc::fcntl(descriptor, libc::F_SETFL, flags | libc::O_NONBLOCK) })
}
