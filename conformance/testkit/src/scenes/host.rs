//! What is served: a share with one file, in memory.

use std::sync::Arc;

use smbd_core::{Config, Params};
use smbd_smb2::security::{Credentials, NtHash, capital};
use smbd_smb2::server::{self, Files, Memory, Server, Share};
use smbd_smb2::wire::Guid;

/// A FILETIME of 2026.
pub const NOW: u64 = 0x01dc_5000_0000_0000;
/// By which the files know their only client.
pub const NUMBER: u64 = 1;
const PASSWORD: &str = "correct horse";

pub fn user() -> Credentials {
    Credentials::User { user: "tester".into(), domain: String::new(), hash: NtHash::of_password(PASSWORD) }
}

pub fn server() -> Arc<Server> {
    let mut params = server::Params::new(Guid([0x51; 16]), "SERVER");
    params.shares = vec![Share::new("data")];
    let accounts = |user: &str, _: &str| (capital(user) == "TESTER").then(|| NtHash::of_password(PASSWORD));
    Arc::new(Server::new(params, accounts).expect("valid parameters"))
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
