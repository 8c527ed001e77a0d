//! The upper layer of a subject that is wrong: what it is told, and what its commands come out as.

use bytes::Bytes;
use smbd_conformance::catalogue::Command;
use smbd_conformance::suite::rig::{MemoryOf, RdmaSeen, Told, Unable, UpperHand, Work};
use smbd_core::error::{RdmaError, RegisterError, SendError, WorkError};
use smbd_core::{Access, BufferDescriptorV1, Endpoint, Instant, MsgId, OpId, RdmaVerb, RegId, Token, WrId};

use super::rig::TamperedRig;

impl TamperedRig {
    fn inner(&mut self) -> &mut dyn UpperHand {
        self.rig.upper(self.hand).expect("it was there when the hand was given")
    }

    fn looked_at(&self) -> &dyn UpperHand {
        self.rig.look(self.hand).expect("it was there when the hand was given")
    }

    fn is(&self, command: Command) -> bool {
        self.connections.get(&self.hand).is_some_and(|connection| connection.tamper.commands(command))
    }
}

impl UpperHand for TamperedRig {
    fn by_hand(&mut self) {
        self.inner().by_hand();
    }

    fn told(&self) -> &[(Instant, Told)] {
        &self.told
    }

    fn sends_when_told(&self) -> &[u64] {
        self.looked_at().sends_when_told()
    }

    fn endpoint(&self) -> &Endpoint {
        self.looked_at().endpoint()
    }

    fn endpoint_mut(&mut self) -> &mut Endpoint {
        self.inner().endpoint_mut()
    }

    fn send(&mut self, payload: Bytes, invalidate: Option<Token>) -> Result<MsgId, SendError> {
        let token = match invalidate {
            Some(_) if self.is(Command::NoToken) => None,
            other => other,
        };
        if self.is(Command::RefusesAll) {
            return Err(SendError::Empty);
        }
        let taken = self.inner().send(payload, token);
        if taken.is_err() && self.is(Command::TakesAll) {
            return self.inner().send(Bytes::from_static(b"x"), None);
        }
        taken
    }

    fn rdma(
        &mut self,
        verb: RdmaVerb,
        bytes: &[u8],
        remote: &[BufferDescriptorV1],
        offset: u64,
    ) -> Result<OpId, RdmaError> {
        self.inner().rdma(verb, bytes, remote, offset)
    }

    fn register(&mut self, bytes: &[u8], access: Access) -> Result<RegId, RegisterError> {
        let access = if self.is(Command::AllRights) { Access::ReadWrite } else { access };
        self.inner().register(bytes, access)
    }

    fn deregister(&mut self, id: RegId) -> Result<(), RegisterError> {
        if self.is(Command::KeepsOpen) { Ok(()) } else { self.inner().deregister(id) }
    }

    fn memory(&mut self, of: MemoryOf, len: usize) -> Option<Vec<u8>> {
        self.inner().memory(of, len)
    }

    fn hold(&mut self, fragments: usize) {
        self.inner().hold(fragments);
    }

    fn give_back(&mut self) {
        self.inner().give_back();
    }

    fn pause(&mut self, is_paused: bool) {
        self.inner().pause(is_paused);
    }

    fn refuse_after(&mut self, work: Work, accepted: usize) -> Result<(), Unable> {
        self.inner().refuse_after(work, accepted)
    }

    fn break_device(&mut self) -> Result<(), Unable> {
        self.inner().break_device()
    }

    fn failures(&self) -> &[(WrId, WorkError)] {
        self.looked_at().failures()
    }

    fn greet(&mut self, payload: Bytes) {
        self.inner().greet(payload);
    }

    fn fail_deregistrations(&mut self, count: usize) {
        self.inner().fail_deregistrations(count);
    }

    fn rdma_seen(&self) -> &[RdmaSeen] {
        self.looked_at().rdma_seen()
    }

    fn acknowledges_writes(&self) -> bool {
        self.looked_at().acknowledges_writes()
    }

    fn opened(&self) -> &[BufferDescriptorV1] {
        self.looked_at().opened()
    }
}
