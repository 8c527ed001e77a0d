//! What a server is set to.

use smbd_smb2::wire::{Dialect, Guid};

use super::files::Files;
use super::security::Secured;

/// What a server offers. Sizes are in bytes.
#[derive(Clone, Debug)]
pub struct Options {
    /// Dialects that it speaks; the highest that the client has too is agreed on. None: every NEGOTIATE fails.
    pub dialects: Vec<Dialect>,
    /// MaxReadSize. Linux uses a channel only for reads of 4096 bytes and more, and reads no more at once than this.
    pub max_read: u32,
    /// MaxWriteSize. As for reads.
    pub max_write: u32,
    /// MaxTransactSize: the longest answer to a query.
    pub max_transact: u32,
    /// Credits that the client has at most, 1 or more. It is granted what it asks for up to this.
    pub credits_max: u16,
    /// The name of the share, in any case.
    pub share: String,
    /// The files of the share.
    pub files: Files,
    /// ServerGuid.
    pub guid: Guid,
    /// What goes into the preauthentication hash. Nothing is derived from that, so any bytes do.
    pub salt: [u8; 32],
    /// A user who is let in in the place of guests; nobody else is then. Only in 3.1.1.
    pub secured: Option<Secured>,
}

impl Default for Options {
    /// All dialects, 1 MiB at once, 512 credits, and an empty share called `share`.
    fn default() -> Self {
        Self {
            dialects: Dialect::ALL.to_vec(),
            max_read: 1 << 20,
            max_write: 1 << 20,
            max_transact: 1 << 20,
            credits_max: 512,
            share: "share".to_owned(),
            files: Files::new(),
            guid: Guid(*b"smbd-conformance"),
            salt: [0xa5; 32],
            secured: None,
        }
    }
}
