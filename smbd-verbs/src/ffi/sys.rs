//! The declarations of libibverbs and librdmacm.

#[cfg(not(docsrs))]
pub(super) use rdma_sys::*;
