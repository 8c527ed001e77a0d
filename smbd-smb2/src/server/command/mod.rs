//! What each command does.

mod authenticate;
mod bind;
pub(super) mod cancel;
pub(super) mod close;
pub(super) mod create;
pub(super) mod directory;
pub(super) mod ioctl;
pub(super) mod lock;
pub(super) mod negotiate;
pub(super) mod notify;
pub(super) mod query;
pub(super) mod read;
pub(super) mod set;
pub(super) mod setup;
pub(super) mod tree;
pub(super) mod write;
