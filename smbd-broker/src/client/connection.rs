//! A connection of an owner.

use std::collections::VecDeque;
use std::fmt;
use std::os::fd::OwnedFd;
use std::task::{Context, Poll, ready};

use super::error::Lost;
use super::slots::Slots;
use crate::owner::{self, Happened, SendError, TransferError};
use crate::socket::{PacketBuffer, PacketSocket, UnixPackets};
use crate::wire::{Age, Area, Invalidate, Newcomer, Packet, Transfer};

/// A connection. All methods return at once; those that return `Pending` wake the task of `cx` later. Dropping it ends the connection when
/// what was ordered is done.
pub struct Connection {
    newcomer: Newcomer,
    socket: UnixPackets,
    machine: owner::Connection,
    slots: Slots,
    outgoing: VecDeque<Packet>,
    happened: VecDeque<Happened>,
    /// Messages that were not wanted yet.
    messages: VecDeque<(Age, Vec<u8>)>,
    packet: PacketBuffer,
}

/// What has happened on a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A whole message, or one that somebody else has taken or sent.
    Message {
        /// Whether there is something to do about it.
        age: Age,
        /// The message.
        bytes: Vec<u8>,
    },
    /// There is room for other messages.
    Sent,
    /// A transfer has ended. Its slots are the caller's, to read them and to [give](Slots::give) them back.
    Done {
        /// That of the transfer.
        tag: u64,
        /// Its slots.
        areas: Vec<Area>,
        /// Whether all bytes were moved.
        is_success: bool,
    },
}

impl Connection {
    pub(super) const fn new(
        newcomer: Newcomer,
        socket: UnixPackets,
        machine: owner::Connection,
        slots: Slots,
    ) -> Self {
        Self {
            newcomer,
            socket,
            machine,
            slots,
            outgoing: VecDeque::new(),
            happened: VecDeque::new(),
            messages: VecDeque::new(),
            packet: PacketBuffer::new(),
        }
    }

    /// What the broker says of it.
    #[must_use]
    pub const fn newcomer(&self) -> &Newcomer {
        &self.newcomer
    }

    /// The slots of its owner.
    #[must_use]
    pub const fn slots(&self) -> &Slots {
        &self.slots
    }

    /// Whether another message is taken.
    #[must_use]
    pub fn has_room(&self) -> bool {
        self.machine.has_room()
    }

    /// Whether another transfer is taken.
    #[must_use]
    pub fn has_transfer(&self) -> bool {
        self.machine.has_transfer()
    }

    /// Messages that the transport has not taken.
    #[must_use]
    pub fn unsent(&self) -> usize {
        self.machine.unsent()
    }

    /// Transfers under way.
    #[must_use]
    pub fn transfers(&self) -> usize {
        self.machine.transfers()
    }

    /// Sends a message.
    ///
    /// # Errors
    /// It is not taken.
    pub fn send(&mut self, message: &[u8], invalidate: Invalidate) -> Result<(), SendError> {
        self.outgoing.extend(self.machine.send(message, invalidate)?);
        Ok(())
    }

    /// Starts a transfer, and returns its tag. Its slots are not to be touched until [`Event::Done`].
    ///
    /// # Errors
    /// It is not taken.
    pub fn start(&mut self, transfer: Transfer) -> Result<u64, TransferError> {
        let (tag, packet) = self.machine.start(transfer)?;
        self.outgoing.push_back(packet);
        Ok(tag)
    }

    /// Ends the connection, when what was ordered is done, in `within` milliseconds at most.
    pub fn disconnect(&mut self, within: u32) {
        self.outgoing.push_back(self.machine.disconnect(within));
    }

    /// Goes on sending. Ready when the broker has been given everything.
    ///
    /// # Errors
    /// The socket is closed.
    pub fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Lost>> {
        while let Some(packet) = self.outgoing.front() {
            if ready!(self.socket.poll_send(cx, packet.bytes(), None)).is_err() {
                // Why is in what can still be read.
                self.outgoing.clear();
                return Poll::Ready(Err(Lost::Closed));
            }
            self.outgoing.pop_front();
        }
        Poll::Ready(Ok(()))
    }

    /// Goes on sending, and returns what has happened. Messages are returned only if they are wanted; then the broker may give others.
    ///
    /// # Errors
    /// The connection has ended. All transfers have ended before, and their slots are given back, unless the broker is gone: then they are
    /// lost with its memory.
    pub fn poll_event(&mut self, cx: &mut Context<'_>, wants_messages: bool) -> Poll<Result<Event, Lost>> {
        let _ = self.poll_flush(cx);
        loop {
            if wants_messages && let Some((age, bytes)) = self.messages.pop_front() {
                if age == Age::New {
                    self.outgoing.push_back(self.machine.taken(1));
                    let _ = self.poll_flush(cx);
                }
                return Poll::Ready(Ok(Event::Message { age, bytes }));
            }
            match self.happened.pop_front() {
                Some(Happened::Message { age, bytes }) => self.messages.push_back((age, bytes)),
                Some(Happened::Sent { .. }) => return Poll::Ready(Ok(Event::Sent)),
                Some(Happened::Done { tag, areas, is_success }) => {
                    return Poll::Ready(Ok(Event::Done { tag, areas, is_success }));
                }
                // Nothing of this side is ever registered.
                Some(Happened::Invalidated { .. }) => {}
                Some(Happened::Lost { why }) => return Poll::Ready(Err(Lost::Ended(why))),
                None => {
                    if ready!(self.socket.poll_receive(cx, &mut self.packet)).is_err() {
                        self.machine.socket_ended();
                        return Poll::Ready(Err(Lost::Closed));
                    }
                    self.happened.extend(self.machine.received(self.packet.bytes())?);
                }
            }
        }
    }

    /// The socket, to be given to another process, which attaches the connection
    /// ([`Broker::attach`](super::Broker::attach)). What has not been read is still in it.
    #[must_use]
    pub fn as_socket(&self) -> &OwnedFd {
        self.socket.get_ref()
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection").field("newcomer", &self.newcomer).finish_non_exhaustive()
    }
}
