//! A watched endpoint as the loops of `smbd_link` have it: commands are shown as well.

use std::sync::Arc;

use bytes::Bytes;
use smbd_core::endpoint::NotSent;
use smbd_core::error::{CommandError, RdmaError, RegisterError};
use smbd_core::{
    Access, BufferDescriptorV1, Close, Endpoint, Fragment, Instant, Misuse, MsgId, OpId, RdmaVerb, RegId,
    Token,
};
use smbd_link::Messages;

use crate::machine::Watched;
use crate::memory::{Buffer, Range};
use crate::probe::{Command, Probe};

/// A place that says how long something is; loops own the bytes themselves.
fn somewhere(len: usize) -> Range {
    Range { buffer: Buffer::NOWHERE, offset: 0, len: u32::try_from(len).unwrap_or(u32::MAX) }
}

impl<P: Probe> Watched<Endpoint, P> {
    fn show_paused(&mut self) {
        self.expect_news();
        let (at, paused) = (self.at(), self.machine.is_paused());
        self.watcher().borrow_mut().paused(at, paused);
    }

    fn show_send(
        &mut self,
        now: Instant,
        payload: Bytes,
        invalidate: Option<Token>,
        unsignalled: bool,
    ) -> Result<MsgId, NotSent> {
        let send = if unsignalled { Endpoint::send_unsignalled } else { Endpoint::send };
        let range = somewhere(payload.len());
        let sent = send(&mut self.machine, now, payload.clone(), invalidate);
        match &sent {
            Ok(msg) => self.records.sent(*msg, payload),
            Err(refused) => self.records.not_sent(payload, &refused.payload),
        }
        let result = sent.as_ref().map(|msg| *msg).map_err(|refused| refused.error.into());
        self.show_command(now, &Command::Send { range, invalidate, unsignalled, result });
        sent
    }

    fn show_rdma(
        &mut self,
        now: Instant,
        verb: RdmaVerb,
        len: u32,
        remote: &Arc<[BufferDescriptorV1]>,
        (offset, unsignalled): (u64, bool),
    ) -> Result<OpId, RdmaError> {
        let rdma = if unsignalled { Endpoint::rdma_unsignalled } else { Endpoint::rdma };
        let started = rdma(&mut self.machine, now, verb, len, Arc::clone(remote), offset);
        let (local, result) = (somewhere(len as usize), started.map_err(Into::into));
        self.show_command(now, &Command::Rdma { verb, local, remote, offset, unsignalled, result });
        started
    }

    fn show_command(&mut self, now: Instant, command: &Command<'_>) {
        self.expect_news();
        self.is_told_the_time(now);
        self.watcher().borrow_mut().command(self.at(), command);
    }
}

impl<P: Probe> Messages for Watched<Endpoint, P> {
    fn endpoint(&self) -> &Endpoint {
        &self.machine
    }

    fn send(&mut self, now: Instant, payload: Bytes, invalidate: Option<Token>) -> Result<MsgId, NotSent> {
        self.show_send(now, payload, invalidate, false)
    }

    fn send_unsignalled(
        &mut self,
        now: Instant,
        payload: Bytes,
        invalidate: Option<Token>,
    ) -> Result<MsgId, NotSent> {
        self.show_send(now, payload, invalidate, true)
    }

    fn release(&mut self, now: Instant, fragment: Fragment) -> Result<(), Misuse> {
        self.show_command(now, &Command::Release { fragment: &fragment });
        self.machine.release(now, fragment)
    }

    fn rdma(
        &mut self,
        now: Instant,
        verb: RdmaVerb,
        len: u32,
        remote: Arc<[BufferDescriptorV1]>,
        offset: u64,
    ) -> Result<OpId, RdmaError> {
        self.show_rdma(now, verb, len, &remote, (offset, false))
    }

    fn rdma_unsignalled(
        &mut self,
        now: Instant,
        verb: RdmaVerb,
        len: u32,
        remote: Arc<[BufferDescriptorV1]>,
        offset: u64,
    ) -> Result<OpId, RdmaError> {
        self.show_rdma(now, verb, len, &remote, (offset, true))
    }

    fn register(&mut self, now: Instant, access: Access, segments_max: u16) -> Result<RegId, RegisterError> {
        let registered = self.machine.register(now, access, segments_max);
        let (range, result) = (somewhere(0), registered.map_err(Into::into));
        self.show_command(now, &Command::Register { access, range, segments_max, result });
        registered
    }

    fn deregister(&mut self, now: Instant, id: RegId) -> Result<(), RegisterError> {
        let deregistered = self.machine.deregister(now, id);
        let result = deregistered.map_err(Into::into);
        self.show_command(now, &Command::Deregister { id, result });
        deregistered
    }

    fn probe(&mut self, now: Instant) -> Result<(), CommandError> {
        let probed = self.machine.probe(now);
        let result = probed.map_err(Into::into);
        self.show_command(now, &Command::Probe { result });
        probed
    }

    fn close(&mut self, now: Instant, how: Close) {
        self.show_command(now, &Command::Close(how));
        self.machine.close(now, how);
    }

    fn pause(&mut self) {
        self.machine.pause();
        self.show_paused();
    }

    fn resume(&mut self) {
        self.machine.resume();
        self.show_paused();
    }
}
