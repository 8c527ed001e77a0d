//! What C calls. All of it is in the header, and in the manual.
//!
//! Each call checks what it can: null pointers, lengths, file descriptors, texts. That a pointer which is not null has as much memory behind
//! it as its type or its length says is for the caller to see to, as with any function of C.
#![expect(unsafe_code, reason = "called by C with pointers; each block has its own reason")]
#![allow(clippy::missing_safety_doc, reason = "one rule for all pointers, above")]

mod connection;
mod owner;
mod pointers;
mod slots;

pub use connection::*;
pub use owner::*;
pub use slots::*;
