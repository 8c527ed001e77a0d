//! A host without a connection: its device driven from outside, step by step, as a [`Backend`](smbd_core::backend).

use std::collections::VecDeque;

use smbd_core::error::WorkError;
use smbd_core::{Access, BufferDescriptorV1, Input, RecvId, RegId, WrId};

use super::local::Stage;
use super::{Host, Upper};
use crate::fault::Faults;
use crate::memory::Range;
use crate::nic::SendWork;
use crate::probe::Probe;
use crate::world::Fabric;

/// What such a host keeps besides.
#[derive(Debug, Default)]
pub(super) struct Bare {
    out: VecDeque<Report>,
    /// The initiator's request has arrived.
    pub(super) requested: bool,
}

#[derive(Debug)]
enum Report {
    Input(Input<'static>),
    /// Its segments are in the registration.
    Registered(RegId, bool),
}

impl Bare {
    pub(super) fn push(&mut self, input: Input<'static>) {
        self.out.push_back(Report::Input(input));
    }
}

/// A step of a backend, its memory resolved.
pub(crate) enum BareStep<'a> {
    Connect,
    Accept,
    Disconnect,
    PostRecv(RecvId, u32),
    Post(SendWork, bool),
    Register { id: RegId, range: Range, access: Access, segments_max: u16 },
    Deregister { id: RegId, live: &'a [BufferDescriptorV1] },
}

impl<U: Upper> Host<U> {
    pub(crate) fn make_bare(&mut self) {
        self.bare = Some(Bare::default());
    }

    pub(crate) fn execute_bare<F: Faults, P: Probe>(
        &mut self,
        step: BareStep<'_>,
        fabric: &mut Fabric<F, P>,
    ) {
        match step {
            BareStep::Connect => self.connect(fabric),
            BareStep::Accept => self.accept(fabric),
            BareStep::Disconnect => self.disconnect(fabric),
            BareStep::PostRecv(id, len) => self.post_recv(id, len, fabric),
            BareStep::Post(work, solicit) => {
                self.post(work, solicit, fabric);
            }
            BareStep::Register { id, range, access, segments_max } => {
                self.local.put_registration(id, range);
                self.register(id, access, segments_max, fabric);
            }
            BareStep::Deregister { id, live } => self.deregister(id, live, fabric),
        }
    }

    pub(crate) fn next_input<F: Faults, P: Probe>(&mut self, fabric: &mut Fabric<F, P>) -> Option<Input<'_>> {
        while self.bare.as_ref()?.out.is_empty() {
            if !self.poll_one(fabric) {
                return None;
            }
        }
        match self.bare.as_mut()?.out.pop_front()? {
            Report::Input(input) => Some(input),
            Report::Registered(id, settled) => {
                let segments = &self.local.registration(id)?.segments;
                Some(Input::Registered { id, segments, settled })
            }
        }
    }

    /// The memory of a post is not there: it is refused, and with it all that follows.
    pub(crate) fn refuse<F: Faults, P: Probe>(
        &mut self,
        id: WrId,
        error: WorkError,
        fabric: &mut Fabric<F, P>,
    ) {
        let error = if self.refusing { WorkError::Flushed } else { error };
        self.refusing = true;
        self.failed(id, error, fabric);
    }

    /// The initiator's request is here.
    pub(super) fn requested<F: Faults, P: Probe>(&mut self, fabric: &mut Fabric<F, P>) {
        if let Some(bare) = &mut self.bare {
            bare.requested = true;
        }
        if self.link.started && !self.link.disconnected {
            self.accept_request(fabric);
        }
    }

    /// `true` if there is no connection, and whoever drives will be told.
    pub(super) fn bare_registered(&mut self, id: RegId) -> bool {
        let settled = self.local.registration(id).is_some_and(|r| r.stage == Stage::Idle);
        match &mut self.bare {
            None => false,
            Some(bare) => {
                bare.out.push_back(Report::Registered(id, settled));
                true
            }
        }
    }
}
