//! A correct backend in memory, as small as possible: two hosts, messages that take one turn, memory windows.
//!
//! Work completes as on InfiniBand and RoCE: a send or an RDMA request is complete when the peer has carried it out.

mod end;
mod net;
#[cfg(test)]
mod tests;

use alloc::format;
use alloc::rc::Rc;
use alloc::string::String;
use alloc::vec::Vec;
use core::cell::Cell;
use core::time::Duration;

pub use end::ReferenceBackend;

use super::{Capabilities, Fixture, Lab, Peer, Situation};
use crate::{Config, Limits};
use net::Net;

/// Makes reference fixtures.
#[derive(Clone, Debug)]
pub struct Reference {
    /// Registrations are memory windows, which take a place on the send queue. Otherwise they are valid at once.
    pub windows: bool,
    /// Sends can invalidate tokens.
    pub send_with_invalidate: bool,
    /// The data of an RDMA Read are there before a work request behind it is complete, and the limits say so.
    pub reads_in_order: bool,
    /// The data of a Read without signal come when there is nothing else to do. With [`reads_in_order`](Self::reads_in_order) the
    /// backend is wrong: for the kit's own tests.
    pub late_reads: bool,
    /// Tokens are valid on their own connection only. Without it the backend is wrong: for the kit's own tests.
    pub separate_domains: bool,
    /// The backend keeps its own handles to memory in use. Without it the backend is wrong: for the kit's own tests.
    pub keeps_memory: bool,
}

impl Default for Reference {
    fn default() -> Self {
        Self {
            windows: true,
            send_with_invalidate: true,
            reads_in_order: true,
            late_reads: false,
            separate_domains: true,
            keeps_memory: true,
        }
    }
}

/// Memory of the upper layer.
pub type ReferenceBuffer = Rc<[Cell<u8>]>;

/// Two connections between two hosts; the second stays unused in most situations.
#[derive(Debug)]
pub struct ReferenceFixture {
    net: Net,
}

impl Lab for Reference {
    type Fixture = ReferenceFixture;

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            refusal: true,
            two_connections: true,
            late_connected: true,
            refused: true,
            unreachable: true,
            silent: true,
            rdma: true,
            read_rights: true,
            invalidation_told: true,
            peer_close_told: true,
            patience: Duration::from_millis(200),
        }
    }

    fn fixture(&mut self, situation: Situation, config: &Config) -> Result<ReferenceFixture, String> {
        let budget = config.budget();
        let send_queue = u16::try_from(budget.send_queue);
        let send_queue = send_queue.map_err(|error| format!("send queue: {error}"))?;
        let limits = Limits {
            read_depth: config.read_depth,
            send_queue,
            rdma_len_max: 1 << 20,
            registration_requests: u16::from(self.windows),
            send_with_invalidate: self.send_with_invalidate,
            reads_in_order: self.reads_in_order,
        };
        Ok(ReferenceFixture { net: Net::new(situation, &budget, limits, self.clone()) })
    }
}

impl Fixture for ReferenceFixture {
    type Buffer = ReferenceBuffer;
    type Backend<'a> = ReferenceBackend<'a>;

    fn backend(&mut self, end: Peer) -> ReferenceBackend<'_> {
        ReferenceBackend::new(&mut self.net, end.index())
    }

    fn pass(&mut self, time: Duration) {
        self.net.pass(time);
    }

    fn refuse_after(&mut self, end: Peer, accepted: usize) {
        if let Some(end) = self.net.ends.get_mut(end.index()) {
            end.refuse_after = Some(accepted);
        }
    }
}

/// `len` zeros.
fn zeroed(len: usize) -> ReferenceBuffer {
    let cells: Vec<_> = core::iter::repeat_with(|| Cell::new(0)).take(len).collect();
    cells.into()
}

/// A range of a buffer, if it is inside.
fn range(buffer: &ReferenceBuffer, offset: u64, len: u64) -> Option<&[Cell<u8>]> {
    let start = usize::try_from(offset).ok()?;
    let end = usize::try_from(offset.checked_add(len)?).ok()?;
    buffer.get(start..end)
}
