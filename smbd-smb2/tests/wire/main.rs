//! The messages of SMB2.

mod create_contexts;
mod errors;
mod hostile;
mod known;
mod layouts;
mod places;
mod rdma_transform;
mod round_trip;

use smbd_testkit::samples;
