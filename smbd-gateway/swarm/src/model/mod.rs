//! The models of a client and a server of the relay's own tests. They share nothing with it but the fields of messages.

#[path = "../../../../smbd-smb2/tests/relay/model/chance.rs"]
#[allow(dead_code, reason = "the relay's own tests use more of it")]
mod chance;
#[path = "../../../../smbd-smb2/tests/relay/model/client.rs"]
mod client;
#[path = "../../../../smbd-smb2/tests/relay/model/message.rs"]
mod message;
#[path = "../../../../smbd-smb2/tests/relay/model/pool.rs"]
mod pool;
#[path = "../../../../smbd-smb2/tests/relay/model/server.rs"]
mod server;

pub use crate::common::Breach;
pub(crate) use crate::common::law;
pub use chance::Chance;
pub use client::{CANCEL, Client, Limits, append};
pub use message::{decrypt, elements, encrypt, is_sealed, seal};
pub use pool::Pool;
pub use server::{CREDITS, FILE_LEN, Server, elements_or_none, file};
