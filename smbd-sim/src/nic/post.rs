use smbd_core::error::WorkError;
use smbd_core::{BufferDescriptorV1, Head, RdmaVerb, RecvId, Token};

use super::requester::{Completes, Entry};
use super::work::{Body, Operation, PostError, RecvWork, SendWork};
use super::{Nic, Packet, Payload, Personality, QpState, RecvDone};
use crate::Breach;
use crate::memory::{Hold, Kind, Range};

/// No room.
const ENOMEM: PostError = PostError(12);
/// Makes no sense.
const EINVAL: PostError = PostError(22);

impl Nic {
    /// Posts a receive of `len` bytes.
    ///
    /// # Errors
    /// If the queue is full or the buffer too small (both breaches).
    pub fn post_recv(&mut self, id: RecvId, len: u32) -> Result<(), PostError> {
        let (depth, max) = (self.config.recv_queue, self.config.recv_buffer_len);
        if self.recvs >= depth {
            self.breaches.record(Breach::ReceiveQueueOverflow { work: id.into(), depth });
            return Err(ENOMEM);
        }
        if len > max || u32::from(id.slot()) >= self.config.recv_slots {
            self.breaches.record(Breach::ReceiveBuffer { work: id.into(), len, max });
            return Err(EINVAL);
        }
        self.recvs += 1;
        if let Some(len) = self.lengths.get_mut(usize::from(id.slot())) {
            *len = 0;
        }
        if self.state == QpState::Error {
            self.complete_recv(RecvDone { id, result: Err(WorkError::Flushed) });
        } else {
            self.rq.push_back(RecvWork { id, len });
        }
        Ok(())
    }

    /// Posts to the send queue. The packet, if there is one, is on its way from now on. Bytes that are a copy are taken out of
    /// `work`.
    ///
    /// # Errors
    /// If the queue is full or the queue pair cannot send yet (both breaches).
    pub fn post_send(&mut self, work: &mut SendWork) -> Result<Option<Packet>, PostError> {
        let depth = self.config.send_queue;
        if self.sq.len() >= depth as usize {
            self.breaches.record(Breach::SendQueueOverflow { work: work.id, depth });
            return Err(ENOMEM);
        }
        match self.state {
            QpState::Idle => {
                self.breaches.record(Breach::PostBeforeReady(work.id));
                return Err(EINVAL);
            }
            QpState::Error => {
                self.sq.push_flushed(Entry::new(work.id, work.signal, Completes::Now));
                self.check_send_cq();
                return Ok(None);
            }
            QpState::Ready => {}
        }
        let entry = Entry::new(work.id, work.signal, Completes::Now);
        match &mut work.operation {
            // Made where it is returned: it is large.
            Operation::Send { head, body, invalidate } => {
                return Ok(Some(self.start_send(entry, head, std::mem::take(body), *invalidate)));
            }
            Operation::Rdma { verb, local, remote } => {
                if let Some(packet) = self.start_rdma(entry, *verb, *local, *remote) {
                    return Ok(Some(packet));
                }
            }
            Operation::Bind => {
                self.sq.push(entry);
            }
            Operation::Invalidate(token) => self.start_invalidate(entry, *token),
        }
        self.retire();
        Ok(None)
    }

    /// Completes what has not to wait for the peer.
    fn retire(&mut self) {
        self.sq.retire();
        self.check_send_cq();
    }

    /// A request that the peer gets a packet for. Its number.
    fn enqueue(&mut self, entry: Entry) -> u64 {
        let seq = self.sq.push(entry);
        if self.config.personality == Personality::Iwarp {
            self.retire();
        }
        seq
    }

    fn mark_borrowed(&mut self, range: Range) -> Payload {
        match self.config.personality {
            Personality::Roce => Payload::Borrowed(range),
            Personality::Iwarp => Payload::Copied(self.take_pooled(range)),
        }
    }

    /// How sends and writes complete: with the peer's acknowledgement, or when handed over.
    const fn one_way(&self) -> Completes {
        match self.config.personality {
            Personality::Roce => Completes::Acked,
            Personality::Iwarp => Completes::Now,
        }
    }

    fn start_send(&mut self, mut entry: Entry, head: &Head, body: Body, invalidate: Option<Token>) -> Packet {
        if invalidate.is_some() && !self.config.send_with_invalidate {
            self.breaches.record(Breach::NoInvalidate(entry.id));
        }
        entry.completes = self.one_way();
        let (payload, body_len) = match body {
            Body::None => (Payload::Nothing, 0),
            Body::InPlace(range) => {
                self.buffers.hold(range.buffer, Hold::Read);
                entry.held = Some((range.buffer, false));
                (self.mark_borrowed(range), range.len)
            }
            Body::Copied(bytes) => {
                let len = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
                (Payload::Copied(bytes), len)
            }
        };
        let seq = self.enqueue(entry);
        Packet::Send { seq, head: *head, body_len, body: payload, invalidate }
    }

    fn start_rdma(
        &mut self,
        entry: Entry,
        verb: RdmaVerb,
        local: Range,
        remote: BufferDescriptorV1,
    ) -> Option<Packet> {
        let max = self.config.rdma_len_max;
        let whole = self.buffers.whole(local.buffer);
        if local.len != remote.length || whole.and_then(|w| w.part(local.offset, local.len)).is_none() {
            self.breaches.record(Breach::LocalRange { work: entry.id });
            self.break_with(entry, WorkError::LocalProtection);
            return None;
        }
        if local.len > max {
            self.breaches.record(Breach::RdmaLength { work: entry.id, len: local.len, max });
            self.break_with(entry, WorkError::LocalLength);
            return None;
        }
        match verb {
            RdmaVerb::Write => {
                self.buffers.hold(local.buffer, Hold::Read);
                let payload = self.mark_borrowed(local);
                let held = Some((local.buffer, false));
                let entry = Entry { held, completes: self.one_way(), ..entry };
                let seq = self.enqueue(entry);
                Some(Packet::Write { seq, remote, payload })
            }
            RdmaVerb::Read => {
                let depth = self.read_depth;
                if self.sq.reads() >= depth {
                    self.breaches.record(Breach::ReadDepth { work: entry.id, depth });
                    self.break_with(entry, WorkError::RemoteInvalidRequest);
                    return None;
                }
                self.buffers.hold(local.buffer, Hold::Write);
                let sink = self.open_sink(local);
                let entry = Entry {
                    held: Some((local.buffer, true)),
                    sink: Some((local, sink.map(|s| s.token))),
                    completes: Completes::Answered,
                    ..entry
                };
                let seq = self.enqueue(entry);
                Some(Packet::Read { seq, remote, sink })
            }
        }
    }

    /// On iWARP the answer to an RDMA Read is a write by the peer, so its target needs a token.
    fn open_sink(&mut self, local: Range) -> Option<BufferDescriptorV1> {
        match self.config.personality {
            Personality::Roce => None,
            Personality::Iwarp => {
                let (kind, access) = (Kind::Region, smbd_core::Access::Write);
                self.tokens.enable(&self.buffers, self.domain, kind, access, local)
            }
        }
    }

    fn start_invalidate(&mut self, entry: Entry, token: Token) {
        match self.tokens.invalidate(self.domain, token) {
            Ok(buffer) => {
                self.sq.push(Entry { held: Some((buffer, true)), ..entry });
            }
            Err(fault) => {
                self.breaches.record(Breach::of_invalidation(token, fault));
                self.break_with(entry, WorkError::LocalOperation);
            }
        }
    }

    /// The work request fails at once, and the queue pair with it.
    fn break_with(&mut self, entry: Entry, error: WorkError) {
        let seq = self.sq.push(Entry { completes: Completes::Answered, ..entry });
        self.fail(seq, error);
    }
}
