//! The send queue: chained and posted work requests, and the memory that is kept for them.

use std::{collections::VecDeque, ptr::NonNull, sync::Arc};

use super::{ChainError, slab::Slab, work_list::WorkList};
use crate::ffi::{
    CallError, MemoryRegion, ProtectionDomain, Rights,
    sys::{ibv_post_send, ibv_qp, ibv_send_wr, ibv_sge},
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
        if self.is_full()
            || !self.list.push(|request, elements| {
                request.wr_id = ticket;
                fill(request, elements);
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
        self.flying.push_back(Flying { ticket, wr_id, slot, keeper });
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

    /// A request is back, and all before it; the caller's id. `None` if it is of no request that is out.
    #[inline]
    pub(super) fn complete(&mut self, ticket: u64) -> Option<u64> {
        while self.flying.front().is_some_and(|first| first.ticket <= ticket) {
            let Some(first) = self.flying.pop_front() else { break };
            free(&mut self.busy, first.slot);
            if first.ticket == ticket {
                return Some(first.wr_id);
            }
        }
        None
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
