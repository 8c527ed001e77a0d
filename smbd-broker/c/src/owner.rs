//! A broker, as C asks it.

use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use smbd_broker::blocking;
use smbd_broker::client::CallError;
use smbd_broker::socket::{Deadline, Wanted};
use smbd_broker::wire::Newcomer;

use crate::connection::{Closing, Connection};
use crate::failure::Failure;
use crate::memory::{Memory, Place};

/// A broker. Calls of several threads wait for each other, but not for connections that come.
#[derive(Debug)]
pub(crate) struct Owner {
    broker: Mutex<blocking::Broker>,
    /// The same socket, to wait for.
    socket: OwnedFd,
    fd: RawFd,
    memory: Arc<Memory>,
    /// Connections that were closed with transfers under way.
    closing: Arc<Mutex<Vec<Closing>>>,
}

impl Owner {
    pub(crate) fn connect(path: &Path, name: &str) -> Result<Self, Failure> {
        let broker = blocking::Broker::connect(path, name)?;
        let (socket, fd) = (broker.as_fd().try_clone_to_owned()?, broker.as_fd().as_raw_fd());
        let memory = Arc::new(Memory::new(broker.slots().clone()));
        Ok(Self { broker: Mutex::new(broker), socket, fd, memory, closing: Arc::default() })
    }

    pub(crate) const fn fd(&self) -> RawFd {
        self.fd
    }

    /// Asks the broker something.
    pub(crate) fn ask<T>(
        &self,
        call: impl FnOnce(&mut blocking::Broker) -> Result<T, CallError>,
    ) -> Result<T, Failure> {
        Ok(call(&mut self.lock())?)
    }

    pub(crate) fn accept(&self, timeout: Option<Duration>) -> Result<Connection, Failure> {
        let deadline = Deadline::after(timeout);
        loop {
            self.tidy();
            let next = self.lock().next(Some(Duration::ZERO))?;
            if let Some(connection) = next {
                return Ok(self.connection(connection));
            }
            if !deadline.wait(self.socket.as_fd(), Wanted::Readable)? {
                return Err(Failure::new(libc::EAGAIN, "no connection has come"));
            }
        }
    }

    pub(crate) fn attach(&self, socket: OwnedFd, newcomer: Newcomer) -> Result<Connection, Failure> {
        let connection = self.lock().attach(socket, newcomer)?;
        Ok(self.connection(connection))
    }

    /// Slots for `len` bytes, at most `max` of them.
    pub(crate) fn take(&self, len: u64, max: usize) -> Result<Vec<Place>, Failure> {
        self.tidy();
        let mut broker = self.lock();
        let slot_len = u64::from(broker.slots().slot_len().max(1));
        if len == 0 || len.div_ceil(slot_len) > max as u64 {
            return Err(Failure::new(
                libc::EINVAL,
                format!("{len} bytes do not fit into {max} slots of {slot_len}"),
            ));
        }
        let taken = broker.take(len)?;
        drop(broker);
        let areas = taken.ok_or_else(|| Failure::new(libc::EAGAIN, "all slots are in use"))?;
        self.memory.hand_out(&areas)
    }

    pub(crate) fn give(&self, places: &[Place]) -> Result<(), Failure> {
        self.memory.give(places)
    }

    fn connection(&self, connection: blocking::Connection) -> Connection {
        Connection::new(connection, Arc::clone(&self.memory), Arc::clone(&self.closing))
    }

    /// Takes back the slots of connections that were closed, as far as their transfers have ended.
    fn tidy(&self) {
        let mut closing = self.closing.lock().unwrap_or_else(PoisonError::into_inner);
        closing.retain_mut(|connection| connection.is_under_way(&self.memory));
    }

    fn lock(&self) -> MutexGuard<'_, blocking::Broker> {
        self.broker.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
