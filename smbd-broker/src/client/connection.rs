//! A connection of an owner.

use std::collections::VecDeque;
use std::fmt;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::task::{Context, Poll, ready};

use super::error::Lost;
use super::slot_file::SlotFile;
use super::slots::Slots;
use crate::owner::{self, Happened, SendError, TransferError};
use crate::socket::{Outbox, PacketBuffer, PacketSocket};
use crate::wire::{Age, Area, Invalidate, Limits, MESSAGE_MIN, Newcomer, Packet, Transfer};

/// A connection that an owner has. All methods return at once; those that return `Pending` wake the task of `cx` later, if the socket does.
/// Dropping it ends the connection when what was ordered is done; slots of transfers that are under way are lost then (`leave` keeps them).
pub struct OwnedConnection<S: PacketSocket<Descriptor: SlotFile>> {
    newcomer: Newcomer,
    socket: S,
    /// That of the former owner, with what it has not read.
    former: Option<S>,
    machine: owner::Connection,
    slots: Slots<S::Descriptor>,
    outgoing: Outbox,
    taken: Taken,
    /// From so many bytes on that were taken, the broker is told even if there is nothing else to say: it gives less meanwhile.
    taken_max: u64,
    happened: VecDeque<Happened>,
    /// Messages that were not wanted yet.
    messages: VecDeque<Message>,
    packet: PacketBuffer,
    is_closing: bool,
}

struct Message {
    age: Age,
    bytes: Vec<u8>,
    /// Whether the broker wants to hear that it was taken.
    counts: bool,
}

/// Messages that were taken, and the broker was not told so.
#[derive(Default)]
struct Taken {
    messages: u32,
    len: u64,
}

/// Which part of what may wait to be taken is told to be taken at once.
const TAKEN_PART: u64 = 4;

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
    /// Messages have left, and there is more room for others.
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

impl<S: PacketSocket<Descriptor: SlotFile>> OwnedConnection<S> {
    /// The connection that came with NEW, or with the answer of ATTACH, to an owner with these limits and slots.
    #[must_use]
    pub const fn new(newcomer: Newcomer, socket: S, limits: Limits, slots: Slots<S::Descriptor>) -> Self {
        let machine = owner::Connection::new(limits, newcomer.max_send_size, newcomer.max_read_write_size);
        Self {
            newcomer,
            socket,
            former: None,
            machine,
            slots,
            outgoing: Outbox::new(),
            taken: Taken { messages: 0, len: 0 },
            taken_max: limits.receive_bytes_max as u64 / TAKEN_PART,
            happened: VecDeque::new(),
            messages: VecDeque::new(),
            packet: PacketBuffer::new(),
            is_closing: false,
        }
    }

    /// The same, after what the former owner has not read.
    pub(crate) fn behind(self, former: S) -> Self {
        Self { former: Some(former), ..self }
    }

    /// What the broker says of it.
    #[must_use]
    pub const fn newcomer(&self) -> &Newcomer {
        &self.newcomer
    }

    /// The slots of its owner.
    #[must_use]
    pub const fn slots(&self) -> &Slots<S::Descriptor> {
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

    /// Messages of which the broker has not said that the transport has taken them. It says so with something else, or when there are many.
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
        for packet in self.machine.send(message, invalidate)? {
            self.say(packet);
        }
        Ok(())
    }

    /// Starts a transfer, and returns its tag. Its slots are not to be touched until [`Event::Done`].
    ///
    /// # Errors
    /// It is not taken.
    pub fn start(&mut self, transfer: Transfer) -> Result<u64, TransferError> {
        let (tag, packet) = self.machine.start(transfer)?;
        self.say(packet);
        Ok(tag)
    }

    /// The same. Its slots are given back if it is not taken.
    ///
    /// # Errors
    /// It is not taken.
    pub fn start_or_give(&mut self, transfer: Transfer) -> Result<u64, TransferError> {
        let areas = transfer.areas.clone();
        self.start(transfer).inspect_err(|_| self.slots.give(&areas))
    }

    /// Ends the connection, when what was ordered is done, in `within` milliseconds at most. Ready when it has ended: the slots of its
    /// transfers are given back then, and what else happened is lost.
    pub fn poll_close(&mut self, cx: &mut Context<'_>, within: u32) -> Poll<()> {
        if !std::mem::replace(&mut self.is_closing, true) {
            self.disconnect(within);
        }
        while !(self.machine.is_lost() && self.happened.is_empty()) {
            match ready!(self.poll_event(cx, true)) {
                Ok(Event::Done { areas, .. }) => self.slots.give(&areas),
                Ok(_) => {}
                Err(_) => break,
            }
        }
        Poll::Ready(())
    }

    /// Ends the connection, when what was ordered is done, in `within` milliseconds at most.
    pub fn disconnect(&mut self, within: u32) {
        self.say(self.machine.disconnect(within));
    }

    /// Goes on sending. Ready when the broker has been given everything.
    ///
    /// # Errors
    /// The socket is closed.
    pub fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Lost>> {
        while let Some(packet) = self.outgoing.next() {
            if ready!(self.socket.poll_send(cx, packet.bytes(), None)).is_err() {
                // Why is in what can still be read.
                self.outgoing.clear();
                return Poll::Ready(Err(Lost::Closed));
            }
            self.outgoing.sent();
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
            if wants_messages && let Some(Message { age, bytes, counts }) = self.messages.pop_front() {
                if counts && self.taken.add(bytes.len()) >= self.taken_max {
                    self.tell_taken();
                    let _ = self.poll_flush(cx);
                }
                return Poll::Ready(Ok(Event::Message { age, bytes }));
            }
            match self.happened.pop_front() {
                Some(Happened::Message { age, bytes }) => {
                    self.messages.push_back(Message { age, bytes, counts: age == Age::New });
                }
                Some(Happened::Sent { .. }) => return Poll::Ready(Ok(Event::Sent)),
                Some(Happened::Done { tag, areas, is_success }) => {
                    return Poll::Ready(Ok(Event::Done { tag, areas, is_success }));
                }
                // Nothing of this side is ever registered.
                Some(Happened::Invalidated { .. }) => {}
                Some(Happened::Lost { why }) => return Poll::Ready(Err(Lost::Ended(why))),
                None => ready!(self.poll_packet(cx))?,
            }
        }
    }

    /// Something for the broker, behind what it was not told of messages that were taken: most of them are answered soon, and that goes
    /// into one packet with the answer.
    fn say(&mut self, packet: Packet) {
        self.tell_taken();
        self.outgoing.push(packet);
    }

    fn tell_taken(&mut self) {
        let Taken { messages, .. } = std::mem::take(&mut self.taken);
        if messages > 0 {
            self.outgoing.push(self.machine.taken(messages));
        }
    }

    fn poll_packet(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Lost>> {
        if self.former.is_some() {
            return self.poll_former(cx);
        }
        if ready!(self.socket.poll_receive(cx, &mut self.packet)).is_err() {
            self.machine.socket_ended();
            return Poll::Ready(Err(Lost::Closed));
        }
        self.happened.extend(self.machine.received(self.packet.bytes())?);
        Poll::Ready(Ok(()))
    }

    /// Reads what the former owner has not read. Ready when that is all.
    pub(crate) fn poll_former(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Lost>> {
        while let Some(former) = &mut self.former {
            if ready!(former.poll_receive(cx, &mut self.packet)).is_err() {
                self.former = None;
            } else {
                for happened in self.machine.received_before(self.packet.bytes())? {
                    match happened {
                        // The broker has forgotten how much a former owner has taken, so none of that is told to be.
                        Happened::Message { age, bytes } => {
                            self.messages.push_back(Message { age, bytes, counts: false });
                        }
                        happened => self.happened.push_back(happened),
                    }
                }
            }
        }
        Poll::Ready(Ok(()))
    }

    /// Whether nothing was read that [`poll_event`](Self::poll_event) has not returned, nothing waits to be written, and no transfer is
    /// under way: then another owner can go on where this one ends.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        let nothing_read = self.happened.is_empty() && self.messages.is_empty() && self.former.is_none();
        nothing_read && self.outgoing.is_empty() && self.machine.is_between()
    }

    /// Drops it. If transfers are under way, a task waits until the broker says that they have ended, and gives their slots back: they
    /// are lost otherwise, as they are outside a tokio runtime.
    #[cfg(feature = "tokio")]
    pub fn leave(mut self)
    where
        S: Send + 'static,
    {
        if (self.transfers() > 0 || !self.happened.is_empty())
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            runtime.spawn(std::future::poll_fn(move |cx| self.poll_close(cx, 0)));
        }
    }

    /// Takes the messages that were read and not wanted.
    #[cfg(feature = "tokio")]
    pub(super) fn drain_messages(&mut self) -> impl Iterator<Item = (Age, Vec<u8>)> {
        self.messages.drain(..).map(|Message { age, bytes, .. }| (age, bytes))
    }

    /// Whether something waits until the socket is writable.
    #[must_use]
    pub fn has_outgoing(&self) -> bool {
        !self.outgoing.is_empty()
    }
}

impl Taken {
    /// One more. Returns the bytes of all, as the broker counts them.
    fn add(&mut self, len: usize) -> u64 {
        self.messages = self.messages.saturating_add(1);
        self.len = self.len.saturating_add((len as u64).max(MESSAGE_MIN.into()));
        self.len
    }
}

impl<S: PacketSocket<Descriptor: SlotFile> + AsFd> OwnedConnection<S> {
    /// The socket: readable means that there may be events. It can be given to another process, which attaches the connection
    /// ([`Broker::attach`](super::Broker::attach)). What has not been read is still in it.
    #[must_use]
    pub fn as_socket(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl<S: PacketSocket<Descriptor: SlotFile> + Into<OwnedFd>> OwnedConnection<S> {
    /// Its socket and what the broker has said of it, for another owner to [attach](super::Broker::attach). The connection goes on: it ends
    /// when the last copy of the socket is closed.
    ///
    /// # Errors
    /// The connection itself, if it is not [idle](Self::is_idle): what it has read would be lost.
    pub fn give_away(self) -> Result<(OwnedFd, Newcomer), Box<Self>> {
        if self.is_idle() { Ok((self.socket.into(), self.newcomer)) } else { Err(Box::new(self)) }
    }
}

impl<S: PacketSocket<Descriptor: SlotFile>> fmt::Debug for OwnedConnection<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnedConnection").field("newcomer", &self.newcomer).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
