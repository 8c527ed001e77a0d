//! How a test ends if all was well.

use super::debug_data;
use super::service::Service;
use crate::case::Outcome;
use crate::cifs::Mounted;
use crate::expect::{holds, same};

/// Demands that one connection was enough for all of it, and nothing is left of it; how it was.
pub(super) fn ends_well(service: &Service, mounted: Mounted) -> Outcome {
    debug_data::no_region_is_left()?;
    let (connected, mark) = (service.gateway().count(0, &["client connected "]), service.gateway().mark());
    mounted.unmount()?;
    let ended = service.ended(mark)?;
    let before = service.gateway().count(0, &["client ended "]);
    same("connections that have ended", before, connected)?;
    holds(ended.text().contains("the client has left"), || format!("it ended otherwise: {}", ended.text()))?;
    let bytes = |name| ended.number(name);
    Ok(format!("{} bytes by RDMA Read, {} by RDMA Write", bytes("rdma_in")?, bytes("rdma_out")?))
}
