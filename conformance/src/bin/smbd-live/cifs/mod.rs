//! smbd as acceptor of cifs, the SMB client of the Linux kernel. What differs between its releases is in
//! [`crate::linux`].
//!
//! The kernel's client has no other way in than `mount`. Tests of SMB Direct alone let a mount get as far as the first
//! SESSION_SETUP, which is left unanswered as long as a test wants the connection idle, and then answered with an error, so
//! that it ends. Those in `files` mount a share of the suite's SMB2 server and use it.

mod files;
mod keepalive;
mod kernel;
mod mounts;
mod server;
mod sharing;
mod upper;

use crate::case::Case;

pub(crate) use kernel::{Mount, Mounted};
pub(crate) use server::{Session, listen, port};

/// All tests against cifs.
pub(crate) fn cases() -> Vec<Case> {
    // The first looks for lines in the kernel's log, of which 7.3 leaves some out when there have been others before.
    [upper::CASES, mounts::CASES, keepalive::CASES, files::CASES].concat()
}
