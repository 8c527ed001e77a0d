//! `engine`: connections that are busy, connections that are not, and many of them.

mod hot;
mod many;
mod peers;
mod program;
mod threads;
mod wire;
