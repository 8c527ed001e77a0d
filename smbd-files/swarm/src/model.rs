//! What the parts of the swarm have in common: chance, and how a law is broken.

#[path = "../../../smbd-smb2/tests/relay/model/chance.rs"]
#[allow(dead_code, reason = "the relay's own tests use more of it")]
mod chance;

pub use chance::Chance;

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
