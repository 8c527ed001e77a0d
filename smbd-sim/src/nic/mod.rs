//! An RDMA device with one queue pair, as strict as the strictest real one.
//!
//! The device has no time and no wire: posting returns a [`Packet`], receiving one returns a [`Response`], and the
//! caller decides when they move. Work executes and completes in posting order. Use that verbs leave undefined is
//! recorded as a [`Breach`].

mod config;
mod packet;
mod post;
mod requester;
mod responder;
#[cfg(test)]
mod tests;
mod work;

use std::collections::VecDeque;

#[cfg(feature = "loops")]
use smbd_core::RdmaVerb;
use smbd_core::error::WorkError;
use smbd_core::{Head, RecvId, Token, WrId};

pub use config::{NicConfig, Personality};
pub use packet::{Packet, Payload, Reply, Response};
pub use work::{Body, Operation, PostError, SendWork};

use crate::memory::{Buffer, Buffers, DomainId, Tokens};
use crate::{Breach, Breaches};

/// State of the queue pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QpState {
    /// Takes receives only.
    Idle,
    /// Connected, as far as this side is concerned.
    Ready,
    /// Everything posted is flushed.
    Error,
}

/// Completion of a receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecvDone {
    /// The receive.
    pub id: RecvId,
    /// The message, or why there is none.
    pub result: Result<Arrived, WorkError>,
}

/// A message in a receive buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrived {
    /// Its first bytes.
    pub head: Head,
    /// Its length in bytes.
    pub len: u32,
    /// The token it invalidated here.
    pub invalidated: Option<Token>,
}

/// Completion of a send, an RDMA request, or one work request of a registration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SendDone {
    /// The work.
    pub id: WrId,
    /// How it ended.
    pub result: Result<(), WorkError>,
}

/// A device with one queue pair.
#[derive(Debug)]
pub struct Nic {
    /// What it is capable of.
    pub config: NicConfig,
    /// The host's memory.
    pub buffers: Buffers,
    /// The tokens that open it.
    pub tokens: Tokens,
    /// What this host did wrong.
    pub breaches: Breaches,
    domain: DomainId,
    state: QpState,
    read_depth: u16,
    /// A negative acknowledgement was sent: what the peer still has under way is dropped.
    deaf: bool,
    sq: requester::SendQueue,
    rq: VecDeque<work::RecvWork>,
    recv_cq: VecDeque<RecvDone>,
    /// Of the send queue, polled or vouched for.
    outcomes: VecDeque<SendDone>,
    /// Receives posted and not yet reported by `poll_recv`.
    recvs: u32,
    /// All receive buffers up to the last that a message came into.
    slab: Vec<u8>,
    /// Of the messages in it.
    lengths: Vec<u32>,
    pool: Vec<Vec<u8>>,
}

impl Nic {
    /// A device with nothing posted, whose tokens are valid for the peer of connection `domain`.
    #[must_use]
    pub fn new(config: NicConfig, domain: DomainId) -> Self {
        Self {
            buffers: Buffers::new(config.content),
            tokens: Tokens::new(config.first_token),
            breaches: Breaches::default(),
            domain,
            state: QpState::Idle,
            read_depth: config.read_depth,
            deaf: false,
            sq: requester::SendQueue::new(&config),
            rq: VecDeque::with_capacity(config.recv_queue as usize),
            recv_cq: VecDeque::with_capacity(config.recv_cq as usize),
            outcomes: VecDeque::with_capacity(config.send_queue as usize),
            recvs: 0,
            slab: Vec::new(),
            lengths: vec![0; config.recv_slots as usize],
            pool: Vec::new(),
            config,
        }
    }

    /// Another queue pair in the place of this one, in a protection domain of its own. Tokens stay as they are.
    pub fn renew(&mut self) {
        // Two hosts number theirs in turn.
        self.domain = DomainId(self.domain.0 + 2);
        self.state = QpState::Idle;
        self.read_depth = self.config.read_depth;
        self.deaf = false;
        self.sq = requester::SendQueue::new(&self.config);
        self.rq.clear();
        self.recv_cq.clear();
        self.outcomes.clear();
        self.recvs = 0;
    }

    /// State of the queue pair.
    #[must_use]
    pub const fn state(&self) -> QpState {
        self.state
    }

    /// The protection domain of its connection.
    #[must_use]
    pub const fn domain(&self) -> DomainId {
        self.domain
    }

    /// The connection is up as far as this side is concerned; `read_depth` was settled with the peer.
    pub const fn establish(&mut self, read_depth: u16) {
        if matches!(self.state, QpState::Idle) {
            self.state = QpState::Ready;
            self.read_depth = read_depth;
        }
    }

    /// Takes the queue pair down: everything posted completes as flushed.
    pub fn flush(&mut self) {
        if self.state == QpState::Error {
            return;
        }
        self.state = QpState::Error;
        self.sq.flush();
        while let Some(work) = self.rq.pop_front() {
            self.complete_recv(RecvDone { id: work.id, result: Err(WorkError::Flushed) });
        }
        self.check_send_cq();
    }

    /// Takes the queue pair down and destroys it: what was posted and is not complete is gone.
    pub fn destroy(&mut self) {
        if self.state != QpState::Error {
            self.state = QpState::Error;
            self.sq.lose();
        }
    }

    /// A receive that is gone with its queue pair.
    pub fn next_lost_recv(&mut self) -> Option<RecvId> {
        let work = self.rq.pop_front().filter(|_| self.state == QpState::Error)?;
        self.recvs -= 1;
        Some(work.id)
    }

    fn complete_recv(&mut self, done: RecvDone) {
        let depth = self.config.recv_cq;
        if self.recv_cq.len() >= depth as usize {
            self.breaches.record(Breach::CompletionQueueOverrun { depth });
        }
        self.recv_cq.push_back(done);
    }

    fn check_send_cq(&mut self) {
        let depth = self.config.send_cq;
        if self.sq.completions() > depth as usize {
            self.breaches.record(Breach::CompletionQueueOverrun { depth });
        }
    }

    /// Next completion of the receive queue.
    pub fn poll_recv(&mut self) -> Option<RecvDone> {
        let done = self.recv_cq.pop_front()?;
        self.recvs -= 1;
        if let Some(len) = self.lengths.get_mut(usize::from(done.id.slot())) {
            *len = done.result.map_or(0, |message| message.len);
        }
        Some(done)
    }

    /// Memory that is open to the peer, with its tokens.
    #[cfg(feature = "loops")]
    pub(crate) fn opened(&self) -> impl Iterator<Item = (Token, crate::memory::Range)> + '_ {
        self.tokens.open(self.domain).filter_map(|opened| {
            let mut verbs = [RdmaVerb::Read, RdmaVerb::Write].into_iter();
            let range =
                verbs.find_map(|verb| self.tokens.check(&self.buffers, self.domain, verb, opened).ok());
            Some((opened.token, range?))
        })
    }

    /// Completions of the receive queue that were not polled.
    #[must_use]
    pub fn recv_completions(&self) -> usize {
        self.recv_cq.len()
    }

    /// Completions of the send queue that were not polled.
    #[must_use]
    pub fn send_completions(&self) -> usize {
        self.sq.completions()
    }

    /// Whether there is something to poll.
    #[must_use]
    pub fn has_completions(&self) -> bool {
        !self.recv_cq.is_empty() || self.sq.completions() > 0
    }

    /// Receives in the queue.
    #[must_use]
    pub fn recvs_posted(&self) -> usize {
        self.rq.len()
    }

    /// Receives posted and not polled.
    #[must_use]
    pub const fn recvs_open(&self) -> u32 {
        self.recvs
    }

    /// Work requests that occupy the send queue.
    #[must_use]
    pub fn sends_posted(&self) -> usize {
        self.sq.len()
    }

    /// Whether nothing is posted and nothing waits to be polled.
    #[must_use]
    pub fn is_drained(&self) -> bool {
        self.recvs == 0 && self.sq.len() == 0
    }

    /// The bytes of the message in a receive buffer, header included; none without content.
    #[must_use]
    pub fn received(&self, id: RecvId) -> &[u8] {
        let len = self.config.recv_buffer_len as usize;
        let start = usize::from(id.slot()) * len;
        self.slab.get(start..start + len).unwrap_or(&[])
    }

    /// As [`received`](Self::received), cut to the length of the message; empty while the slot is posted.
    #[must_use]
    pub fn message(&self, id: RecvId) -> &[u8] {
        let len = self.lengths.get(usize::from(id.slot())).copied().unwrap_or(0);
        self.received(id).get(..len as usize).unwrap_or(&[])
    }

    fn take_pooled(&mut self, range: crate::memory::Range) -> Vec<u8> {
        filled(self.pool.pop(), self.buffers.range(range))
    }

    /// A packet that this device sent has the bytes that its memory holds now: a queue pair that is down sends nothing again.
    pub(crate) fn detach(&mut self, packet: &mut Packet) {
        if let Packet::Send { body: payload, .. } | Packet::Write { payload, .. } = packet
            && let Payload::Borrowed(range) = *payload
        {
            *payload = Payload::Copied(self.take_pooled(range));
        }
    }

    /// A copy of `bytes` to send, in memory of the device.
    pub fn copy(&mut self, bytes: &[u8]) -> Body {
        Body::Copied(filled(self.pool.pop(), bytes))
    }

    fn give_pooled(&mut self, bytes: Vec<u8>) {
        if bytes.capacity() > 0 {
            self.pool.push(bytes);
        }
    }

    /// A buffer that the device used is no longer needed by it.
    pub(crate) fn unhold(&mut self, buffer: Buffer, write: bool) {
        self.buffers
            .unhold(buffer, if write { crate::memory::Hold::Write } else { crate::memory::Hold::Read });
    }
}

/// A copy of `bytes`, in memory that was used before if there is some.
fn filled(used: Option<Vec<u8>>, bytes: &[u8]) -> Vec<u8> {
    let mut copy = used.unwrap_or_default();
    copy.clear();
    copy.extend_from_slice(bytes);
    copy
}
