//! `runtime::engine`: connections that are busy, connections that are not, and many of them.
#![cfg(feature = "std")]

mod hot;
mod many;
mod peers;
mod program;
mod threads;
mod wire;
