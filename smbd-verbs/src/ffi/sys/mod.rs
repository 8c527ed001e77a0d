//! The declarations of libibverbs and librdmacm.
//!
//! With the feature `rdma-sys` they are those of that crate, which makes them from the installed headers and needs a
//! libclang for it. Without it they are the ones written out in `declared`. A test holds both against C.

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
