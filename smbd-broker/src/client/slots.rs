//! The memory of an owner.

use std::fmt;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use tokio::sync::Notify;

use crate::owner;
use crate::wire::{Area, Memory};

/// The slots of an owner. Clones are the same slots.
#[derive(Clone)]
pub struct Slots(Arc<Shared>);

struct Shared {
    state: Mutex<State>,
    /// Told when there are not enough.
    short: Notify,
}

struct State {
    slots: owner::Slots,
    /// What was made, with its first slot.
    files: Vec<(Memory, Arc<File>)>,
    waiting: Vec<Waker>,
}

impl Slots {
    pub(super) fn new(slot_len: u32) -> Self {
        let slots = owner::Slots::new(slot_len);
        let state = Mutex::new(State { slots, files: Vec::new(), waiting: Vec::new() });
        Self(Arc::new(Shared { state, short: Notify::new() }))
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
    pub(super) fn add(&self, memory: Memory, file: OwnedFd) {
        let mut state = self.lock();
        state.files.push((memory, Arc::new(File::from(file))));
        state.slots.add(memory);
        wake(state);
    }

    /// Ready when somebody has waited for slots.
    pub(super) async fn short(&self) {
        self.0.short.notified().await;
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
                self.0.short.notify_one();
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
            let (file, offset) = self.place(*area)?;
            file.write_all_at(now, offset)?;
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
            let start = to.len();
            to.resize(start.saturating_add(area.len as usize), 0);
            let (file, offset) = self.place(*area)?;
            file.read_exact_at(to.get_mut(start..).unwrap_or_default(), offset)?;
        }
        Ok(())
    }

    /// The file of a slot, and where it begins there.
    fn place(&self, area: Area) -> io::Result<(Arc<File>, u64)> {
        let state = self.lock();
        let of = |(memory, _): &&(Memory, Arc<File>)| {
            let behind = area.slot.checked_sub(memory.first);
            behind.is_some_and(|behind| behind < memory.count)
        };
        let found = state.files.iter().find(of).filter(|_| area.len <= state.slots.slot_len());
        let (memory, file) = found.ok_or(io::ErrorKind::InvalidInput)?;
        let behind = u64::from(area.slot.saturating_sub(memory.first));
        Ok((Arc::clone(file), behind.saturating_mul(state.slots.slot_len().into())))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
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
