//! SMB Direct on real RNICs: a backend of [`smbd_core`] over libibverbs and librdmacm.

mod ffi;
