//! Work requests that never reach the device.

use crate::ffi::ChainError;

/// The error number of a request that was not chained.
#[derive(Clone, Copy, Debug)]
pub(super) struct NotChained(pub(super) i32);

impl From<ChainError> for NotChained {
    /// A request that does not fit the queue pair's memory is the caller's fault; which, is told when it is logged.
    fn from(_: ChainError) -> Self {
        Self(libc::EINVAL)
    }
}
