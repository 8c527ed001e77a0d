//! Chance, as the parts of the swarm draw it.

#[path = "../../../smbd-smb2/tests/relay/model/chance.rs"]
#[allow(dead_code, reason = "the relay's own tests use more of it")]
mod chance;

pub use chance::Chance;
