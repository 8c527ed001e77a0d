//! What the devices of benchmarks have: memory for messages, and completions.

use std::collections::VecDeque;

use smbd_core::{RecvId, Token, WrId};

/// Most completions that are taken at once, as by `smbd-verbs`.
pub const BATCH: usize = 16;

/// Completions that were taken and not looked at yet.
pub type Batch = VecDeque<Completion>;

#[derive(Clone, Copy)]
pub enum Completion {
    Work(WrId),
    Received { id: RecvId, len: usize, invalidated: Option<Token> },
}

/// Memory that messages are in, a slot for each.
#[derive(Clone)]
pub struct Slab {
    bytes: Vec<u8>,
    slot_len: usize,
}

impl Slab {
    pub fn new(slots: u32, slot_len: u32) -> Self {
        let [slots, slot_len] = [slots, slot_len].map(|number| usize::try_from(number).expect("a size"));
        Self { bytes: vec![0; slots * slot_len], slot_len }
    }

    /// Nothing comes any more, and nothing leaves.
    pub fn forget(&mut self) {
        self.bytes = Vec::new();
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
