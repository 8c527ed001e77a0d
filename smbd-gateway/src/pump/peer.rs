//! The side over SMB Direct.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use smbd_core::error::{CommandError, RdmaError, RegisterError, RegistrationError};
use smbd_core::{Access, RdmaVerb};
use smbd_link::Failure;
use smbd_link::link::{self, Piece, why};
use smbd_link::time::Clock;
use smbd_link::transport::Transport;
use smbd_smb2::relay::{BufferId, Misuse, Transfer};
use smbd_smb2::wire::Token;

use super::clock;
use super::rewriting::Event;

/// Orders that may wait for room in the connection before no message is begun.
const ORDERS_MAX: usize = 8;
/// Bytes of messages that may be unsent. Beyond them the peer gets nothing before all are sent.
const UNSENT_MAX: usize = 1 << 20;

/// The most bytes of messages that wait to be sent, if none is longer than `message_max`: one is begun as long as there is room.
pub(super) const fn waiting_max(message_max: usize) -> usize {
    UNSENT_MAX.saturating_add(message_max)
}

/// The side over SMB Direct.
///
/// Its access to a buffer ends when the message with the answer is here in full. For that the rest of one message may be kept, which is
/// MaxFragmentedSize long at most (MS-SMBD 2.2.1).
#[derive(Debug)]
pub(super) struct Peer<T> {
    transport: T,
    /// Pieces of a message that were taken before they are wanted, up to its last one.
    ahead: VecDeque<Piece>,
    /// Bytes of the message that the transport has begun to deliver which are not here.
    missing: u32,
    /// Buffers to which the access ends when that message is here in full.
    leaving: Vec<BufferId>,
    /// Bytes of messages that were sent since all had left.
    unsent: usize,
    /// Whether another message may be begun, if it is known.
    has_room: Option<bool>,
    /// RDMA operations and registrations that have not ended.
    running: usize,
    /// Why the connection has ended.
    ended: Option<String>,
}

impl<T: Transport<BufferId>> Peer<T> {
    pub(super) const fn new(transport: T) -> Self {
        Self {
            transport,
            ahead: VecDeque::new(),
            missing: 0,
            leaving: Vec::new(),
            unsent: 0,
            has_room: None,
            running: 0,
            ended: None,
        }
    }

    /// The next piece of a message that is here.
    pub(super) fn next_piece(&mut self) -> Option<Piece> {
        self.ahead.pop_front().or_else(|| self.receive())
    }

    /// Whether there is a [next piece](Self::next_piece).
    pub(super) fn has_piece(&self) -> bool {
        !self.ahead.is_empty() || self.transport.has_messages()
    }

    fn receive(&mut self) -> Option<Piece> {
        let piece = self.transport.try_recv()?;
        self.missing = piece.remaining;
        Some(piece)
    }

    /// Why the connection has ended, if it has.
    pub(super) fn ended(&self) -> Option<&String> {
        self.ended.as_ref()
    }

    /// Whether nothing waits to be given to the connection, and nothing of a buffer is under way.
    pub(super) fn is_idle(&self) -> bool {
        self.running == 0 && self.ahead.is_empty() && self.transport.waiting() == 0
    }

    /// Whether another message may be begun.
    #[inline]
    pub(super) fn has_room(&mut self, cx: &mut Context<'_>) -> bool {
        match self.has_room {
            Some(has_room) => has_room,
            None => self.look_for_room(cx),
        }
    }

    fn look_for_room(&mut self, cx: &mut Context<'_>) -> bool {
        if self.load() == (0, 0) {
            self.unsent = 0;
        }
        let (waiting, _) = self.load();
        let is_little = waiting < ORDERS_MAX && self.unsent <= UNSENT_MAX;
        let is_wanted = is_little || self.transport.closed().is_some();
        let has_room = is_wanted && self.transport.poll_ready(cx).is_ready();
        self.has_room = Some(has_room);
        has_room
    }

    /// Orders that wait, and messages that have not left: if there are fewer, there may be room.
    pub(super) fn load(&self) -> (usize, u64) {
        (self.transport.waiting(), self.transport.unsent())
    }

    pub(super) fn send(&mut self, message: Bytes, invalidate: Option<Token>) {
        self.unsent = self.unsent.saturating_add(message.len());
        self.has_room = None;
        self.transport.send(message, invalidate);
    }

    pub(super) fn rdma(&mut self, verb: RdmaVerb, transfer: Transfer, memory: T::Memory) {
        let Transfer { buffer, len, remote, offset } = transfer;
        self.has_room = None;
        self.running = self.running.saturating_add(1);
        self.transport.rdma(buffer, verb, memory, remote, offset, len);
    }

    /// Writes data ahead of the message that is sent next.
    pub(super) fn write_ahead(&mut self, transfer: Transfer, memory: T::Memory) {
        let Transfer { buffer, len, remote, offset } = transfer;
        self.has_room = None;
        self.running = self.running.saturating_add(1);
        self.transport.write_ahead(buffer, memory, remote, offset, len);
    }

    pub(super) fn register(&mut self, buffer: BufferId, memory: T::Memory, access: Access) {
        self.running = self.running.saturating_add(1);
        self.transport.register(buffer, memory, access);
    }

    pub(super) fn deregister(&mut self, buffer: BufferId) {
        self.running = self.running.saturating_add(1);
        self.leaving.push(buffer);
    }

    /// Drives the connection, and tells what has come of buffers. Whether anything has happened.
    pub(super) fn drive(
        &mut self,
        mut tell: impl FnMut(Event) -> Result<(), Misuse>,
        cx: &mut Context<'_>,
    ) -> Result<bool, Misuse> {
        self.has_room = None;
        let mut has_moved = false;
        loop {
            has_moved |= self.end_access();
            while let Poll::Ready(event) = self.transport.poll_event(cx) {
                has_moved = true;
                if let Some(event) = self.event(event) {
                    self.running = self.running.saturating_sub(1);
                    tell(event)?;
                }
            }
            // Somebody else has answered these.
            while self.transport.try_past().is_some() {
                has_moved = true;
            }
            if self.leaving.is_empty() || !self.transport.has_messages() {
                return Ok(has_moved);
            }
        }
    }

    /// Ends access that is to end, once the message is here in full: its last fragment may invalidate a token, and one that is not
    /// valid any more would break the connection. Whether any access ends.
    fn end_access(&mut self) -> bool {
        if self.leaving.is_empty() {
            return false;
        }
        while self.missing > 0 {
            let Some(piece) = self.receive() else { return false };
            self.ahead.push_back(piece);
        }
        self.leaving.drain(..).for_each(|buffer| self.transport.deregister(buffer));
        true
    }

    /// What an event of the connection says of a buffer.
    fn event(&mut self, event: link::Event<BufferId, T::Error>) -> Option<Event> {
        match event {
            // One that was refused because the connection has ended has no result: the end follows.
            link::Event::RdmaDone {
                result: Err(Failure::Rdma(RdmaError::Command(CommandError::Closing))),
                ..
            } => None,
            link::Event::RdmaDone { name: buffer, result } => {
                Some(Event::RdmaDone { buffer, is_success: result.is_ok() })
            }
            link::Event::Registered { name: buffer, result: Ok(descriptors) } => {
                Some(match descriptors[..] {
                    [descriptor] => Event::Registered { buffer, descriptor },
                    // The device describes it in pieces.
                    _ => Event::Failed { buffer },
                })
            }
            link::Event::Deregistered { name: buffer, result: Ok(()) } => {
                Some(Event::Deregistered { buffer })
            }
            link::Event::Registered { name: buffer, result: Err(failure) }
            | link::Event::Deregistered { name: buffer, result: Err(failure) } => {
                (!is_end(&failure)).then_some(Event::Failed { buffer })
            }
            link::Event::Ended(ending) => {
                self.ended = Some(why(&ending));
                None
            }
            link::Event::Established(_) | link::Event::Invalidated { .. } | link::Event::Probed(_) => None,
        }
    }

    /// Finishes what was ordered for at most `within`, and then ends the connection. Waits until it is over, and returns the reason.
    pub(super) async fn close(mut self, within: Duration, clock: &impl Clock) -> String {
        self.leaving.clear();
        self.transport.ignore_messages();
        self.transport.close(within);
        if let Some(why) = clock::within(clock, within, self.over()).await {
            return why;
        }
        // A transport without a clock waits until it has given all of them.
        self.transport.drop_orders();
        self.over().await
    }

    async fn over(&mut self) -> String {
        poll_fn(|cx| {
            // What has come of buffers makes no difference any more.
            let _ = self.drive(|_| Ok(()), cx);
            self.ended.clone().map_or(Poll::Pending, Poll::Ready)
        })
        .await
    }
}

/// Whether a registration has failed only because the connection has ended, which is told otherwise.
const fn is_end<E>(failure: &Failure<E>) -> bool {
    matches!(
        failure,
        Failure::Register(RegisterError::Command(CommandError::Closing))
            | Failure::Registration(RegistrationError::Aborted(_))
    )
}

/// Ends a connection that no pump has, or has any more: finishes what was ordered for at most `within`. Waits until the connection is over,
/// and returns the reason.
pub async fn close<T: Transport<BufferId>>(transport: T, within: Duration, clock: impl Clock) -> String {
    Peer::new(transport).close(within, &clock).await
}
