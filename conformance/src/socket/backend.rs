//! What the end does for a connection.

use smbd_core::backend::{
    Backend, BackendOp, HostMemory, OutOfMemory, OutOfRange, Payload, Push, ReceiveMemory, Request,
};
use smbd_core::error::{DisconnectReason, WorkError};
use smbd_core::{Access, Head, Input, Instant, RecvId, RegId, WrId};

use super::end::{Chained, Report, SocketEnd, Stage};
use super::frame::{Frame, Reason};
use super::memory::Buffer;
use super::sending::Kind;

impl SocketEnd {
    /// Asks for the connection, or accepts it.
    fn begin(&mut self) {
        if let Some(reason) = self.refused {
            self.stage = Stage::Over;
            return self.link.connect_failed(reason);
        }
        if self.queues.is_broken() {
            // A receive that was to be there first was refused.
            self.end_with(Reason::Failed, "a receive was refused");
            return self.over(DisconnectReason::DeviceFailed);
        }
        if self.stage != Stage::Idle {
            return;
        }
        self.stage = Stage::Asked;
        self.wire.queue(&Frame::Hello(self.own.clone()));
        self.announce();
        self.wire.queue(&Frame::Ready);
        self.settle();
        self.wire.write();
    }

    /// Tells the peer of receives that were posted.
    fn announce(&mut self) {
        if !matches!(self.stage, Stage::Asked | Stage::Up) {
            return;
        }
        while let Some((count, length)) = self.receiving.next_unannounced() {
            self.wire.queue(&Frame::Receives { count, length });
        }
    }

    fn disconnect(&mut self) {
        let reason = if self.stage == Stage::Idle { Reason::Refused } else { Reason::Disconnect };
        if self.stage != Stage::Over {
            self.end_with(reason, "");
        }
        self.over(DisconnectReason::Local);
        let receives = self.receiving.drain().map(WrId::Recv);
        for id in receives.chain(self.sending.drain()) {
            // The queues know every request that was posted.
            let _ = self.queues.complete(id, Err(WorkError::Flushed));
        }
        self.queues.drained();
    }

    fn chain(&mut self, request: Request, work: Chained) {
        let mut push = self.queues.push(request);
        if let Push::RingDoorbell(_) = push {
            self.ring_doorbell();
            push = self.queues.push(request);
        }
        if push == Push::Chain {
            self.chain.push(work);
        }
    }

    fn register(&mut self, id: RegId, access: Access, buffer: &Buffer) {
        if self.queues.is_broken() {
            // Nothing is posted any more.
            let _ = self.queues.push(Request::Bind(id));
            return;
        }
        let segment = self.regions.open(id, access, buffer);
        self.reports.push_back(Report::Registered(id, segment));
    }

    fn deregister(&mut self, id: RegId) {
        self.regions.close(id);
        self.reports.push_back(Report::Input(Input::Deregistered { id }));
    }

    fn next_report(&mut self) -> Option<Input<'_>> {
        match self.reports.pop_front()? {
            Report::Input(input) => Some(input),
            Report::Registered(id, segment) => {
                self.reported.clear();
                self.reported.push(segment);
                Some(Input::Registered { id, segments: &self.reported, bind_complete: true })
            }
        }
    }
}

impl ReceiveMemory for SocketEnd {
    fn received(&self, id: RecvId) -> &[u8] {
        self.receiving.message(id)
    }
}

impl Backend for SocketEnd {
    type Buffer = Buffer;

    fn now(&self) -> Instant {
        self.clock.now()
    }

    fn execute(&mut self, step: BackendOp<'_, Buffer>) {
        match step {
            BackendOp::PostRecv { id, len } => {
                return self.chain(Request::Recv(id), Chained::Recv(id, len));
            }
            BackendOp::PostSend { id, head, body, invalidate, signal, solicit: _ } => {
                let kind = message(head, body).map(|bytes| Kind::Send(bytes, invalidate));
                let work = Chained::Send(id.into(), signal, kind.unwrap_or(Kind::Outside));
                return self.chain(Request::Send { id, signal }, work);
            }
            BackendOp::PostRdma { id, verb, local, remote, signal } => {
                let kind = Kind::Rdma { verb, buffer: local.buffer.clone(), offset: local.offset, remote };
                return self.chain(Request::Rdma { id, signal }, Chained::Send(id.into(), signal, kind));
            }
            BackendOp::Connect
            | BackendOp::Accept
            | BackendOp::Disconnect
            | BackendOp::Register { .. }
            | BackendOp::Deregister { .. } => {}
        }
        self.ring_doorbell();
        match step {
            BackendOp::Connect | BackendOp::Accept => self.begin(),
            BackendOp::Disconnect => self.disconnect(),
            BackendOp::Register { id, buffer, access, segments_max: _ } => self.register(id, access, buffer),
            BackendOp::Deregister { id, segments: _ } => self.deregister(id),
            BackendOp::PostRecv { .. } | BackendOp::PostSend { .. } | BackendOp::PostRdma { .. } => {}
        }
    }

    fn ring_doorbell(&mut self) {
        self.queues.doorbell_rung();
        for work in std::mem::take(&mut self.chain) {
            match work {
                Chained::Recv(id, len) => self.receiving.post(id, len),
                Chained::Send(id, signal, kind) => self.sending.post(id, signal, kind),
            }
        }
        self.announce();
        self.advance();
    }

    fn next_input(&mut self) -> Option<Input<'_>> {
        if !self.has_input() {
            self.progress();
        }
        if let Some(connected) = self.link.poll_connected() {
            return Some(connected);
        }
        if !self.reports.is_empty() {
            return self.next_report();
        }
        self.queues.poll().or_else(|| self.link.poll_end())
    }
}

impl HostMemory for SocketEnd {
    fn allocate(&mut self, len: u32) -> Result<Buffer, OutOfMemory> {
        usize::try_from(len).map(Buffer::new).map_err(|_| OutOfMemory { len })
    }

    fn fill(&mut self, buffer: &Buffer, offset: u32, bytes: &[u8]) -> Result<(), OutOfRange> {
        buffer.fill(offset, bytes)
    }

    fn read(&self, buffer: &Buffer, offset: u32, out: &mut [u8]) -> Result<(), OutOfRange> {
        buffer.read(offset, out)
    }
}

/// The bytes of a message; `None` if they are not inside their buffer.
fn message(head: &Head, body: Option<Payload<'_, Buffer>>) -> Option<Vec<u8>> {
    let mut bytes = head.as_bytes().to_vec();
    match body {
        None => {}
        Some(Payload::Copy(body)) => bytes.extend_from_slice(body),
        Some(Payload::InPlace(local)) => bytes.extend(local.buffer.copy(local.offset, local.len).ok()?),
    }
    Some(bytes)
}
