//! SMB Direct on real RNICs: a backend of [`smbd_core`] over libibverbs and librdmacm.

mod ffi;

pub use ffi::{Buffer, CallError, DeviceAttributes, LinkType, QueueCounters};
