//! A subject's backend, whose operations and inputs are recorded.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::rc::Rc;

use smbd_core::backend::{Backend, BackendOp, HostMemory, OutOfMemory, OutOfRange, ReceiveMemory};
use smbd_core::error::WorkError;
use smbd_core::{BufferDescriptorV1, Input, Instant, RdmaId, RdmaVerb, RecvId, WrId};

use super::super::RdmaSeen;
use crate::suite::trace::What;

/// What the device was seen to do.
#[derive(Debug, Default)]
pub(super) struct Device {
    pub(super) rdma: Vec<RdmaSeen>,
    reads: BTreeSet<RdmaId>,
    /// What it opened to the script, in order.
    pub(super) opened: Vec<BufferDescriptorV1>,
    /// Work that it reported as failed.
    pub(super) failures: Vec<(WrId, WorkError)>,
}

/// A backend that may know what of its memory is open.
pub(in crate::suite::rig) trait Opens {
    /// All that is open to the peer now; nothing where that is not known.
    fn open_memory(&self) -> Vec<BufferDescriptorV1> {
        Vec::new()
    }
}

/// The device while its subject is driven.
#[derive(Debug)]
pub(super) struct Watched<'a, B> {
    end: B,
    busy: bool,
    device: &'a mut Device,
    sends: Rc<Cell<u64>>,
    events: &'a mut Vec<(Instant, What)>,
}

impl<'a, B> Watched<'a, B> {
    pub(super) const fn new(
        end: B,
        device: &'a mut Device,
        sends: Rc<Cell<u64>>,
        events: &'a mut Vec<(Instant, What)>,
    ) -> Self {
        Self { end, busy: false, device, sends, events }
    }

    /// Whether anything was done or came.
    pub(super) const fn is_busy(&self) -> bool {
        self.busy
    }
}

impl<B: ReceiveMemory> ReceiveMemory for Watched<'_, B> {
    fn received(&self, id: RecvId) -> &[u8] {
        self.end.received(id)
    }
}

impl<B: HostMemory + Opens> Backend for Watched<'_, B> {
    type Buffer = B::Buffer;

    fn now(&self) -> Instant {
        self.end.now()
    }

    fn execute(&mut self, step: BackendOp<'_, B::Buffer>) {
        self.busy = true;
        match &step {
            BackendOp::PostRdma { id, verb, remote, .. } => {
                if *verb == RdmaVerb::Read {
                    self.device.reads.insert(*id);
                }
                let (at, reads) = (self.end.now(), self.device.reads.len());
                self.device.rdma.push(RdmaSeen { at, verb: *verb, remote: *remote, reads });
                let (verb, from) = match verb {
                    RdmaVerb::Read => ("RDMA Read of", "from"),
                    RdmaVerb::Write => ("RDMA Write of", "to"),
                };
                let text =
                    format!("{verb} {} bytes {from} {} + 0x{:x}", remote.length, remote.token, remote.offset);
                self.events.push((self.end.now(), What::Rdma { text }));
            }
            BackendOp::PostSend { .. } => self.sends.set(self.sends.get() + 1),
            BackendOp::Disconnect => self.events.push((self.end.now(), What::Disconnect)),
            _ => {}
        }
        let registers = matches!(step, BackendOp::Register { .. });
        let before = if registers { self.end.open_memory() } else { Vec::new() };
        self.end.execute(step);
        if registers {
            let now = self.end.open_memory();
            self.device.opened.extend(now.into_iter().filter(|opened| !before.contains(opened)));
        }
    }

    fn ring_doorbell(&mut self) {
        self.end.ring_doorbell();
    }

    fn next_input(&mut self) -> Option<Input<'_>> {
        let input = self.end.next_input();
        self.busy |= input.is_some();
        if let Some(Input::RdmaDone { id } | Input::Failed { id: WrId::Rdma(id), .. }) = &input {
            self.device.reads.remove(id);
        }
        if let Some(Input::Failed { id, error }) = input {
            self.device.failures.push((id, error));
        }
        input
    }
}

impl<B: HostMemory + Opens> HostMemory for Watched<'_, B> {
    fn allocate(&mut self, len: u32) -> Result<B::Buffer, OutOfMemory> {
        self.end.allocate(len)
    }

    fn fill(&mut self, buffer: &B::Buffer, offset: u32, bytes: &[u8]) -> Result<(), OutOfRange> {
        self.end.fill(buffer, offset, bytes)
    }

    fn read(&self, buffer: &B::Buffer, offset: u32, out: &mut [u8]) -> Result<(), OutOfRange> {
        self.end.read(buffer, offset, out)
    }
}
