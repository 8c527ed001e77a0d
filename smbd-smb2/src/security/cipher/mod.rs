//! Authenticated encryption in place, over pieces.

mod ccm;
mod copied;
mod gcm;
mod mode;
mod stream;

pub(super) use gcm::Hash;
pub(super) use mode::{CipherKey, total};
