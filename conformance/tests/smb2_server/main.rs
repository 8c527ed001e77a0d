//! `smbd_conformance::smb2::server` as whole clients see it: what Linux said when it mounted, and what no client says.

#[path = "../common/mod.rs"]
mod common;

mod hostile;
mod mount;
mod tshark;
mod walk;
