//! The used part of the headers of rdma-core, written by hand, in the form of `rdma-sys`: unused fields are padding,
//! enumerations are numbers. Structures that newer headers make longer are those of rdma-core 44; their size is passed
//! to the libraries.
#![allow(
    non_camel_case_types,
    non_upper_case_globals,
    dead_code,
    missing_debug_implementations,
    reason = "names of C; what fills up is not read, and a test reads more than the library"
)]

#[cfg(not(target_pointer_width = "64"))]
compile_error!(
    "the declarations written out for libibverbs are those of 64-bit machines: build with the feature `rdma-sys`"
);

mod calls;
mod cm;
mod constants;
mod inline;
mod verbs;

pub use calls::*;
pub use cm::*;
pub use constants::*;
pub use inline::*;
pub use verbs::*;
