//! SMB2 as an upper layer of what is tested.

pub mod server;
