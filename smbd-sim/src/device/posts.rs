//! Posting: each request is recorded in the work queues, then chained; the doorbell hands the chain over.

use smbd_core::backend::{BufferSlice, Payload, Push, Queue, Request};
use smbd_core::error::WorkError;
use smbd_core::{Head, RecvId, SendId, Token, WrId};

use super::Device;
use super::memory::SimMemory;
use crate::fabric::Fabric;
use crate::fault::Faults;
use crate::memory::Range;
use crate::nic::{Body, Nic, Operation, SendWork};
use crate::probe::Probe;
use crate::{Breach, Side};

/// Invalid argument.
const EINVAL: i32 = 22;

/// A work request that waits for its doorbell.
#[derive(Debug)]
pub(super) enum Chained {
    Recv(RecvId, u32),
    Send {
        work: SendWork,
        solicit: bool,
    },
    /// Its memory is not what the device knows.
    Senseless(WrId),
}

impl Chained {
    fn id(&self) -> WrId {
        match self {
            Self::Recv(id, _) => (*id).into(),
            Self::Send { work, .. } => work.id,
            Self::Senseless(id) => *id,
        }
    }
}

/// What a send asks for besides its bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flags {
    pub(super) invalidate: Option<Token>,
    pub(super) signal: bool,
    pub(super) solicit: bool,
}

impl Device {
    #[inline(always)]
    pub(super) fn post_recv<F: Faults, P: Probe>(&mut self, id: RecvId, len: u32, fabric: &mut Fabric<F, P>) {
        self.post(Request::Recv(id), fabric, |_| Chained::Recv(id, len));
    }

    #[inline(always)]
    pub(super) fn post_send<F: Faults, P: Probe, M: SimMemory>(
        &mut self,
        id: SendId,
        head: Head,
        body: Option<Payload<'_, M>>,
        flags: Flags,
        fabric: &mut Fabric<F, P>,
    ) {
        let Flags { invalidate, mut signal, solicit } = flags;
        let len = head.len() as usize + body.as_ref().map_or(0, Payload::len);
        signal |= len >= self.nic.config.signal_from as usize;
        self.post(Request::Send { id, signal }, fabric, |device| {
            let body = match body {
                None => Some(Body::None),
                Some(Payload::Copy(bytes)) => Some(device.nic.copy(bytes)),
                Some(Payload::InPlace(local)) => device.range(&local).map(Body::InPlace),
            };
            let operation = body.map(|body| Operation::Send { head, body, invalidate });
            sent(id.into(), operation, signal, solicit)
        });
    }

    /// A range of memory that the device knows.
    pub(super) fn range<M: SimMemory>(&self, local: &BufferSlice<'_, M>) -> Option<Range> {
        local.buffer.range(self)?.part(local.offset, local.len)
    }

    /// Notes a request, and chains what `make` makes of it: in its place, since it is large. `false` if it will not be posted.
    #[inline(always)]
    pub(super) fn post<F: Faults, P: Probe>(
        &mut self,
        request: Request,
        fabric: &mut Fabric<F, P>,
        make: impl FnOnce(&mut Self) -> Chained,
    ) -> bool {
        let is_admitted = self.admit(request, fabric);
        if is_admitted {
            let work = make(self);
            self.chain.push(work);
        }
        is_admitted
    }

    /// Notes a request. `false` if it will not be posted.
    #[inline(always)]
    fn admit<F: Faults, P: Probe>(&mut self, request: Request, fabric: &mut Fabric<F, P>) -> bool {
        let mut was_broken = self.queues.is_broken();
        let mut push = self.queues.push(request);
        if let Push::RingDoorbell(_) = push {
            self.ring_doorbell(fabric);
            was_broken = self.queues.is_broken();
            push = self.queues.push(request);
        }
        if push == Push::Chain {
            return true;
        }
        if !was_broken {
            self.record_full(request);
        }
        self.unposted(request.id(), !was_broken, fabric);
        false
    }

    /// The queues have no room for a request: nobody should have tried, if the device has none either.
    fn record_full(&mut self, request: Request) {
        let (work, config) = (request.id(), &self.nic.config);
        let (used, depth) = match request.queue() {
            Queue::Recv => (self.nic.recvs_open() as usize, config.recv_queue),
            Queue::Send => (self.nic.sends_posted(), config.send_queue),
        };
        let breach = match request.queue() {
            _ if used + self.chain.len() < depth as usize => Breach::RefusedWithRoom(work),
            Queue::Recv => Breach::ReceiveQueueOverflow { work, depth },
            Queue::Send => Breach::SendQueueOverflow { work, depth },
        };
        self.nic.breaches.record(breach);
    }

    /// It will not be posted: the queues report that it failed.
    fn unposted<F: Faults, P: Probe>(&mut self, id: WrId, refused: bool, fabric: &mut Fabric<F, P>) {
        self.outcomes.unposted(id, refused);
        self.derives = true;
        self.look(fabric);
    }

    /// Hands over what is chained.
    #[inline(always)]
    pub(super) fn ring_doorbell<F: Faults, P: Probe>(&mut self, fabric: &mut Fabric<F, P>) {
        // Mostly nothing is.
        if !self.chain.is_empty() {
            self.hand_over_all(fabric);
        }
    }

    #[inline(never)]
    fn hand_over_all<F: Faults, P: Probe>(&mut self, fabric: &mut Fabric<F, P>) {
        // Looked at where they lie: they are large.
        for (accepted, work) in self.chain.iter_mut().enumerate() {
            if let Err(errno) = hand_over(work, self.side, &mut self.nic, fabric) {
                return self.refuse(accepted, errno, fabric);
            }
        }
        self.chain.clear();
        self.queues.doorbell_rung();
    }

    /// The device takes no more than so many of what is chained.
    #[cold]
    fn refuse<F: Faults, P: Probe>(&mut self, accepted: usize, errno: i32, fabric: &mut Fabric<F, P>) {
        self.queues.doorbell_rung_until(accepted, errno);
        let ids: Vec<_> = self.chain.drain(..).skip(accepted).map(|work| work.id()).collect();
        for (at, id) in ids.into_iter().enumerate() {
            self.unposted(id, at == 0, fabric);
        }
    }
}

/// One request of a chain: the error number with which the device refuses it.
fn hand_over<F: Faults, P: Probe>(
    work: &mut Chained,
    side: Side,
    nic: &mut Nic,
    fabric: &mut Fabric<F, P>,
) -> Result<(), i32> {
    if let Some(errno) = fabric.refuse_post(side, work.id()) {
        return Err(errno);
    }
    match work {
        Chained::Recv(id, len) => nic.post_recv(*id, *len).map_err(|refused| refused.0),
        Chained::Send { work, solicit } => match nic.post_send(work) {
            Ok(None) => Ok(()),
            Ok(Some(packet)) => {
                fabric.transmit(side, packet, nic, *solicit);
                Ok(())
            }
            Err(refused) => Err(refused.0),
        },
        Chained::Senseless(_) => Err(EINVAL),
    }
}

/// A request of the send queue, or nothing sensible.
pub(super) fn sent(id: WrId, operation: Option<Operation>, signal: bool, solicit: bool) -> Chained {
    match operation {
        Some(operation) => Chained::Send { work: SendWork { id, operation, signal }, solicit },
        None => Chained::Senseless(id),
    }
}

/// The error of a registration that the device refuses.
pub(super) const REFUSED: WorkError = WorkError::PostFailed { errno: EINVAL };
