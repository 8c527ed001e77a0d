//! A server with one share.

use std::sync::Arc;

use smbd_core::{Config, Params};
use smbd_smb2::server::{Server, Share};

use crate::tester;
pub use crate::tester::NOW;

pub fn server() -> Arc<Server> {
    tester::server(|params| params.shares = vec![Share::new("data")])
}

/// As of `smbd_serve::config`.
pub fn config() -> Config {
    let params = Params {
        max_fragmented_recv_size: (1 << 20) + 4096,
        max_read_write_size: 8 << 20,
        keepalive: Params::linux_client().keepalive,
        rdma_ops: 32,
        registrations: 0,
        segments_max: 0,
        registration_slots: 0,
        ..Params::linux_server()
    };
    Config::try_from(params).expect("valid parameters")
}
