//! Registrations of buffers for the device's own use.

use std::sync::Arc;

#[cfg(test)]
mod tests;

#[cfg(feature = "faults")]
use super::faults::ReadSinks;
use super::not_chained::NotChained;
use crate::Buffer;
use crate::ffi::{MemoryRegion, ProtectionDomain, Rights};

/// Regions beyond which those that nobody needs any more are looked for.
const SWEEP_FROM: usize = 16;

/// What the device may use without the peer: one region for each buffer, made when the buffer is first used and kept as
/// long as the upper layer keeps the buffer.
pub(super) struct Regions {
    domain: Arc<ProtectionDomain>,
    rights: Rights,
    regions: Vec<(u64, Arc<MemoryRegion>)>,
    sweep_at: usize,
    #[cfg(feature = "faults")]
    pub(super) read_sinks: ReadSinks,
}

impl Regions {
    /// With `windows`, windows can be bound to the regions.
    pub(super) const fn new(domain: Arc<ProtectionDomain>, windows: bool) -> Self {
        let rights = Rights { local_write: true, remote_read: false, remote_write: false, bind: windows };
        Self {
            domain,
            rights,
            regions: Vec::new(),
            sweep_at: SWEEP_FROM,
            #[cfg(feature = "faults")]
            read_sinks: ReadSinks::new(),
        }
    }

    pub(super) const fn domain(&self) -> &Arc<ProtectionDomain> {
        &self.domain
    }

    /// The region of `buffer`.
    pub(super) fn local(&mut self, buffer: &Buffer) -> Result<&Arc<MemoryRegion>, NotChained> {
        let place = match self.regions.binary_search_by_key(&buffer.id(), |(id, _)| *id) {
            Ok(place) => place,
            Err(_) => self.add(buffer)?,
        };
        self.regions.get(place).map(|(_, region)| region).ok_or(NotChained(libc::EINVAL))
    }

    /// A region for one RDMA Read only, of a provider whose Reads arrive as the peer's writes: of the bytes that are read, and no others.
    pub(super) fn sink(
        &mut self,
        buffer: &Buffer,
        offset: u32,
        len: u32,
    ) -> Result<Arc<MemoryRegion>, NotChained> {
        let rights = Rights { local_write: true, remote_write: true, ..Rights::default() };
        let region = MemoryRegion::register_part(&self.domain, buffer, (offset, len), rights);
        let region = Arc::new(region.map_err(|error| NotChained(error.errno()))?);
        #[cfg(feature = "faults")]
        self.read_sinks.note(&region);
        Ok(region)
    }

    fn add(&mut self, buffer: &Buffer) -> Result<usize, NotChained> {
        if self.regions.len() >= self.sweep_at {
            self.regions.retain(|(_, region)| Arc::strong_count(region) > 1 || region.buffer().handles() > 1);
            self.sweep_at = self.regions.len().saturating_mul(2).max(SWEEP_FROM);
        }
        let region = MemoryRegion::register(&self.domain, buffer, self.rights);
        let region = Arc::new(region.map_err(|error| NotChained(error.errno()))?);
        let place = self.regions.partition_point(|(id, _)| *id < buffer.id());
        self.regions.insert(place, (buffer.id(), region));
        Ok(place)
    }
}
