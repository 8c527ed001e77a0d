use smbd_core::error::WorkError;
use smbd_core::{BufferDescriptorV1, Head, RdmaVerb, Token};

use super::{Arrived, Nic, Packet, Payload, Personality, QpState, RecvDone, Reply, Response};
use crate::{AccessFault, Breach};

impl Nic {
    /// A packet of the peer arrived; then it goes [back](Self::take_back) to the device that sent it. What the peer did
    /// wrong is recorded at the peer.
    pub fn receive(&mut self, packet: &Packet, requester: &mut Self) -> Response {
        if self.state != QpState::Ready || self.deaf {
            return match self.config.personality {
                Personality::Roce if !self.deaf => Response::Lost,
                Personality::Roce | Personality::Iwarp => Response::Quiet,
            };
        }
        match packet {
            Packet::Send { seq, head, body_len, body, invalidate } => {
                self.take_message(*seq, head, *body_len, body, *invalidate, requester)
            }
            Packet::Write { seq, remote, payload } => self.take_write(*seq, *remote, payload, requester),
            Packet::Read { seq, remote, .. } => self.take_read(*seq, *remote, requester),
        }
    }

    /// A packet this device sent is through, or lost: its copied bytes may be used again.
    pub fn take_back(&mut self, packet: Packet) {
        match packet {
            Packet::Send { body, .. } => self.take_back_payload(body),
            Packet::Write { payload, .. } => self.take_back_payload(payload),
            Packet::Read { .. } => {}
        }
    }

    fn take_back_payload(&mut self, payload: Payload) {
        if let Payload::Copied(bytes) = payload {
            self.give_pooled(bytes);
        }
    }

    fn payload<'a>(&'a self, payload: &'a Payload) -> &'a [u8] {
        match payload {
            Payload::Nothing => &[],
            Payload::Borrowed(range) => self.buffers.range(*range),
            Payload::Copied(bytes) => bytes,
        }
    }

    const fn acked(&self, seq: u64) -> Response {
        match self.config.personality {
            Personality::Roce => Response::Reply(Reply::Ack { upto: seq + 1 }),
            Personality::Iwarp => Response::Quiet,
        }
    }

    fn take_message(
        &mut self,
        seq: u64,
        head: &Head,
        body_len: u32,
        body: &Payload,
        invalidate: Option<Token>,
        requester: &mut Self,
    ) -> Response {
        let len = head.len() + body_len;
        let Some(work) = self.rq.pop_front() else {
            requester.breaches.record(Breach::ReceiverNotReady);
            return self.refuse(seq, WorkError::ReceiverNotReady, false);
        };
        if len > work.len {
            requester.breaches.record(Breach::ReceiveTooSmall { len, max: work.len });
            self.complete_recv(RecvDone { id: work.id, result: Err(WorkError::LocalLength) });
            return self.refuse(seq, WorkError::RemoteOperation, true);
        }
        if let Some(token) = invalidate
            && let Err(fault) = self.invalidated_by_peer(token)
        {
            requester.breaches.record(Breach::of_invalidation(token, fault));
            self.complete_recv(RecvDone { id: work.id, result: Err(WorkError::RemoteInvalidRequest) });
            return match self.config.personality {
                // As seen on real devices: the requester believes that all is well.
                Personality::Roce => {
                    self.flush();
                    self.acked(seq)
                }
                Personality::Iwarp => self.refuse(seq, WorkError::RemoteInvalidRequest, true),
            };
        }
        if self.config.content {
            self.store(work.id.slot(), head, requester.payload(body));
        }
        // The completion shows the first bytes of the message, wherever its head ended.
        let head = self.head_of(work.id.slot(), head, len);
        let arrived = Arrived { head, len, invalidated: invalidate };
        self.complete_recv(RecvDone { id: work.id, result: Ok(arrived) });
        self.acked(seq)
    }

    fn store(&mut self, slot: u16, head: &Head, body: &[u8]) {
        let len = self.config.recv_buffer_len as usize;
        let start = usize::from(slot) * len;
        // Most of many buffers are never used.
        if self.slab.len() < start + len {
            self.slab.resize(start + len, 0);
        }
        let head = head.as_bytes();
        let at = start + head.len();
        if let Some(to) = self.slab.get_mut(start..at) {
            to.copy_from_slice(head);
        }
        if let Some(to) = self.slab.get_mut(at..at + body.len()) {
            to.copy_from_slice(body);
        }
    }

    fn head_of(&self, slot: u16, head: &Head, len: u32) -> Head {
        if head.len() == len || head.as_bytes().len() == Head::MAX {
            return *head;
        }
        let shown = (len as usize).min(Head::MAX);
        let start = usize::from(slot) * self.config.recv_buffer_len as usize;
        if let Some(bytes) = self.slab.get(start..start + shown) {
            return Head::of(bytes);
        }
        // Without content the body counts as zeros.
        let mut bytes = [0; Head::MAX];
        bytes[..head.as_bytes().len()].copy_from_slice(head.as_bytes());
        Head::of(&bytes[..shown])
    }

    fn invalidated_by_peer(&mut self, token: Token) -> Result<(), AccessFault> {
        let buffer = self.tokens.invalidate(self.domain, token)?;
        self.unhold(buffer, true);
        Ok(())
    }

    fn take_write(
        &mut self,
        seq: u64,
        remote: BufferDescriptorV1,
        payload: &Payload,
        requester: &mut Self,
    ) -> Response {
        match self.tokens.check(&self.buffers, self.domain, RdmaVerb::Write, remote) {
            Ok(range) => {
                self.buffers.dma(range, requester.payload(payload));
                self.acked(seq)
            }
            Err(fault) => self.refuse_access(seq, remote, fault, false, requester),
        }
    }

    fn take_read(&mut self, seq: u64, remote: BufferDescriptorV1, requester: &mut Self) -> Response {
        match self.tokens.check(&self.buffers, self.domain, RdmaVerb::Read, remote) {
            Ok(range) => Response::Reply(Reply::ReadData { seq, bytes: self.take_pooled(range) }),
            Err(fault) => self.refuse_access(seq, remote, fault, true, requester),
        }
    }

    fn refuse_access(
        &mut self,
        seq: u64,
        remote: BufferDescriptorV1,
        fault: AccessFault,
        read: bool,
        requester: &mut Self,
    ) -> Response {
        let BufferDescriptorV1 { offset, token, length: len } = remote;
        requester.breaches.record(Breach::Access { token, offset, len, fault });
        match self.config.personality {
            Personality::Roce => self.refuse(seq, WorkError::RemoteAccess, true),
            Personality::Iwarp => {
                self.flush();
                let error = WorkError::RemoteAccess;
                Response::Terminated(Reply::Terminate { error, read: read.then_some(seq) })
            }
        }
    }

    /// Refuses a request; `fatal` errors take this queue pair down as well.
    fn refuse(&mut self, seq: u64, error: WorkError, fatal: bool) -> Response {
        match self.config.personality {
            Personality::Roce => {
                self.deaf = true;
                if fatal {
                    self.flush();
                }
                Response::Reply(Reply::Nak { seq, error })
            }
            Personality::Iwarp => {
                self.flush();
                Response::Terminated(Reply::Terminate { error, read: None })
            }
        }
    }
}
