//! The declarations of libibverbs and librdmacm.
//!
//! With the feature `rdma-sys` they are those of that crate, which generates them from the installed headers with
//! libclang. Without it they are those of `declared`, written by hand. A test compares both with C.

#[cfg(not(feature = "rdma-sys"))]
pub(super) use declared::*;
#[cfg(feature = "rdma-sys")]
pub(super) use rdma_sys::*;

#[cfg(any(test, not(feature = "rdma-sys")))]
mod declared;

#[cfg(test)]
mod layout;
#[cfg(test)]
mod tests;
