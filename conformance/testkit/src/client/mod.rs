//! What is around a client of `smbd-smb2`: a small server with records of its own, the caller's memory, and a world that carries messages
//! between both.

pub mod bindable;
pub mod memory;
pub mod server;
pub mod tape;
mod words;
pub mod world;
