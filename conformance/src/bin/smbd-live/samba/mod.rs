//! An unmodified Samba behind `smbd-gateway`, used by the kernel's client over SMB Direct.
//!
//! Each test starts both anew. What is behind the share can be seen from here, so contents are compared on both sides.

mod access;
mod debug_data;
mod ends;
mod errors;
mod failure;
mod folders;
mod hostile;
mod lab;
mod mapping;
mod multichannel;
mod random;
mod security;
mod serve;
mod service;
mod sizes;
mod slow;
mod traffic;
pub(crate) mod writer;

use crate::case::Case;

/// All tests with Samba.
pub(crate) fn cases() -> Vec<Case> {
    [
        sizes::CASES,
        folders::CASES,
        random::CASES,
        errors::CASES,
        slow::CASES,
        security::CASES,
        failure::CASES,
        multichannel::CASES,
        access::CASES,
        hostile::CASES,
        serve::CASES,
    ]
    .concat()
}
