//! What is used of the headers of rdma-core, by hand, in the shape of `rdma-sys`: fields that nobody looks at are filled
//! up, enumerations are numbers.
#![allow(
    non_camel_case_types,
    non_upper_case_globals,
    dead_code,
    missing_debug_implementations,
    reason = "names of C; the layout test reads offsets, and docs.rs nothing"
)]

mod cm;
mod constants;
mod verbs;

pub use cm::*;
pub use constants::*;
pub use verbs::*;
