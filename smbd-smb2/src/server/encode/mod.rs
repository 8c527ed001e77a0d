//! Information as it is on the wire (MS-FSCC 2.4, 2.5).

pub(super) mod entries;
pub(super) mod file;
pub(super) mod security;
pub(super) mod volume;
