//! What is served: a share with one file, in memory.

use std::sync::Arc;

use smbd_core::{Config, Params};
use smbd_smb2::server::{Files, Memory, Server, Share};

use crate::tester;
pub use crate::tester::NOW;

/// By which the files know their only client.
pub const NUMBER: u64 = 1;

pub fn server() -> Arc<Server> {
    tester::server(|params| params.shares = vec![Share::new("data")])
}

pub fn files() -> Files<Memory> {
    Files::new(vec![Memory::new("data", NOW)])
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
