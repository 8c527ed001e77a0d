use std::rc::Rc;

use smbd_core::backend::{Backend, HostMemory, OutOfMemory, OutOfRange, ReceiveMemory, Step};
use smbd_core::{BufferDescriptorV1, Input, Instant, RecvId, Token};

use super::{Dropped, Plan};
use crate::Side;
use crate::device::{DeviceEnd, SimMemory};
use crate::memory::{Buffer, Range};
use crate::nic::Nic;

/// Memory of a simulated host: freed when the last clone is dropped and no device uses it any more.
#[derive(Clone, Debug)]
pub struct SimBuffer(Rc<Handle>);

#[derive(Debug)]
struct Handle {
    /// It is memory of the host, known to the device of this connection.
    owner: Owner,
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

const fn owner(side: Side, nic: &Nic) -> Owner {
    (side, nic.config.first_token)
}

impl SimMemory for SimBuffer {
    fn range(&self, side: Side, nic: &Nic) -> Option<Range> {
        (self.0.owner == owner(side, nic)).then(|| self.whole())
    }
}

/// One simulated device of a [`SimNet`].
#[derive(Debug)]
pub struct SimEnd<'a> {
    end: DeviceEnd<'a, Plan, (), SimBuffer>,
    dropped: &'a Dropped,
}

impl<'a> SimEnd<'a> {
    pub(super) const fn new(end: DeviceEnd<'a, Plan, (), SimBuffer>, dropped: &'a Dropped) -> Self {
        Self { end, dropped }
    }

    /// Memory that the device opens to the peer at this moment.
    #[must_use]
    pub fn open_memory(&self) -> Vec<BufferDescriptorV1> {
        let nic = &self.end.device.nic;
        nic.tokens.open(nic.domain()).collect()
    }
}

impl ReceiveMemory for SimEnd<'_> {
    fn received(&self, id: RecvId) -> &[u8] {
        self.end.received(id)
    }
}

impl Backend for SimEnd<'_> {
    type Buffer = SimBuffer;

    fn now(&self) -> Instant {
        self.end.now()
    }

    fn execute(&mut self, step: Step<'_, SimBuffer>) {
        self.end.execute(step);
    }

    fn ring(&mut self) {
        self.end.ring();
    }

    fn next_input(&mut self) -> Option<Input<'_>> {
        self.end.next_input()
    }
}
impl HostMemory for SimEnd<'_> {
    fn allocate(&mut self, len: u32) -> Result<SimBuffer, OutOfMemory> {
        let device = &mut self.end.device;
        let (buffer, dropped) = (device.nic.buffers.alloc(len), Rc::clone(self.dropped));
        Ok(SimBuffer(Rc::new(Handle { owner: owner(device.side, &device.nic), buffer, len, dropped })))
    }

    fn fill(&mut self, buffer: &SimBuffer, offset: u32, bytes: &[u8]) -> Result<(), OutOfRange> {
        let range = part(buffer, offset, bytes.len())?;
        let memory = self.end.device.nic.buffers.bytes_mut(range.buffer);
        let start = range.offset as usize;
        if let Some(to) = memory.get_mut(start..start + bytes.len()) {
            to.copy_from_slice(bytes);
        }
        Ok(())
    }

    fn read(&self, buffer: &SimBuffer, offset: u32, out: &mut [u8]) -> Result<(), OutOfRange> {
        let range = part(buffer, offset, out.len())?;
        let bytes = self.end.device.nic.buffers.range(range);
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
