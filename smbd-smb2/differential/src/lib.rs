//! Messages of smbd-smb2, read and written again by the codecs of other crates.
//!
//! A codec that understands a message writes it with the same meaning: what smbd-smb2 reads of it is what it wrote. `tests/codecs.rs`
//! has the messages, and lists where a codec does otherwise, with the reason.

pub mod smb2;
pub mod smb_msg;
pub mod smb_server;

/// An element as a codec writes it after reading it, or why it does not.
pub type Again = Result<Vec<u8>, String>;

/// A command, and whether it is a response.
pub type Kind = (smbd_smb2::wire::Command, bool);
