//! The system that a broker runs on.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use smbd_broker::broker::Log;
use smbd_broker::server::{Boxed, Pair, System};
use smbd_core::Instant;

use crate::clock::Clock;
use crate::slot::{Slot, slots};
use crate::socket::{End, Passed, Sockets};
use smbd_testkit::Chance;

/// A host. Clones are the same.
#[derive(Clone, Debug)]
pub struct Host(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    clock: Clock,
    sockets: Sockets,
    chance: Mutex<Chance>,
    scarcity: Scarcity,
    slots_so_far: AtomicUsize,
    /// Something that was asked for was not there.
    was_short: AtomicBool,
    log: Mutex<Vec<String>>,
}

/// One in so many is not there; 0: all are.
#[derive(Clone, Copy, Debug, Default)]
pub struct Scarcity {
    pub sockets: usize,
    pub memory: usize,
}

impl Host {
    pub fn new(clock: &Clock, sockets: &Sockets, scarcity: Scarcity, chance: Chance) -> Self {
        Self(Arc::new(Shared {
            clock: clock.clone(),
            sockets: sockets.clone(),
            chance: Mutex::new(chance),
            scarcity,
            slots_so_far: AtomicUsize::new(0),
            was_short: AtomicBool::new(false),
            log: Mutex::default(),
        }))
    }

    fn is_short(&self, one_in: usize) -> bool {
        let mut chance = self.0.chance.lock().unwrap_or_else(PoisonError::into_inner);
        let is_short = one_in > 0 && chance.one_in(one_in);
        self.0.was_short.fetch_or(is_short, Ordering::Relaxed);
        is_short
    }

    /// What the broker has said since this was asked.
    pub fn said(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.log.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl System for Host {
    type Socket = End;
    type Memory = Slot;

    fn pair(&self) -> io::Result<Pair<End>> {
        if self.is_short(self.0.scarcity.sockets) {
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        Ok(self.0.sockets.connection())
    }

    fn cookie(&self, descriptor: &Passed) -> Option<u64> {
        descriptor.cookie()
    }

    fn memory(&self, count: u16, slot_len: u32) -> io::Result<(Passed, Vec<Slot>)> {
        if self.is_short(self.0.scarcity.memory) {
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        let first = self.0.slots_so_far.fetch_add(count.into(), Ordering::Relaxed);
        let (slots, slabs) = slots(first, count, slot_len);
        Ok((Passed::Memory(slabs.into()), slots))
    }

    fn now(&self) -> Instant {
        self.0.clock.now()
    }

    fn sleep(&self, time: Duration) -> Boxed<()> {
        Box::pin(self.0.clock.sleep(time))
    }

    fn salt(&self) -> Option<[u8; 32]> {
        let mut chance = self.0.chance.lock().unwrap_or_else(PoisonError::into_inner);
        Some(std::array::from_fn(|_| chance.bits() as u8))
    }

    fn system_time(&self) -> u64 {
        116_444_736_000_000_000 + self.now().as_nanos() / 100
    }

    fn log(&self, log: Log) {
        self.0.log.lock().unwrap_or_else(PoisonError::into_inner).push(log.to_string());
    }
}
