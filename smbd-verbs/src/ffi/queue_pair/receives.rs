//! The receive queue: posted slots, and slots that hold a message.

use std::{ptr::NonNull, sync::Arc};

use super::{ChainError, slab::Slab, work_list::WorkList};
use crate::ffi::{
    CallError, ProtectionDomain, Rights,
    sys::{ibv_post_recv, ibv_qp, ibv_recv_wr},
};

/// Marks the `wr_id` of a receive; the rest is a count and the slot, so that no completion is taken for another one.
pub(super) const RECEIVE: u64 = 1 << 63;

const SLOT_BITS: u32 = 16;

/// What a slot is doing. A ticket is never 0.
#[derive(Clone, Copy, Default)]
struct Slot {
    /// The `wr_id` at the device while the slot is there, else 0.
    ticket: u64,
    /// The caller's `wr_id`.
    wr_id: u64,
    /// How many bytes of a message it holds.
    held: u32,
}

pub(super) struct Receives {
    list: WorkList<ibv_recv_wr>,
    slab: Slab,
    slots: Box<[Slot]>,
    next: u64,
    /// How many more the queue takes.
    room: u32,
}

impl Receives {
    pub(super) fn slab(domain: &Arc<ProtectionDomain>, slots: u32, len: u32) -> Result<Slab, CallError> {
        Slab::new(domain, slots, len, Rights { local_write: true, ..Rights::default() })
    }

    pub(super) fn new(slab: Slab, room: u32) -> Self {
        let slots = vec![Slot::default(); slab.slots() as usize].into_boxed_slice();
        Self { list: WorkList::new(room as usize), slab, slots, next: 0, room }
    }

    #[inline]
    pub(super) fn chain(&mut self, wr_id: u64, index: u16, len: u32) -> Result<(), ChainError> {
        let slots = self.slab.slots();
        let Some(slot) = self.slots.get_mut(usize::from(index)) else {
            return Err(ChainError::NoSlot { slot: index, slots });
        };
        if slot.ticket != 0 {
            return Err(ChainError::InFlight { slot: index });
        }
        if len > self.slab.slot_len() {
            return Err(ChainError::TooLong { len: len as usize, slot_len: self.slab.slot_len() });
        }
        if self.room == 0 {
            return Err(ChainError::Full);
        }
        let ticket = RECEIVE | (self.next << SLOT_BITS & !RECEIVE) | u64::from(index);
        let (addr, lkey) = (self.slab.addr(index), self.slab.lkey());
        let pushed = self.list.push(|request, elements| {
            request.wr_id = ticket;
            // To some devices an element of no bytes is one of 2 GiB.
            request.num_sge = i32::from(len > 0);
            elements[0].addr = addr;
            elements[0].length = len;
            elements[0].lkey = lkey;
        });
        if !pushed {
            return Err(ChainError::Full);
        }
        self.next = self.next.wrapping_add(1);
        self.room -= 1;
        *slot = Slot { ticket, wr_id, held: 0 };
        Ok(())
    }

    pub(super) const fn chained(&self) -> usize {
        self.list.len()
    }

    /// Hands over the first `count` of the chain.
    ///
    /// # Safety
    /// `queue` is the queue pair of this queue, and exists.
    #[inline]
    pub(super) unsafe fn hand_over(
        &mut self,
        queue: NonNull<ibv_qp>,
        count: usize,
    ) -> Result<(), (usize, i32)> {
        self.list.hand_over(0, count, |first, refused| {
            // SAFETY: the queue pair exists (the caller); the requests name slots of the slab, which are kept until
            // the queue pair is gone.
            unsafe { ibv_post_recv(queue.as_ptr(), first, refused) }
        })
    }

    /// Forgets the chain; all behind the first `accepted` were not taken.
    #[inline]
    pub(super) fn end_chain(&mut self, accepted: usize) {
        for index in accepted..self.list.len() {
            let ticket = self.list.get(index).map_or(0, |request| request.wr_id);
            if let Some(slot) = self.slots.get_mut(slot_of(ticket)) {
                *slot = Slot::default();
                self.room += 1;
            }
        }
        self.list.clear();
    }

    /// A receive is back with `byte_len` bytes; the caller's id. `None` if it is of no receive that is out.
    #[inline]
    pub(super) fn complete(&mut self, ticket: u64, byte_len: u32) -> Option<u64> {
        let slot = self.slots.get_mut(slot_of(ticket))?;
        if slot.ticket != ticket {
            return None;
        }
        slot.ticket = 0;
        slot.held = byte_len.min(self.slab.slot_len());
        self.room += 1;
        Some(slot.wr_id)
    }

    #[inline]
    pub(super) fn received(&self, index: u16) -> &[u8] {
        match self.slots.get(usize::from(index)) {
            // SAFETY: there is a slot of this number, and the length was clipped to it. It is not with the device.
            Some(slot) if slot.ticket == 0 => unsafe { self.slab.bytes(index, slot.held) },
            _ => &[],
        }
    }
}

#[inline]
const fn slot_of(ticket: u64) -> usize {
    (ticket & ((1 << SLOT_BITS) - 1)) as usize
}

#[cfg(test)]
mod tests;
