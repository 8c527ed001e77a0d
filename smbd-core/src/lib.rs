//! SMB Direct as a sans-IO protocol core.
#![no_std]
extern crate alloc;
pub mod wire;
