//! What tests, benchmarks, swarms and fuzz targets of several packages share. These packages depend on this crate for development only.
//!
//! | module | what it is |
//! |---|---|
//! | [`Chance`] | numbers from a seed |
//! | [`law!`], [`Breach`] | a law is demanded, and broken |
//! | [`swarm`] | what swarms have in common: seeds, notes, summaries, a run to its end, a simulated stream, simulated memory |
//! | [`host`] | a simulated host: processes that are killed, and sockets that carry packets |
//! | [`relay`] | models of a client and a server around a relay of `smbd-smb2`, in both directions |

mod chance;
#[cfg(feature = "host")]
pub mod host;
mod law;
#[cfg(feature = "relay")]
pub mod relay;
#[cfg(feature = "swarm")]
pub mod swarm;

pub use chance::Chance;
pub use law::Breach;
