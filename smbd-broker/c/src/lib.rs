//! libsmbd-broker: an owner of `smbd-broker` for servers in C.
//!
//! The interface is `include/smbd-broker.h`, described in `man/libsmbd-broker.3`. Handles are file descriptors that can be waited for;
//! calls return a negative `errno` when they fail. What is shaped like the kernel's sockets of SMB Direct has its names.
//!
//! | module | what it is |
//! |---|---|
//! | [`api`] | what C calls: arguments become references, slices and texts |
//! | [`types`] | the structures of the header |
//! | `table` | which file descriptor is what: a wrong one is an error, not a wrong pointer |
//! | `owner`, `connection` | the calls themselves, over `smbd_broker::blocking` |
//! | `memory` | slots where the process sees them, and whose they are |
//! | `failure` | errors as numbers, and their texts |
//!
//! Unsafe code is in [`api`], which believes what C says of its pointers. Nothing else has any.

pub mod api;
mod connection;
mod failure;
mod memory;
mod owner;
mod table;
pub mod types;
