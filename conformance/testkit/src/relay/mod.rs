//! Models of a client and a server around a relay of `smbd-smb2`. They share nothing with it but the fields of messages.

mod client;
mod message;
mod pool;
pub mod reverse;
mod server;
mod window;

pub use client::{CANCEL, Client, Limits, append};
pub use message::{cancel, decrypt, elements, encrypt, is_sealed, seal};
pub use pool::Pool;
pub use server::{FILE_LEN, Server, elements_or_none, file};
pub use window::{CREDITS, Window};
