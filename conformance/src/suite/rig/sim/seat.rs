//! What a case may do to a subject on a simulated device.

use smbd_core::backend::{Backend, HostMemory};
use smbd_core::{BufferDescriptorV1, Instant, WrId};
use smbd_sim::backend::{SimBackend, SimBuffer};
use smbd_sim::fault::Disruption;
use smbd_sim::nic::Personality;

use super::rig::Connection;
use crate::suite::rig::subject::{Opens, Seat, Subject};
use crate::suite::rig::{Unable, Work};

impl Opens for SimBackend<'_> {
    fn open_memory(&self) -> Vec<BufferDescriptorV1> {
        SimBackend::open_memory(self)
    }
}

impl Seat for Connection {
    type Buffer = SimBuffer;

    fn subject(&self) -> &Subject<SimBuffer> {
        &self.subject
    }

    fn subject_mut(&mut self) -> &mut Subject<SimBuffer> {
        &mut self.subject
    }

    fn buffer(&mut self, bytes: &[u8]) -> Option<SimBuffer> {
        let mut end = self.subject_end()?;
        let len = u32::try_from(bytes.len()).ok()?;
        let buffer = end.allocate(len.max(1)).ok()?;
        end.fill(&buffer, 0, bytes).ok()?;
        Some(buffer)
    }

    fn contents(&mut self, buffer: &SimBuffer, len: usize) -> Option<Vec<u8>> {
        let mut bytes = vec![0; len];
        self.subject_end()?.read(buffer, 0, &mut bytes).ok()?;
        Some(bytes)
    }

    fn now(&mut self) -> Instant {
        self.subject_end().map_or(Instant::ORIGIN, |end| end.now())
    }

    fn acknowledges_writes(&self) -> bool {
        self.personality == Personality::Roce
    }

    fn refuse_after(&mut self, _: Work, counted: fn(WrId) -> bool, accepted: usize) -> Result<(), Unable> {
        let side = self.script.peer();
        self.net.refuse_some(0, side, counted, accepted);
        Ok(())
    }

    fn break_device(&mut self) -> Result<(), Unable> {
        let side = self.script.peer();
        self.net.disrupt(0, Disruption::BreakQueuePair(side));
        Ok(())
    }

    fn fail_deregistrations(&mut self, count: usize) {
        let side = self.script.peer();
        self.net.fail_deregistrations(0, side, count);
    }
}
