//! Slots: memory that an owner and the broker's devices share.
//!
//! Each connection has devices with memory of their own. A slot has a block at each of them that has used it; the one that was used last
//! has what is in it.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use smbd_sim::Side;
use smbd_sim::device::Placed;
use smbd_sim::loops::Block;
use smbd_sim::memory::Range;

use crate::place;

/// A slot, as the broker names it.
pub struct Slot {
    slab: Arc<Slab>,
    /// It is the name that the broker keeps, not one of a transfer.
    is_kept: bool,
}

/// New slots, as they are passed to their owner.
pub type Slots = Arc<[Arc<Slab>]>;

/// A slot, as its owner has it.
pub struct Slab {
    /// Which of all slots of a run it is.
    number: usize,
    len: u32,
    state: Mutex<State>,
}

struct State {
    bytes: Vec<u8>,
    blocks: BTreeMap<usize, Block>,
    last: Option<usize>,
}

/// New slots.
pub fn slots(first: usize, count: u16, len: u32) -> (Vec<Slot>, Vec<Arc<Slab>>) {
    let slabs: Vec<_> = (0..usize::from(count))
        .map(|at| {
            let state = State { bytes: vec![0; len as usize], blocks: BTreeMap::new(), last: None };
            Arc::new(Slab { number: first + at, len, state: Mutex::new(state) })
        })
        .collect();
    place::count_slots(isize::try_from(count).unwrap_or(0));
    (slabs.iter().map(|slab| Slot { slab: Arc::clone(slab), is_kept: true }).collect(), slabs)
}

impl Slab {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The devices of this connection are about to use it.
    fn bring_to(&self, number: usize) {
        let mut state = self.lock();
        if state.last == Some(number) {
            return;
        }
        if let Some(other) = state.user() {
            place::broken(format!(
                "slots: slot {} goes to connection {number}, and {other} uses it",
                self.number
            ));
        }
        state.load();
        let Some(stage) = place::stage(number) else { return };
        let len = self.len;
        let state = &mut *state;
        let block = state.blocks.entry(number).or_insert_with(|| stage.alloc(Side::Acceptor, len));
        let filled = stage.fill(block, 0, &state.bytes);
        debug_assert!(filled.is_ok(), "blocks are as long as slots");
        state.last = Some(number);
    }

    /// The connection whose device may still use it.
    pub fn user(&self) -> Option<usize> {
        self.lock().user()
    }

    /// What is in it.
    pub fn bytes(&self) -> Vec<u8> {
        let mut state = self.lock();
        state.load();
        state.bytes.clone()
    }

    /// Its owner writes to it, from its beginning.
    pub fn fill(&self, bytes: &[u8]) {
        let mut state = self.lock();
        state.load();
        let len = bytes.len().min(state.bytes.len());
        state.bytes[..len].copy_from_slice(&bytes[..len]);
        if let Some(last) = state.last
            && let (Some(stage), Some(block)) = (place::stage(last), state.blocks.get(&last))
        {
            let _ = stage.fill(block, 0, &state.bytes);
        }
    }
}

impl State {
    fn user(&self) -> Option<usize> {
        let is_used =
            |(number, block): &(&usize, &Block)| place::stage(**number).is_some_and(|s| s.in_use(block));
        self.blocks.iter().find(is_used).map(|(number, _)| *number)
    }

    /// Takes what a device has written.
    fn load(&mut self) {
        if let Some(last) = self.last
            && let (Some(stage), Some(block)) = (place::stage(last), self.blocks.get(&last))
        {
            let _ = stage.read(block, 0, &mut self.bytes);
        }
    }
}

impl Clone for Slot {
    fn clone(&self) -> Self {
        if let Some(number) = place::current() {
            self.slab.bring_to(number);
        }
        Self { slab: Arc::clone(&self.slab), is_kept: false }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        if !self.is_kept {
            return;
        }
        place::count_slots(-1);
        if !place::is_dying()
            && let Some(user) = self.slab.user()
        {
            let number = self.slab.number;
            place::broken(format!("slots: slot {number} is given up, and connection {user} uses it"));
        }
    }
}

impl Placed for Slot {
    fn range(&self) -> Range {
        let state = self.slab.lock();
        let block = place::current().and_then(|number| state.blocks.get(&number));
        let found = block.or_else(|| state.blocks.values().next()).map(Placed::range);
        if block.is_none() || place::current() != state.last {
            place::broken(format!("slots: slot {} is used where it was not given", self.slab.number));
        }
        found.unwrap_or_else(|| unreachable_range(self.slab.number))
    }
}

#[expect(clippy::panic, reason = "a slot that no device was given is a mistake of this swarm")]
fn unreachable_range(number: usize) -> Range {
    panic!("slot {number} is nowhere")
}

impl fmt::Debug for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Slot").field(&self.slab.number).finish()
    }
}

impl fmt::Debug for Slab {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Slab").field(&self.number).finish()
    }
}
