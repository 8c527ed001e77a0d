//! What is between the two devices of a pair: plain data.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::task::Waker;

use smbd_core::{BufferDescriptorV1, RdmaVerb, RecvId, SendId, Token, WrId};
use smbd_link::transport::Heap;

/// Most completions that are taken at once, as by `smbd-verbs`.
pub const BATCH: usize = 16;

/// Completions that were taken and not looked at yet.
pub type Batch = VecDeque<Completion>;

/// Both devices.
pub type Cable = Rc<RefCell<[End; 2]>>;

/// What one of the devices has.
#[derive(Default)]
pub struct End {
    pub posted: VecDeque<RecvId>,
    pub completions: VecDeque<Completion>,
    /// Messages that have come, and vectors for others.
    pub packets: VecDeque<Packet>,
    pub spare: Vec<Vec<u8>>,
    /// What the peer may access.
    pub memory: Vec<(Token, Heap)>,
    /// Data on their way.
    pub moved: Vec<u8>,
    pub waker: Option<Waker>,
}

/// A message on its way.
pub struct Packet {
    pub bytes: Vec<u8>,
    pub invalidate: Option<Token>,
}

/// A work request in a chain.
pub enum Chained {
    Recv(RecvId),
    Send {
        id: SendId,
        is_signalled: bool,
        len: usize,
        invalidate: Option<Token>,
    },
    Rdma {
        id: WrId,
        is_signalled: bool,
        verb: RdmaVerb,
        local: Heap,
        offset: u32,
        remote: BufferDescriptorV1,
    },
}

#[derive(Clone, Copy)]
pub enum Completion {
    Work(WrId),
    Received { id: RecvId, len: usize, invalidated: Option<Token> },
}

/// Memory that messages are in, a slot for each.
pub struct Slab {
    bytes: Vec<u8>,
    slot_len: usize,
}

impl Slab {
    pub fn new(slots: u32, slot_len: u32) -> Self {
        let [slots, slot_len] = [slots, slot_len].map(|number| usize::try_from(number).expect("a size"));
        Self { bytes: vec![0; slots * slot_len], slot_len }
    }

    #[inline]
    pub fn slot(&self, slot: u16) -> &[u8] {
        let from = usize::from(slot) * self.slot_len;
        &self.bytes[from..][..self.slot_len]
    }

    #[inline]
    pub fn slot_mut(&mut self, slot: u16) -> &mut [u8] {
        let from = usize::from(slot) * self.slot_len;
        &mut self.bytes[from..][..self.slot_len]
    }
}
