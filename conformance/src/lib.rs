//! Tests of SMB Direct: what any implementation of it has to do is in [`catalogue`]; [`monitor`] holds captures against
//! the rules (the program `smbd-conformance`); live tests over RDMA devices are the program `smbd-live` and
//! `conformance/lab`.

pub mod catalogue;
pub mod monitor;
pub mod profile;
pub mod smb2;
pub mod socket;
pub mod suite;
