//! Posting: each request is recorded in the work queues, then appended to the chain of the device.

use smbd_core::backend::{BufferSlice, Payload, Push, Queue, Request};
use smbd_core::{BufferDescriptorV1, Head, RdmaId, RdmaVerb, RecvId, SendId, Token, WrId};

use super::VerbsConnection;
use super::not_chained::NotChained;
use super::open::Open;
use crate::Buffer;
use crate::ffi::{Body, Message, SendFlags};

/// What a send asks for besides its bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flags {
    pub(super) invalidate: Option<Token>,
    pub(super) signal: bool,
    pub(super) solicit: bool,
}

impl VerbsConnection {
    pub(super) fn post_recv(&mut self, id: RecvId, len: u32) {
        if self.open.is_none() {
            // Counted by the core to what the queue holds.
            self.early.push((id, len));
            return;
        }
        self.post(Request::Recv(id), |open| {
            Ok(open.qp.chain_recv(WrId::from(id).to_raw(), id.slot(), len)?)
        });
    }

    /// Posts what was given before there was a queue.
    pub(super) fn post_early(&mut self) {
        for (id, len) in std::mem::take(&mut self.early) {
            self.post_recv(id, len);
        }
        self.ring_chain();
    }

    pub(super) fn post_send(
        &mut self,
        id: SendId,
        head: &Head,
        body: Option<Payload<'_, Buffer>>,
        Flags { invalidate, signal, solicit }: Flags,
    ) {
        let (raw, slot) = (WrId::from(id).to_raw(), id.slot());
        let len = head.as_bytes().len() + body.as_ref().map_or(0, Payload::len);
        let may_be_last = signal;
        let signal = signal || self.needs_signal(len);
        let flags = SendFlags { signal, solicit, fence: false, invalidate: invalidate.map(|token| token.0) };
        self.post(Request::Send { id, signal }, |open| {
            let head = head.as_bytes();
            let chained = match body {
                None => open.qp.chain_send(raw, slot, Message { head, body: Body::None }, flags),
                Some(Payload::Copy(bytes)) => {
                    open.qp.chain_send(raw, slot, Message { head, body: Body::Copy(bytes) }, flags)
                }
                Some(Payload::InPlace(BufferSlice { buffer, offset, len })) => {
                    let region = open.regions.local(buffer)?;
                    let body = Body::InPlace { region, offset, len };
                    open.qp.chain_send(raw, slot, Message { head, body }, flags)
                }
            };
            Ok(chained?)
        });
        // An answer does not wait for what is decided behind it. The core has the last that leaves for now signalled; beside others the
        // doorbell is one for all.
        if may_be_last && self.queues.queue(Queue::Send).used() == 1 {
            self.ring_chain();
        }
    }

    pub(super) fn post_rdma(
        &mut self,
        id: RdmaId,
        verb: RdmaVerb,
        local: &BufferSlice<'_, Buffer>,
        remote: BufferDescriptorV1,
        signal: bool,
    ) {
        let signal = signal || self.needs_signal(local.len as usize);
        self.post(Request::Rdma { id, signal }, |open| {
            let raw = WrId::from(id).to_raw();
            let chained = if verb == RdmaVerb::Read && open.has_remote_sinks() && remote.length > 0 {
                // Goes with the request: the peer learns its token.
                let region = open.regions.sink(local.buffer, local.offset, remote.length)?;
                open.qp.chain_rdma(raw, verb, (&region, 0), remote, signal)
            } else {
                let region = open.regions.local(local.buffer)?;
                open.qp.chain_rdma(raw, verb, (region, local.offset), remote, signal)
            };
            Ok(chained?)
        });
    }

    /// Whether the provider needs a signal on all that has so many bytes.
    fn needs_signal(&self, len: usize) -> bool {
        self.open.as_ref().is_some_and(|open| open.quirks.signal_from <= len)
    }

    /// Notes a request and puts it on the device's chain.
    #[inline]
    pub(super) fn post(&mut self, request: Request, chain: impl FnOnce(&mut Open) -> Result<(), NotChained>) {
        if self.queues.chain().is_some_and(|queue| queue != request.queue()) {
            self.ring_chain();
        }
        if self.queues.push(request) != Push::Chain {
            return;
        }
        let chained = self.open.as_mut().map_or(Err(NotChained(libc::ENOTCONN)), |open| chain(open));
        if let Err(NotChained(errno)) = chained {
            self.refuse_last(errno);
        }
    }

    /// The request noted last could not be chained: hands over what is before it, and refuses it.
    fn refuse_last(&mut self, errno: i32) {
        let Some(queue) = self.queues.chain() else { return };
        let before = self.queues.queue(queue).chained().saturating_sub(1);
        match self.ring_device(queue) {
            Ok(()) => self.queues.doorbell_rung_until(before, errno),
            Err(refused) => self.queues.doorbell_rung_until(refused.accepted.min(before), refused.errno),
        }
    }

    /// Hands over what is chained. Called before every wait, and mostly nothing is.
    #[inline]
    pub(super) fn ring_chain(&mut self) {
        if let Some(queue) = self.queues.chain() {
            self.hand_over(queue);
        }
    }

    #[inline(never)]
    fn hand_over(&mut self, queue: Queue) {
        // Without a queue pair it waits; there is one before anything can be lost.
        match self.ring_device(queue) {
            Ok(()) => self.queues.doorbell_rung(),
            Err(refused) => self.queues.doorbell_rung_until(refused.accepted, refused.errno),
        }
    }

    fn ring_device(&mut self, queue: Queue) -> Result<(), crate::ffi::PostError> {
        match (&mut self.open, queue) {
            (None, _) => Ok(()),
            (Some(open), Queue::Recv) => open.qp.ring_recvs(),
            (Some(open), Queue::Send) => open.qp.ring_sends(),
        }
    }
}
