//! Where tests listen.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU16, Ordering};

use crate::case::Context;

/// First port used.
const FIRST: u16 = 21_000;

/// An address of this host that no test of this process has listened at: a device may still know the connections of
/// the one before.
pub(super) fn fresh(context: &Context) -> SocketAddr {
    static NEXT: AtomicU16 = AtomicU16::new(FIRST);
    SocketAddr::new(context.address, NEXT.fetch_add(1, Ordering::Relaxed))
}
