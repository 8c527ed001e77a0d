//! A connection of an owner that waits in calls.

use std::task::{Context, Poll, Waker};
use std::time::Duration;

use smbd_core::BufferDescriptorV1;

use crate::client::{Event, Lost, OwnedConnection};
use crate::owner::TransferError;
use crate::socket::{Deadline, Packets, Wanted};
use crate::wire::{Area, Direction, Transfer};

/// A connection whose calls wait. What was sent or started leaves with the next [`flush`](Self::flush) or [`event`](Self::event).
pub type Connection = OwnedConnection<Packets>;

impl Connection {
    /// Goes on sending, and returns what has happened; `None` after `timeout`, which never comes if it is `None`. Messages are returned only
    /// if they are wanted.
    ///
    /// # Errors
    /// The connection has ended, as with [`poll_event`](Self::poll_event).
    pub fn event(&mut self, timeout: Option<Duration>, wants_messages: bool) -> Result<Option<Event>, Lost> {
        let deadline = Deadline::after(timeout);
        loop {
            let mut cx = Context::from_waker(Waker::noop());
            if let Poll::Ready(event) = self.poll_event(&mut cx, wants_messages) {
                return event.map(Some);
            }
            if !self.wait(deadline)? {
                return Ok(None);
            }
        }
    }

    /// Gives the broker what waits to be sent. False if that takes longer than `timeout`; the rest leaves with a later call.
    ///
    /// # Errors
    /// The socket is closed: why is in the events.
    pub fn flush(&mut self, timeout: Option<Duration>) -> Result<bool, Lost> {
        let deadline = Deadline::after(timeout);
        loop {
            if let Poll::Ready(result) = self.poll_flush(&mut Context::from_waker(Waker::noop())) {
                return result.map(|()| true);
            }
            if !deadline.wait(self.as_socket(), Wanted::Writable).map_err(|_| Lost::Closed)? {
                return Ok(false);
            }
        }
    }

    /// Reads the client's memory into slots, from byte `offset` of what `remote` describes on, and returns the tag of the transfer.
    ///
    /// # Errors
    /// It is not taken.
    pub fn rdma_read(
        &mut self,
        areas: Vec<Area>,
        remote: Vec<BufferDescriptorV1>,
        offset: u64,
    ) -> Result<u64, TransferError> {
        self.start(Transfer { direction: Direction::Read, offset, remote, areas })
    }

    /// Writes slots to the client's memory, from byte `offset` of what `remote` describes on, and returns the tag of the transfer.
    ///
    /// # Errors
    /// It is not taken.
    pub fn rdma_write(
        &mut self,
        areas: Vec<Area>,
        remote: Vec<BufferDescriptorV1>,
        offset: u64,
    ) -> Result<u64, TransferError> {
        self.start(Transfer { direction: Direction::Write, offset, remote, areas })
    }

    fn wait(&self, deadline: Deadline) -> Result<bool, Lost> {
        let wanted = if self.has_outgoing() { Wanted::Either } else { Wanted::Readable };
        deadline.wait(self.as_socket(), wanted).map_err(|_| Lost::Closed)
    }
}
