//! Messages of smbd-smb2, read and written again by the codecs of other crates.
//!
//! A codec that understands a message writes it with the same meaning: what smbd-smb2 reads of it is what it wrote. `tests/codecs` has
//! the messages, and lists where a codec does otherwise, with the reason; `made` has messages that the codecs make of values of their
//! own, and `data` the structures that are no element. None of them has a
//! type for SMB2_RDMA_TRANSFORM.

pub mod smb2;
pub mod smb_msg;
pub mod smb_server;

/// An element as a codec writes it after reading it, or why it does not.
pub type Again = Result<Vec<u8>, String>;

/// A command, and whether it is a response.
pub type Kind = (smbd_smb2::wire::Command, bool);
