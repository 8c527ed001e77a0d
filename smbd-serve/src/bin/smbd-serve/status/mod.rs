//! `smbd-serve status`: what the running server tells, and how it is shown.

mod snapshot;
mod table;

pub(crate) use snapshot::Snapshot;
pub(crate) use table::table;
