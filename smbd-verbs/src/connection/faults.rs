//! Injected faults, and devices treated as others, for tests of the users of a connection.

use std::collections::VecDeque;
use std::sync::{Arc, Weak};

use smbd_core::{BufferDescriptorV1, Token};

use super::VerbsConnection;
use crate::Error;
use crate::ffi::MemoryRegion;

/// Sinks that are remembered.
const READ_SINKS_MAX: usize = 256;

/// What a peer is told that may write what an RDMA Read brings. With feature `faults`.
#[derive(Clone, Debug)]
pub struct ReadSink {
    /// Where it may write.
    pub descriptor: BufferDescriptorV1,
    region: Weak<MemoryRegion>,
}

impl ReadSink {
    /// Whether the device still knows it.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.region.strong_count() > 0
    }
}

/// Sinks of RDMA Reads, the last ones.
pub(super) struct ReadSinks {
    /// Also if the device does not need them.
    pub(super) are_wanted: bool,
    last: VecDeque<ReadSink>,
}

impl ReadSinks {
    pub(super) const fn new() -> Self {
        Self { are_wanted: false, last: VecDeque::new() }
    }

    pub(super) fn note(&mut self, region: &Arc<MemoryRegion>) {
        if self.last.len() >= READ_SINKS_MAX {
            self.last.pop_front();
        }
        let (offset, token, length) = (region.addr(), Token(region.rkey()), region.len());
        let descriptor = BufferDescriptorV1 { offset, token, length };
        self.last.push_back(ReadSink { descriptor, region: Arc::downgrade(region) });
    }
}

impl VerbsConnection {
    /// Puts the queue pair into the error state, as a device does after a failure: posted work is flushed, and the peer
    /// is not notified. With feature `faults`.
    ///
    /// # Errors
    /// There is no queue pair yet, or the device refuses.
    pub fn break_queue_pair(&mut self) -> Result<(), Error> {
        let open = self.open.as_ref().ok_or(Error::system("no queue pair", rustix::io::Errno::INVAL))?;
        Ok(open.qp.set_error()?)
    }

    /// Posts `accepted` more work requests, of both queues together, and refuses all later ones, as a device with full
    /// queues does. With feature `faults`.
    pub fn refuse_posts_after(&mut self, accepted: usize) {
        self.posts_max = Some(accepted);
        self.limit_posts();
    }

    /// From now on RDMA Reads are made as on a device that needs the remote write right for what they bring
    /// ([`Quirks::read_sink_is_remote`](crate::quirks::Quirks::read_sink_is_remote)). With feature `faults`.
    ///
    /// # Errors
    /// There is no queue pair yet.
    pub fn open_read_sinks(&mut self) -> Result<(), Error> {
        let open = self.open.as_mut().ok_or(Error::system("no queue pair", rustix::io::Errno::INVAL))?;
        open.regions.read_sinks.are_wanted = true;
        Ok(())
    }

    /// The last 256 that were made, in their order. With feature `faults`.
    #[must_use]
    pub fn read_sinks(&self) -> Vec<ReadSink> {
        let open = self.open.as_ref();
        open.map(|open| open.regions.read_sinks.last.iter().cloned().collect()).unwrap_or_default()
    }

    /// Holds the queue pair to that, once there is one.
    pub(super) fn limit_posts(&mut self) {
        if let Some(open) = &mut self.open
            && let Some(accepted) = self.posts_max.take()
        {
            open.qp.limit_posts(accepted);
        }
    }
}
