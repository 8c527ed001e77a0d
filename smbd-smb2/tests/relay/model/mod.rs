//! Models of a client, a server, RDMA and TCP around a relay. They share nothing with it but the fields of messages.

mod chance;
#[allow(dead_code, reason = "smbd-gateway/swarm uses all of it")]
mod client;
mod driver;
mod heap;
mod message;
#[allow(dead_code, reason = "smbd-gateway/swarm uses all of it")]
mod pool;
#[allow(dead_code, reason = "smbd-gateway/swarm uses all of it")]
mod server;
mod summary;
mod world;

pub use chance::Chance;
pub use client::{CANCEL, append};
pub use message::{decrypt, elements, encrypt, is_sealed, seal};
pub use server::{CREDITS, FILE_LEN, elements_or_none, file};
pub use summary::Summary;
pub use world::World;

/// A law that was broken: its name, and how.
pub type Breach = String;

/// Demands a law.
macro_rules! law {
    ($name:literal, $holds:expr, $($how:tt)*) => {
        if !$holds {
            return Err(format!("{}: {}", $name, format!($($how)*)));
        }
    };
}
pub(crate) use law;
