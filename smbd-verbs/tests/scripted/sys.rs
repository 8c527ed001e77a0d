//! The structures of both libraries: the declarations of smbd-verbs.

#[path = "../../src/ffi/sys/declared/cm.rs"]
mod cm;
#[path = "../../src/ffi/sys/declared/constants.rs"]
mod constants;
#[path = "../../src/ffi/sys/declared/verbs.rs"]
mod verbs;

pub(crate) use cm::*;
pub(crate) use constants::*;
pub(crate) use verbs::*;
