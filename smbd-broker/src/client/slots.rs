//! The memory of an owner.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use thiserror::Error;

use super::slot_file::{SlotFile, SlotMemory};
use crate::owner;
use crate::wire::{Area, Limits, Memory};

/// Bytes that are copied at once between slots and other memory.
const PIECE: usize = 16 << 10;

/// The slots of an owner. Clones are the same slots.
pub struct Slots<F: SlotFile = OwnedFd>(Arc<Mutex<State<F>>>);

struct State<F: SlotFile> {
    slots: owner::Slots,
    /// The most that the broker gives.
    slots_max: u16,
    /// What was made, with its first slot.
    files: Vec<(Memory, Arc<F>)>,
    /// Slots that were touched once.
    mappings: BTreeMap<u16, Arc<F::Slot>>,
    waiting: Vec<Waker>,
    shortage: Shortage,
    short: Option<Waker>,
}

/// Whether there are too few.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shortage {
    No,
    /// Somebody waits, and the broker was not asked for more.
    Untold,
    /// It was asked, and has not answered.
    Asked,
    /// It gives no more, and no slots have come back since.
    Refused,
}

/// There will not be as many slots as a transfer needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{len} bytes do not fit the {slots} slots of {slot_len} bytes that the broker gives")]
pub struct TooFewSlots {
    /// Bytes that were to be moved.
    pub len: u64,
    /// Slots that there are, or that there may be.
    pub slots: u16,
    /// Bytes of each.
    pub slot_len: u32,
}

impl<F: SlotFile> Slots<F> {
    /// None yet. They are [added](Self::add) when the broker has made some.
    #[must_use]
    pub fn new(limits: &Limits) -> Self {
        Self(Arc::new(Mutex::new(State {
            slots: owner::Slots::new(limits.slot_len),
            slots_max: limits.slots_max,
            files: Vec::new(),
            mappings: BTreeMap::new(),
            waiting: Vec::new(),
            shortage: Shortage::No,
            short: None,
        })))
    }

    /// Bytes of a slot.
    #[must_use]
    pub fn slot_len(&self) -> u32 {
        self.lock().slots.slot_len()
    }

    /// All slots, and those that are free.
    #[must_use]
    pub fn count(&self) -> (u16, usize) {
        let state = self.lock();
        (state.slots.total(), state.slots.free())
    }

    /// New ones, which the broker has made.
    pub fn add(&self, memory: Memory, file: F) {
        let mut state = self.lock();
        state.files.push((memory, Arc::new(file)));
        state.slots.add(memory);
        state.shortage = Shortage::No;
        wake(state);
    }

    /// The broker was asked for more, and gives none now. Who waits for more than there are waits no longer; others wait for those that
    /// are in use.
    pub fn none_added(&self) {
        let mut state = self.lock();
        state.shortage = Shortage::Refused;
        wake(state);
    }

    /// Ready when the broker is to be asked for more, because somebody waits. Then [`add`](Self::add) or
    /// [`none_added`](Self::none_added) says what came of it.
    pub fn poll_short(&self, cx: &Context<'_>) -> Poll<()> {
        let mut state = self.lock();
        if state.shortage == Shortage::Untold {
            state.shortage = Shortage::Asked;
            return Poll::Ready(());
        }
        state.short = Some(cx.waker().clone());
        Poll::Pending
    }

    /// Takes slots for `len` bytes, at least 1; `None` if there are not enough.
    #[must_use]
    pub fn take(&self, len: u64) -> Option<Vec<Area>> {
        self.lock().slots.take(len)
    }

    /// Takes slots for `len` bytes. Waits until there are enough.
    ///
    /// # Errors
    /// There will not be so many.
    pub fn poll_take(&self, cx: &Context<'_>, len: u64) -> Poll<Result<Vec<Area>, TooFewSlots>> {
        let mut state = self.lock();
        if let Some(areas) = state.slots.take(len) {
            return Poll::Ready(Ok(areas));
        }
        if let Some(error) = state.too_few(len) {
            // Whoever comes next may ask again.
            state.shortage = Shortage::No;
            return Poll::Ready(Err(error));
        }
        if !state.waiting.iter().any(|waker| waker.will_wake(cx.waker())) {
            state.waiting.push(cx.waker().clone());
        }
        if state.shortage != Shortage::No {
            return Poll::Pending;
        }
        state.shortage = Shortage::Untold;
        let short = state.short.take();
        drop(state);
        if let Some(waker) = short {
            waker.wake();
        }
        Poll::Pending
    }

    /// Gives slots back that no transfer uses.
    pub fn give(&self, areas: &[Area]) {
        let mut state = self.lock();
        state.slots.give(areas);
        if state.shortage == Shortage::Refused {
            state.shortage = Shortage::No;
        }
        wake(state);
    }

    /// Copies bytes into slots. Those that do not fit are left out.
    ///
    /// # Errors
    /// The slots are not there, or the system refuses.
    pub fn fill(&self, areas: &[Area], mut bytes: &[u8]) -> io::Result<()> {
        for area in areas {
            let len = bytes.len().min(area.len as usize);
            let (now, rest) = bytes.split_at_checked(len).unwrap_or_default();
            self.place(*area)?.fill(0, now);
            bytes = rest;
        }
        Ok(())
    }

    /// Copies bytes of slots to the end of `to`.
    ///
    /// # Errors
    /// The slots are not there, or the system refuses.
    pub fn read(&self, areas: &[Area], to: &mut Vec<u8>) -> io::Result<()> {
        for area in areas {
            self.place(*area)?.read(0, area.len as usize, to);
        }
        Ok(())
    }

    /// Copies bytes into slots, a piece of some KiB after the other: `next` fills each.
    ///
    /// # Errors
    /// That of `next`, or the slots are not there, or the system refuses.
    pub fn fill_with(
        &self,
        areas: &[Area],
        mut next: impl FnMut(&mut [u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut piece = Vec::new();
        self.in_pieces(areas, |slot, at, len| {
            piece.resize(len, 0);
            next(&mut piece)?;
            slot.fill(at, &piece);
            Ok(())
        })
    }

    /// Copies bytes out of slots, a piece of some KiB after the other: `each` gets it.
    ///
    /// # Errors
    /// That of `each`, or the slots are not there, or the system refuses.
    pub fn read_with(&self, areas: &[Area], mut each: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
        let mut piece = Vec::new();
        self.in_pieces(areas, |slot, at, len| {
            piece.clear();
            slot.read(at, len, &mut piece);
            each(&piece)
        })
    }

    fn in_pieces(
        &self,
        areas: &[Area],
        mut each: impl FnMut(&F::Slot, usize, usize) -> io::Result<()>,
    ) -> io::Result<()> {
        for area in areas {
            let (slot, len) = (self.place(*area)?, area.len as usize);
            for at in (0..len).step_by(PIECE) {
                each(&slot, at, PIECE.min(len.saturating_sub(at)))?;
            }
        }
        Ok(())
    }

    /// A slot where this process sees it. It is mapped when it is asked for first, and stays.
    ///
    /// # Errors
    /// There is no such slot, or the system refuses.
    pub fn mapping(&self, slot: u16) -> io::Result<Arc<F::Slot>> {
        let (file, at, len) = {
            let state = self.lock();
            if let Some(mapping) = state.mappings.get(&slot) {
                return Ok(Arc::clone(mapping));
            }
            let (file, at) = state.file(slot).ok_or(io::ErrorKind::InvalidInput)?;
            (file, at, state.slots.slot_len())
        };
        let mapping = Arc::new(file.slot(at, len)?);
        // Another thread may have been quicker.
        Ok(Arc::clone(self.lock().mappings.entry(slot).or_insert(mapping)))
    }

    /// The slot of an area.
    fn place(&self, area: Area) -> io::Result<Arc<F::Slot>> {
        if area.len > self.slot_len() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        self.mapping(area.slot)
    }

    fn lock(&self) -> MutexGuard<'_, State<F>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<F: SlotFile> State<F> {
    /// The file that has a slot, and where the slot begins there, in bytes.
    fn file(&self, slot: u16) -> Option<(Arc<F>, u64)> {
        let behind = |memory: &Memory| slot.checked_sub(memory.first).filter(|behind| *behind < memory.count);
        let (behind, file) =
            self.files.iter().find_map(|(memory, file)| Some((behind(memory)?, Arc::clone(file))))?;
        Some((file, u64::from(behind).saturating_mul(self.slots.slot_len().into())))
    }

    /// Whether it is in vain to wait for slots for so many bytes.
    fn too_few(&self, len: u64) -> Option<TooFewSlots> {
        let (total, slot_len) = (self.slots.total(), self.slots.slot_len());
        let slots = if self.shortage == Shortage::Refused { total } else { total.max(self.slots_max) };
        let most = u64::from(slots).saturating_mul(slot_len.into());
        (len > most).then_some(TooFewSlots { len, slots, slot_len })
    }
}

impl<F: SlotFile> Clone for Slots<F> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

fn wake<F: SlotFile>(mut state: MutexGuard<'_, State<F>>) {
    let waiting = std::mem::take(&mut state.waiting);
    drop(state);
    for waker in waiting {
        waker.wake();
    }
}

impl<F: SlotFile> fmt::Debug for Slots<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (total, free) = self.count();
        f.debug_struct("Slots").field("total", &total).field("free", &free).finish()
    }
}

#[cfg(test)]
mod tests;
