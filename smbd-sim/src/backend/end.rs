use std::rc::Rc;

use smbd_core::backend::{Backend, HostMemory, Local, OutOfMemory, OutOfRange, Payload, ReceiveMemory, Step};
use smbd_core::error::WorkError;
use smbd_core::{BufferDescriptorV1, Input, Instant, RecvId, WrId};

use super::{Dropped, Link, SimNet};
use crate::Side;
use crate::host::BareStep;
use crate::memory::{Buffer, Range};
use crate::nic::{Operation, SendWork};

/// Memory of a simulated host: freed when the last clone is dropped and no device uses it any more.
#[derive(Clone, Debug)]
pub struct SimBuffer(Rc<Handle>);

#[derive(Debug)]
struct Handle {
    /// It is memory of the host, known to the device of this connection.
    connection: usize,
    buffer: Buffer,
    len: u32,
    dropped: Dropped,
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.dropped.borrow_mut().push(self.buffer);
    }
}

impl SimBuffer {
    fn whole(&self) -> Range {
        Range { buffer: self.0.buffer, offset: 0, len: self.0.len }
    }
}

/// One simulated device of a [`SimNet`].
#[derive(Debug)]
pub struct SimEnd<'a> {
    net: &'a mut SimNet,
    connection: usize,
    side: Side,
}

impl<'a> SimEnd<'a> {
    /// The connection exists.
    pub(super) const fn new(net: &'a mut SimNet, connection: usize, side: Side) -> Self {
        Self { net, connection, side }
    }

    /// Memory that the device opens to the peer at this moment.
    #[must_use]
    pub fn open_memory(&self) -> Vec<BufferDescriptorV1> {
        let nic = &self.link().world.host(self.side).nic;
        nic.tokens.open(nic.domain()).collect()
    }

    fn link(&self) -> &Link {
        &self.net.links[self.connection]
    }

    fn link_mut(&mut self) -> &mut Link {
        &mut self.net.links[self.connection]
    }

    /// A range of memory the device knows.
    fn local(&self, local: &Local<'_, SimBuffer>) -> Option<Range> {
        let known = local.buffer.0.connection == self.connection;
        local.buffer.whole().part(local.offset, local.len).filter(|_| known)
    }

    fn body(&mut self, body: Option<Payload<'_, SimBuffer>>) -> Result<Option<Range>, WorkError> {
        match body {
            None => Ok(None),
            Some(Payload::InPlace(local)) => self.local(&local).map(Some).ok_or(WorkError::LocalProtection),
            Some(Payload::Copy(bytes)) => {
                let side = self.side;
                let copy = self.link_mut().world.host_mut(side).nic.buffers.alloc_with(bytes);
                // Nobody has a handle to it: it is freed when the send is complete.
                self.link().dropped[side.index()].borrow_mut().push(copy);
                let len = u32::try_from(bytes.len()).map_err(|_| WorkError::LocalLength)?;
                Ok(Some(Range { buffer: copy, offset: 0, len }))
            }
        }
    }

    fn run(&mut self, step: BareStep<'_>) {
        let side = self.side;
        self.link_mut().world.execute_bare(side, step);
    }

    fn post(
        &mut self,
        id: impl Into<WrId>,
        operation: Result<Operation, WorkError>,
        signal: bool,
        solicit: bool,
    ) {
        let id = id.into();
        match operation {
            Ok(operation) => self.run(BareStep::Post(SendWork { id, operation, signal }, solicit)),
            Err(error) => {
                let side = self.side;
                self.link_mut().world.refuse_bare(side, id, error);
            }
        }
    }
}

impl ReceiveMemory for SimEnd<'_> {
    fn received(&self, id: RecvId) -> &[u8] {
        self.link().world.host(self.side).nic.message(id)
    }
}

impl Backend for SimEnd<'_> {
    type Buffer = SimBuffer;

    fn now(&self) -> Instant {
        self.link().world.now()
    }

    fn execute(&mut self, step: Step<'_, SimBuffer>) {
        match step {
            Step::Connect => self.run(BareStep::Connect),
            Step::Accept => self.run(BareStep::Accept),
            Step::Disconnect => self.run(BareStep::Disconnect),
            Step::PostRecv { id, len } => self.run(BareStep::PostRecv(id, len)),
            Step::PostSend { id, head, body, invalidate, signal, solicit } => {
                let body = self.body(body);
                let operation = body.map(|body| Operation::Send { head: *head, body, invalidate });
                self.post(id, operation, signal, solicit);
            }
            Step::PostRdma { id, verb, local, remote } => {
                let local = self.local(&local).ok_or(WorkError::LocalProtection);
                let operation = local.map(|local| Operation::Rdma { verb, local, remote });
                self.post(id, operation, true, false);
            }
            Step::Register { id, buffer, access, segments_max } => {
                let all = Local { buffer, offset: 0, len: buffer.0.len };
                match self.local(&all) {
                    Some(range) => self.run(BareStep::Register { id, range, access, segments_max }),
                    None => self.post(id, Err(WorkError::LocalProtection), true, false),
                }
            }
            Step::Deregister { id, segments } => {
                let live: Vec<_> = segments.iter().filter_map(smbd_core::Segment::descriptor).collect();
                self.run(BareStep::Deregister { id, live: &live });
            }
        }
    }

    fn ring(&mut self) {}

    fn next_input(&mut self) -> Option<Input<'_>> {
        let side = self.side;
        self.link_mut().world.next_input(side)
    }
}

impl HostMemory for SimEnd<'_> {
    fn allocate(&mut self, len: u32) -> Result<SimBuffer, OutOfMemory> {
        let (connection, side) = (self.connection, self.side);
        let link = self.link_mut();
        let buffer = link.world.host_mut(side).nic.buffers.alloc(len);
        let dropped = Rc::clone(&link.dropped[side.index()]);
        Ok(SimBuffer(Rc::new(Handle { connection, buffer, len, dropped })))
    }

    fn fill(&mut self, buffer: &SimBuffer, offset: u32, bytes: &[u8]) -> Result<(), OutOfRange> {
        let range = part(buffer, offset, bytes.len())?;
        let host = self.net.links[buffer.0.connection].world.host_mut(self.side);
        let memory = host.nic.buffers.bytes_mut(range.buffer);
        let start = range.offset as usize;
        if let Some(to) = memory.get_mut(start..start + bytes.len()) {
            to.copy_from_slice(bytes);
        }
        Ok(())
    }

    fn read(&self, buffer: &SimBuffer, offset: u32, out: &mut [u8]) -> Result<(), OutOfRange> {
        let range = part(buffer, offset, out.len())?;
        let bytes = self.net.links[buffer.0.connection].world.host(self.side).nic.buffers.range(range);
        if bytes.len() == out.len() {
            out.copy_from_slice(bytes);
        }
        Ok(())
    }
}

fn part(buffer: &SimBuffer, offset: u32, len: usize) -> Result<Range, OutOfRange> {
    let whole = buffer.whole();
    let inside = u32::try_from(len).ok().and_then(|len| whole.part(offset, len));
    let len = u64::try_from(len).unwrap_or(u64::MAX);
    inside.ok_or(OutOfRange { offset, len, size: whole.len })
}
