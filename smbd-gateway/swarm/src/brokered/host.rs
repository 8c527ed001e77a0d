//! The system that the broker runs on.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use smbd_broker::broker::Log;
use smbd_broker::server::{Boxed, Pair, System};
use smbd_core::Instant;

use crate::clock::Clock;
use crate::socket::{End, Passed, Sockets};
use smbd_testkit::swarm::Memory;

/// A host. Clones are the same.
#[derive(Clone, Debug)]
pub struct Host {
    sockets: Sockets,
    log: Arc<Mutex<Vec<String>>>,
}

impl Host {
    pub fn new(sockets: &Sockets) -> Self {
        Self { sockets: sockets.clone(), log: Arc::default() }
    }

    /// What the broker has said since this was asked.
    pub fn said(&self) -> Vec<String> {
        std::mem::take(&mut *self.log.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl System for Host {
    type Socket = End;
    type Memory = Memory;

    fn pair(&self) -> io::Result<Pair<End>> {
        Ok(self.sockets.connection())
    }

    fn cookie(&self, descriptor: &Passed) -> Option<u64> {
        descriptor.cookie()
    }

    fn memory(&self, count: u16, slot_len: u32) -> io::Result<(Passed, Vec<Memory>)> {
        let slots: Option<Vec<_>> = (0..count).map(|_| Memory::at_home(slot_len)).collect();
        let slots = slots.ok_or(io::ErrorKind::OutOfMemory)?;
        Ok((Passed::Memory(slots.clone().into()), slots))
    }

    fn now(&self) -> Instant {
        Clock.now()
    }

    fn sleep(&self, time: Duration) -> Boxed<()> {
        Box::pin(Clock.sleep(time))
    }

    fn salt(&self) -> Option<[u8; 32]> {
        Some([7; 32])
    }

    fn system_time(&self) -> u64 {
        116_444_736_000_000_000 + self.now().as_nanos() / 100
    }

    fn log(&self, log: Log) {
        self.log.lock().unwrap_or_else(PoisonError::into_inner).push(log.to_string());
    }
}
