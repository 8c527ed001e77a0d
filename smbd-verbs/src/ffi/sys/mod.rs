//! The declarations of libibverbs and librdmacm.
//!
//! They are those of `rdma-sys`, which makes them from the installed headers. docs.rs cannot build it, so there they are
//! written out by hand; nothing is ever linked there. A test holds both against C.

#[cfg(not(docsrs))]
pub(super) use rdma_sys::*;

#[cfg(docsrs)]
mod calls;
#[cfg(docsrs)]
pub(super) use calls::*;
#[cfg(any(docsrs, test))]
pub(super) mod declared;
#[cfg(docsrs)]
pub(super) use declared::*;

#[cfg(all(test, not(docsrs)))]
mod layout;
