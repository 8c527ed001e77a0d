//! A device that completes at once. What its functions do is not counted: it is nobody's code.

use std::collections::VecDeque;

use smbd_core::{Head, RecvId, Token, WrId};

/// A message on its way.
#[derive(Clone, Copy)]
pub struct Message {
    pub head: Head,
    pub len: usize,
    pub invalidate: Option<Token>,
}

/// A work request in a chain.
#[derive(Clone, Copy)]
pub enum Chained {
    Recv(RecvId),
    Send(WrId, bool, Message),
    Rdma(WrId),
}

#[derive(Clone, Copy)]
pub enum Completion {
    Work(WrId),
    Received(RecvId, Message),
}

/// Most completions that are taken at once, as by `smbd-verbs`.
const BATCH: usize = 16;

/// Completions that were taken and not looked at yet.
pub type Batch = VecDeque<Completion>;

#[derive(Clone)]
pub struct Hardware {
    completions: VecDeque<Completion>,
    posted: VecDeque<RecvId>,
    /// What was sent, for whoever carries it to the peer.
    pub sent: Vec<Message>,
}

impl Hardware {
    pub fn new() -> Self {
        Self {
            completions: VecDeque::with_capacity(1024),
            posted: VecDeque::with_capacity(1024),
            sent: Vec::with_capacity(1024),
        }
    }

    /// As `ibv_post_send` and `ibv_post_recv`.
    #[inline(never)]
    pub fn post(&mut self, chain: &mut Vec<Chained>) {
        for chained in chain.drain(..) {
            match chained {
                Chained::Recv(id) => self.posted.push_back(id),
                Chained::Send(id, is_signalled, message) => {
                    self.sent.push(message);
                    if is_signalled {
                        self.completions.push_back(Completion::Work(id));
                    }
                }
                Chained::Rdma(id) => self.completions.push_back(Completion::Work(id)),
            }
        }
    }

    /// As `ibv_poll_cq`.
    #[inline(never)]
    pub fn poll(&mut self, batch: &mut Batch) {
        let count = self.completions.len().min(BATCH);
        batch.extend(self.completions.drain(..count));
    }

    /// A message has come from the peer.
    pub fn arrive(&mut self, message: Message) {
        let id = self.posted.pop_front().expect("a posted receive");
        // What stands behind the header is of no interest, but the head of a long message is 32 bytes.
        let mut bytes = [0; 32];
        bytes[..message.head.as_bytes().len()].copy_from_slice(message.head.as_bytes());
        let message = Message { head: Head::of(&bytes[..message.len.min(32)]), ..message };
        self.completions.push_back(Completion::Received(id, message));
    }
}
