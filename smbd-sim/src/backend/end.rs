use std::rc::Rc;

use smbd_core::backend::{Backend, BackendOp, HostMemory, OutOfMemory, OutOfRange, ReceiveMemory};
use smbd_core::{BufferDescriptorV1, Input, Instant, RecvId, Token};

use super::{Dropped, Plan, SimNet};
use crate::Side;
use crate::device::{Device, DeviceBackend, SimMemory};
use crate::memory::{Buffer, Range};

/// Memory of a simulated host: freed when the last clone is dropped and no device uses it any more.
#[derive(Clone, Debug)]
pub struct SimBuffer(Rc<Handle>);

#[derive(Debug)]
struct Handle {
    /// It is memory of the host, known to the device of this connection.
    owner: Owner,
    connection: usize,
    side: Side,
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

/// A device of a [`SimNet`]: those of one connection have the same first token, those of different ones do not.
type Owner = (Side, Token);

const fn owner(device: &Device) -> Owner {
    (device.side, device.nic.config.first_token)
}

impl SimMemory for SimBuffer {
    fn range(&self, device: &Device) -> Option<Range> {
        (self.0.owner == owner(device)).then(|| self.whole())
    }
}

/// One simulated device of a [`SimNet`].
#[derive(Debug)]
pub struct SimBackend<'a> {
    net: &'a mut SimNet,
    connection: usize,
    side: Side,
}

impl<'a> SimBackend<'a> {
    /// The connection exists.
    pub(super) const fn new(net: &'a mut SimNet, connection: usize, side: Side) -> Self {
        Self { net, connection, side }
    }

    /// Memory that the device opens to the peer at this moment.
    #[must_use]
    pub fn open_memory(&self) -> Vec<BufferDescriptorV1> {
        let nic = &self.device().nic;
        nic.tokens.open(nic.domain()).collect()
    }

    fn device(&self) -> &Device {
        &self.net.links[self.connection].world.host(self.side).device
    }

    fn end(&mut self) -> DeviceBackend<'_, Plan, (), SimBuffer> {
        self.net.links[self.connection].world.end(self.side)
    }
}

impl ReceiveMemory for SimBackend<'_> {
    fn received(&self, id: RecvId) -> &[u8] {
        self.device().nic.message(id)
    }
}

impl Backend for SimBackend<'_> {
    type Buffer = SimBuffer;

    fn now(&self) -> Instant {
        self.net.links[self.connection].world.now()
    }

    fn execute(&mut self, step: BackendOp<'_, SimBuffer>) {
        self.end().execute(step);
    }

    fn ring_doorbell(&mut self) {
        self.end().ring_doorbell();
    }

    fn next_input(&mut self) -> Option<Input<'_>> {
        self.net.links[self.connection].world.next_input(self.side)
    }
}

impl HostMemory for SimBackend<'_> {
    fn allocate(&mut self, len: u32) -> Result<SimBuffer, OutOfMemory> {
        let (connection, side) = (self.connection, self.side);
        let link = &mut self.net.links[connection];
        let buffer = link.world.host_mut(side).device.nic.buffers.alloc(len);
        let dropped = Rc::clone(&link.dropped[side.index()]);
        Ok(SimBuffer(Rc::new(Handle { connection, side, owner: owner(self.device()), buffer, len, dropped })))
    }

    fn fill(&mut self, buffer: &SimBuffer, offset: u32, bytes: &[u8]) -> Result<(), OutOfRange> {
        let range = part(buffer, offset, bytes.len())?;
        let world = &mut self.net.links[buffer.0.connection].world;
        let memory = world.host_mut(buffer.0.side).device.nic.buffers.bytes_mut(range.buffer);
        let start = range.offset as usize;
        if let Some(to) = memory.get_mut(start..start + bytes.len()) {
            to.copy_from_slice(bytes);
        }
        Ok(())
    }

    fn read(&self, buffer: &SimBuffer, offset: u32, out: &mut [u8]) -> Result<(), OutOfRange> {
        let range = part(buffer, offset, out.len())?;
        let world = &self.net.links[buffer.0.connection].world;
        let bytes = world.host(buffer.0.side).device.nic.buffers.range(range);
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
