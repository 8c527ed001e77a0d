//! A device that completes at once. What its functions do is not counted: it is nobody's code.

use std::collections::VecDeque;

use smbd_core::{Head, RecvId, SendId, Token, WrId};
use smbd_testkit::slab::{BATCH, Batch, Completion, Slab};

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
    Send { id: SendId, is_signalled: bool, len: usize, invalidate: Option<Token> },
    Rdma { id: WrId, is_signalled: bool },
}

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

    /// It is one of many, and gives back the memory that it does not need now.
    pub fn shrink(&mut self) {
        self.completions.shrink_to_fit();
        self.posted.shrink_to_fit();
        self.sent.shrink_to_fit();
    }

    /// As `ibv_post_recv`.
    #[inline(never)]
    pub fn post_recv(&mut self, chain: &mut Vec<Chained>) {
        for chained in chain.drain(..) {
            let Chained::Recv(id) = chained else { unreachable!("a chain is of one queue") };
            self.posted.push_back(id);
        }
    }

    /// As `ibv_post_send`.
    #[inline(never)]
    pub fn post_send(&mut self, chain: &mut Vec<Chained>, memory: &Slab) {
        for chained in chain.drain(..) {
            match chained {
                Chained::Recv(_) => unreachable!("a chain is of one queue"),
                Chained::Send { id, is_signalled, len, invalidate } => {
                    self.sent.push(Message {
                        head: Head::of(&memory.slot(id.slot())[..len.min(32)]),
                        len,
                        invalidate,
                    });
                    if is_signalled {
                        self.completions.push_back(Completion::Work(id.into()));
                    }
                }
                Chained::Rdma { id, is_signalled: true } => self.completions.push_back(Completion::Work(id)),
                Chained::Rdma { is_signalled: false, .. } => {}
            }
        }
    }

    /// As `ibv_poll_cq`.
    #[inline(never)]
    pub fn poll(&mut self, batch: &mut Batch) {
        let count = self.completions.len().min(BATCH);
        batch.extend(self.completions.drain(..count));
    }

    /// A message has come from the peer. What stands behind its head is of no interest.
    pub fn arrive(&mut self, message: Message, memory: &mut Slab) {
        let id = self.posted.pop_front().expect("a posted receive");
        let Message { head, len, invalidate: invalidated } = message;
        memory.slot_mut(id.slot())[..head.as_bytes().len()].copy_from_slice(head.as_bytes());
        self.completions.push_back(Completion::Received { id, len, invalidated });
    }
}
