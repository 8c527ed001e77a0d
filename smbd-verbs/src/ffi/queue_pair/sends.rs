//! The send queue: chained and posted work requests, and the memory that is kept for them.

use std::{collections::VecDeque, ptr::NonNull, sync::Arc};

use super::{ChainError, Completion, slab::Slab, work_list::WorkList};
use crate::ffi::{
    CallError, MemoryRegion, ProtectionDomain, Rights,
    sys::{ibv_post_send, ibv_qp, ibv_send_flags, ibv_send_wr, ibv_sge, ibv_wr_opcode},
    window::WindowHandle,
};

/// A bind on its way.
pub(super) struct Bind {
    pub(super) window: Arc<WindowHandle>,
    /// The key it gives.
    pub(super) key: u32,
}

/// What a work request needs until it is back. A window is let go before the region that it is bound to.
#[derive(Default)]
pub(super) struct Keeper {
    pub(super) bind: Option<Bind>,
    pub(super) _region: Option<Arc<MemoryRegion>>,
}

impl Keeper {
    /// Memory of the upper layer.
    #[inline]
    pub(super) fn region(region: &Arc<MemoryRegion>) -> Self {
        Self { bind: None, _region: Some(Arc::clone(region)) }
    }
}

/// A work request that is out, or chained.
struct Flying {
    /// Its `wr_id` at the device: a count, so that completions of requests that were given up are known.
    ticket: u64,
    /// The caller's.
    wr_id: u64,
    slot: Option<u16>,
    keeper: Keeper,
    /// A signalled RDMA Read: it is not back because something behind it is. One without a signal is for devices where it would be.
    is_signalled_read: bool,
    /// What the device has said of it.
    back: Option<Completion>,
}

pub(super) struct Sends {
    list: WorkList<ibv_send_wr>,
    pub(super) slab: Slab,
    /// Slots whose send is not back.
    busy: Box<[bool]>,
    /// In posting order, those of the chain last.
    flying: VecDeque<Flying>,
    capacity: usize,
    next: u64,
    /// Binds in the chain.
    binds: usize,
    /// Which requests of the chain are handed over alone.
    alone: Box<[bool]>,
    any_alone: bool,
    /// The device has said something since it was last looked what is back.
    is_told: bool,
}

impl Sends {
    pub(super) fn slab(domain: &Arc<ProtectionDomain>, slots: u32, len: u32) -> Result<Slab, CallError> {
        Slab::new(domain, slots, len, Rights::default())
    }

    pub(super) fn new(slab: Slab, room: u32) -> Self {
        let capacity = room as usize;
        Self {
            list: WorkList::new(capacity),
            busy: vec![false; slab.slots() as usize].into_boxed_slice(),
            slab,
            flying: VecDeque::with_capacity(capacity),
            capacity,
            next: 0,
            binds: 0,
            alone: vec![false; capacity].into_boxed_slice(),
            any_alone: false,
            is_told: false,
        }
    }

    /// Copies `head` and `body` into a slot and takes it; the element that names them.
    #[inline]
    pub(super) fn load(&mut self, slot: u16, head: &[u8], body: &[u8]) -> Result<ibv_sge, ChainError> {
        let full = self.is_full();
        let Some(busy) = self.busy.get_mut(usize::from(slot)) else {
            return Err(ChainError::NoSlot { slot, slots: self.slab.slots() });
        };
        if *busy {
            return Err(ChainError::InFlight { slot });
        }
        let (len, slot_len) = (head.len().saturating_add(body.len()), self.slab.slot_len());
        if len > slot_len as usize {
            return Err(ChainError::TooLong { len, slot_len });
        }
        if full {
            return Err(ChainError::Full);
        }
        *busy = true;
        // SAFETY: there is a slot of this number, and both fit into it.
        unsafe { self.slab.write(slot, head, body) };
        Ok(ibv_sge { addr: self.slab.addr(slot), length: len as u32, lkey: self.slab.lkey() })
    }

    /// Whether all places are taken by what is out or chained.
    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.flying.len() >= self.capacity
    }

    /// Chains a request. `fill` writes all but its `wr_id`, over what an earlier use left there.
    #[inline]
    pub(super) fn chain(
        &mut self,
        wr_id: u64,
        slot: Option<u16>,
        keeper: Keeper,
        alone: bool,
        fill: impl FnOnce(&mut ibv_send_wr, &mut [ibv_sge; 2]),
    ) -> Result<(), ChainError> {
        let (ticket, index) = (self.next, self.list.len());
        let mut is_signalled_read = false;
        if self.is_full()
            || !self.list.push(|request, elements| {
                request.wr_id = ticket;
                fill(request, elements);
                is_signalled_read = request.opcode == ibv_wr_opcode::IBV_WR_RDMA_READ
                    && request.send_flags & ibv_send_flags::IBV_SEND_SIGNALED.0 != 0;
            })
        {
            return Err(ChainError::Full);
        }
        self.next += 1;
        self.binds += usize::from(keeper.bind.is_some());
        self.any_alone |= alone;
        if let Some(place) = self.alone.get_mut(index) {
            *place = alone;
        }
        self.flying.push_back(Flying { ticket, wr_id, slot, keeper, is_signalled_read, back: None });
        Ok(())
    }

    pub(super) const fn chained(&self) -> usize {
        self.list.len()
    }

    /// Hands over the first `count` of the chain, in as many calls as it takes; `calls` counts them.
    ///
    /// # Safety
    /// `queue` is the queue pair of this queue, and exists.
    #[inline]
    pub(super) unsafe fn hand_over(
        &mut self,
        queue: NonNull<ibv_qp>,
        count: usize,
        calls: &mut u64,
    ) -> Result<(), (usize, i32)> {
        let mut from = 0;
        while from < count {
            let part = if self.any_alone { self.part(from, count) } else { count - from };
            *calls += 1;
            let result = self.list.hand_over(from, part, |first, refused| {
                // SAFETY: the queue pair exists (the caller). Slots, regions and windows that the requests name are
                // kept in `flying`.
                unsafe { ibv_post_send(queue.as_ptr(), first, refused) }
            });
            result.map_err(|(accepted, errno)| (from + accepted, errno))?;
            from += part;
        }
        Ok(())
    }

    /// How many from `from` on go in one call.
    fn part(&self, from: usize, count: usize) -> usize {
        let rest = self.alone.get(from..count).unwrap_or_default();
        match rest.iter().position(|&alone| alone) {
            Some(0) => 1,
            Some(before) => before,
            None => count - from,
        }
    }

    /// Forgets the chain; all behind the first `accepted` were not taken, and their keepers are dropped.
    #[inline]
    pub(super) fn end_chain(&mut self, accepted: usize) {
        let chained = self.list.len();
        if self.binds > 0 || accepted < chained {
            self.end_binds_and_refused(accepted);
        }
        self.list.clear();
        self.any_alone = false;
    }

    #[cold]
    fn end_binds_and_refused(&mut self, accepted: usize) {
        let before = self.flying.len() - self.list.len();
        for (index, request) in self.flying.iter_mut().skip(before).enumerate() {
            if let Some(bind) = &request.keeper.bind {
                bind.window.end_bind((index < accepted).then_some(bind.key));
            }
            if index >= accepted {
                free(&mut self.busy, request.slot);
            }
        }
        self.flying.truncate(before + accepted);
        self.binds = 0;
    }

    /// Notes a completion of the device, and returns it, with the caller's id, if it is that of the first request. If not,
    /// [`back`](Self::back) says what follows. It is dropped if it is of no request that is out.
    #[inline]
    pub(super) fn complete(&mut self, completion: Completion) -> Option<Completion> {
        if self.flying.front().is_some_and(|first| first.ticket == completion.wr_id) && !self.is_told {
            let first = self.flying.pop_front()?;
            free(&mut self.busy, first.slot);
            // What is back behind a Read has waited for it.
            self.is_told = first.is_signalled_read;
            return Some(Completion { wr_id: first.wr_id, ..completion });
        }
        self.note(completion);
        None
    }

    fn note(&mut self, completion: Completion) {
        let found = self.flying.binary_search_by_key(&completion.wr_id, |request| request.ticket);
        if let Some(request) = found.ok().and_then(|at| self.flying.get_mut(at)) {
            request.back = Some(completion);
            self.is_told = true;
        }
    }

    /// The next request that is back, with the caller's id; all before it are as well, which may have had no completion of their own.
    ///
    /// A signalled RDMA Read is back when its data are, which a later request says nothing about: siw completes a send when TCP has it, also
    /// while a Read before it waits for its data (`siw_qp_sq_process`). What is behind such a Read waits for it.
    #[inline]
    pub(super) fn back(&mut self) -> Option<Completion> {
        if !self.is_told {
            return None;
        }
        let first =
            self.flying.iter().position(|request| request.back.is_some() || request.is_signalled_read);
        let found = first.and_then(|at| Some((at, self.flying.get(at)?.back?)));
        let Some((at, mut completion)) = found else {
            self.is_told = false;
            return None;
        };
        for request in self.flying.drain(..=at) {
            free(&mut self.busy, request.slot);
            completion.wr_id = request.wr_id;
        }
        Some(completion)
    }

    /// Whether something may be back.
    pub(super) const fn may_be_back(&self) -> bool {
        self.is_told
    }

    /// Drops all keepers: the device does nothing any more.
    pub(super) fn give_up(&mut self) {
        for request in &mut self.flying {
            request.keeper = Keeper::default();
        }
    }
}

#[inline]
fn free(busy: &mut [bool], slot: Option<u16>) {
    if let Some(busy) = slot.and_then(|slot| busy.get_mut(usize::from(slot))) {
        *busy = false;
    }
}

#[cfg(test)]
mod tests;
