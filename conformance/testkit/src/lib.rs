//! What tests, benchmarks, swarms and fuzz targets of several packages share. These packages depend on this crate for development only.
//!
//! | module | what it is |
//! |---|---|
//! | [`Chance`] | numbers from a seed |
//! | [`every_seed`] | a test that runs many seeds, or one with all of its steps |
//! | [`content`], [`steps`], [`folder`] | contents of files, and a folder of a test's own |
//! | [`law!`], [`Breach`] | a law is demanded, and broken |
//! | [`swarm`] | what swarms have in common: seeds, notes, summaries, a run to its end, a simulated stream, simulated memory |
//! | [`host`] | a simulated host: processes that are killed, and sockets that carry packets |
//! | [`relay`] | models of a client and a server around a relay of `smbd-smb2`, in both directions |
//! | [`client`] | what is around a client of `smbd-smb2`: a small server, memory, a world that carries messages |
//! | [`broker`] | a broker with owners and clients that do what they like, and the model that demands its laws |
//! | [`script`] | a broker that does what a test says, at the other end of an owner's sockets |
//! | [`samples`] | messages of SMB2, one or more of each kind |
//! | [`scenes`] | scenes of benchmarks: a client and a server over two devices |
//! | [`slab`] | what the devices of benchmarks have: memory for messages, and completions |
//! | [`crowd`] | many connections of one server, some of them busy, and the bytes that each holds |
//! | [`tester`] | the user of tests, a server that knows only this user, and a client of it |
//! | [`terminal`] | a terminal of a test's own |

#[cfg(feature = "broker")]
pub mod broker;
mod chance;
#[cfg(feature = "client")]
pub mod client;
mod contents;
#[cfg(feature = "crowd")]
pub mod crowd;
#[cfg(feature = "host")]
pub mod host;
mod law;
#[cfg(feature = "relay")]
pub mod relay;
#[cfg(feature = "samples")]
pub mod samples;
#[cfg(feature = "scenes")]
pub mod scenes;
#[cfg(feature = "script")]
pub mod script;
mod seeds;
#[cfg(feature = "slab")]
pub mod slab;
#[cfg(feature = "swarm")]
pub mod swarm;
#[cfg(feature = "terminal")]
pub mod terminal;
#[cfg(feature = "tester")]
pub mod tester;

pub use chance::Chance;
pub use contents::{content, folder, steps};
pub use law::Breach;
pub use seeds::every_seed;
