//! A load, and the counters of its queues during the measurement.

use smbd_core::backend::{BufferLookup, Handler};
use smbd_core::endpoint::EndpointEvent;
use smbd_core::{Endpoint, OpId, RegId};
use smbd_tools::load::Load;
use smbd_verbs::{Buffer, LinkType, QueueCounters, VerbsConnection};

/// The upper layer of one connection.
#[derive(Debug)]
pub(crate) struct Measured {
    pub(crate) load: Load<Buffer>,
    /// Device and kind of link.
    pub(crate) device: Option<(String, LinkType)>,
    /// What the queues had done when measuring began, and with the last measured completion.
    before: Option<QueueCounters>,
    after: QueueCounters,
}

impl Measured {
    pub(crate) fn new(load: Load<Buffer>) -> Self {
        Self { load, device: None, before: None, after: QueueCounters::default() }
    }

    /// What the queues did while it was measured.
    pub(crate) fn counters(&self) -> QueueCounters {
        let Some(before) = self.before else { return QueueCounters::default() };
        let after = self.after;
        QueueCounters {
            send_posts: after.send_posts - before.send_posts,
            recv_posts: after.recv_posts - before.recv_posts,
            sends: after.sends - before.sends,
            recvs: after.recvs - before.recvs,
            polls: after.polls - before.polls,
            empty_polls: after.empty_polls - before.empty_polls,
            completions_send: after.completions_send - before.completions_send,
            completions_recv: after.completions_recv - before.completions_recv,
        }
    }
}

impl BufferLookup<Buffer> for Measured {
    fn operation(&self, op: OpId) -> Option<&Buffer> {
        self.load.operation(op)
    }

    fn registration(&self, id: RegId) -> Option<&Buffer> {
        self.load.registration(id)
    }
}

impl Handler<VerbsConnection, Endpoint> for Measured {
    fn event(&mut self, endpoint: &mut Endpoint, backend: &mut VerbsConnection, event: EndpointEvent) {
        if let (EndpointEvent::Established(_), Some(device), Some(link)) =
            (&event, backend.device(), backend.link_type())
        {
            self.device = Some((device.name.clone(), link));
        }
        let had = self.load.measured();
        self.load.event(endpoint, backend, event);
        // The last look before the first measured completion is where measuring begins.
        if self.load.measured() > had {
            self.after = backend.counters();
            self.before.get_or_insert(self.after);
        } else if self.load.is_warming_up(endpoint.now()) {
            self.before = Some(backend.counters());
        }
    }
}
