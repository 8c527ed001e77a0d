//! One end as a [`Backend`].

use std::fmt;
use std::marker::PhantomData;

use smbd_core::backend::{Backend, BackendOp, ReceiveMemory, Request};
use smbd_core::{Input, Instant, RecvId, Segment};

use super::Device;
use super::memory::SimMemory;
use super::posts::{Flags, sent};
use crate::fabric::Fabric;
use crate::fault::Faults;
use crate::memory::Range;
use crate::nic::Operation;
use crate::probe::Probe;

/// One end, for as long as it is driven; `M` names memory of its host.
pub(crate) struct DeviceBackend<'a, F, P, M = Range> {
    pub(crate) device: &'a mut Device,
    pub(crate) fabric: &'a mut Fabric<F, P>,
    memory: PhantomData<M>,
}

impl<F, P, M> fmt::Debug for DeviceBackend<'_, F, P, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeviceBackend").field("device", &self.device).finish_non_exhaustive()
    }
}

impl<'a, F, P, M> DeviceBackend<'a, F, P, M> {
    pub(crate) const fn new(device: &'a mut Device, fabric: &'a mut Fabric<F, P>) -> Self {
        Self { device, fabric, memory: PhantomData }
    }
}

impl<F, P, M> ReceiveMemory for DeviceBackend<'_, F, P, M> {
    fn received(&self, id: RecvId) -> &[u8] {
        self.device.nic.message(id)
    }
}

impl<F: Faults, P: Probe, M: SimMemory> Backend for DeviceBackend<'_, F, P, M> {
    type Buffer = M;

    fn now(&self) -> Instant {
        self.fabric.now
    }

    // One loop calls it.
    #[inline(always)]
    fn execute(&mut self, step: BackendOp<'_, M>) {
        let Self { device, fabric, .. } = self;
        match step {
            BackendOp::PostRecv { id, len } => device.post_recv(id, len, fabric),
            BackendOp::PostSend { id, head, body, invalidate, signal, solicit } => {
                device.post_send(id, *head, body, Flags { invalidate, signal, solicit }, fabric);
            }
            BackendOp::PostRdma { id, verb, local, remote, signal } => {
                device.post(Request::Rdma { id, signal }, fabric, |device| {
                    let local = device.range(&local);
                    let operation = local.map(|local| Operation::Rdma { verb, local, remote });
                    sent(id.into(), operation, signal, false)
                });
            }
            BackendOp::Connect => {
                device.ring_doorbell(fabric);
                device.connect(fabric);
            }
            BackendOp::Accept => {
                device.ring_doorbell(fabric);
                device.accept(fabric);
            }
            BackendOp::Disconnect => {
                device.ring_doorbell(fabric);
                device.disconnect(fabric);
            }
            BackendOp::Register { id, buffer, access, segments_max } => {
                device.ring_doorbell(fabric);
                let range = buffer.range(device);
                device.register(id, range, access, segments_max, fabric);
            }
            BackendOp::Deregister { id, segments } => {
                device.ring_doorbell(fabric);
                let live: Vec<_> = segments.iter().filter_map(Segment::descriptor).collect();
                device.deregister(id, &live, fabric);
            }
        }
    }

    fn ring_doorbell(&mut self) {
        self.device.note_doorbell();
        self.device.ring_doorbell(self.fabric);
    }

    #[inline(always)]
    fn next_input(&mut self) -> Option<Input<'_>> {
        self.device.next_input(self.fabric)
    }
}
