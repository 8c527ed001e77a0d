//! The memory of an owner.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use crate::owner;
use crate::socket::Mapping;
use crate::wire::{Area, Memory};

/// The slots of an owner. Clones are the same slots.
#[derive(Clone)]
pub struct Slots(Arc<Mutex<State>>);

struct State {
    slots: owner::Slots,
    /// What was made, with its first slot.
    files: Vec<(Memory, Arc<File>)>,
    /// Slots that were touched once.
    mappings: BTreeMap<u16, Arc<Mapping>>,
    waiting: Vec<Waker>,
    /// Whether there were not enough, and who wants to know.
    is_short: bool,
    short: Option<Waker>,
}

impl Slots {
    pub(crate) fn new(slot_len: u32) -> Self {
        let slots = owner::Slots::new(slot_len);
        Self(Arc::new(Mutex::new(State {
            slots,
            files: Vec::new(),
            mappings: BTreeMap::new(),
            waiting: Vec::new(),
            is_short: false,
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

    /// New ones.
    pub(crate) fn add(&self, memory: Memory, file: OwnedFd) {
        let mut state = self.lock();
        state.files.push((memory, Arc::new(File::from(file))));
        state.slots.add(memory);
        wake(state);
    }

    /// Ready when somebody has waited for slots.
    #[cfg(feature = "tokio")]
    pub(super) fn poll_short(&self, cx: &Context<'_>) -> Poll<()> {
        let mut state = self.lock();
        if std::mem::take(&mut state.is_short) {
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
    pub fn poll_take(&self, cx: &Context<'_>, len: u64) -> Poll<Vec<Area>> {
        let mut state = self.lock();
        match state.slots.take(len) {
            Some(areas) => Poll::Ready(areas),
            None => {
                if !state.waiting.iter().any(|waker| waker.will_wake(cx.waker())) {
                    state.waiting.push(cx.waker().clone());
                }
                state.is_short = true;
                let short = state.short.take();
                drop(state);
                if let Some(waker) = short {
                    waker.wake();
                }
                Poll::Pending
            }
        }
    }

    /// Gives slots back that no transfer uses.
    pub fn give(&self, areas: &[Area]) {
        let mut state = self.lock();
        state.slots.give(areas);
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
            self.place(*area)?.fill(now);
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
            self.place(*area)?.read(area.len as usize, to);
        }
        Ok(())
    }

    /// A slot where this process sees it. It is mapped when it is asked for first, and stays.
    ///
    /// # Errors
    /// There is no such slot, or the system refuses.
    pub fn mapping(&self, slot: u16) -> io::Result<Arc<Mapping>> {
        if let Some(mapping) = self.lock().mappings.get(&slot) {
            return Ok(Arc::clone(mapping));
        }
        let (file, at) = self.file(slot).ok_or(io::ErrorKind::InvalidInput)?;
        let mapping = Arc::new(Mapping::new(&file, at, self.slot_len() as usize)?);
        // Another thread may have been quicker.
        Ok(Arc::clone(self.lock().mappings.entry(slot).or_insert(mapping)))
    }

    /// The file that has a slot, and where the slot begins there, in bytes: for whoever maps it. `None` if there is no such slot.
    #[must_use]
    pub fn file(&self, slot: u16) -> Option<(Arc<File>, u64)> {
        let state = self.lock();
        let behind = |memory: &Memory| slot.checked_sub(memory.first).filter(|behind| *behind < memory.count);
        let (behind, file) =
            state.files.iter().find_map(|(memory, file)| Some((behind(memory)?, Arc::clone(file))))?;
        Some((file, u64::from(behind).saturating_mul(state.slots.slot_len().into())))
    }

    /// The slot of an area.
    fn place(&self, area: Area) -> io::Result<Arc<Mapping>> {
        if area.len > self.slot_len() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        self.mapping(area.slot)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn wake(mut state: MutexGuard<'_, State>) {
    let waiting = std::mem::take(&mut state.waiting);
    drop(state);
    for waker in waiting {
        waker.wake();
    }
}

impl fmt::Debug for Slots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (total, free) = self.count();
        f.debug_struct("Slots").field("total", &total).field("free", &free).finish()
    }
}
