//! The driver of one connection through the gateway: a [`Rewriting`] between a [`Transport`] and a [`Stream`].

mod buffers;
mod clock;
mod ending;
mod inbound;
mod outbox;
mod outgoing;
mod peer;
mod rewriting;
mod stream;
#[cfg(test)]
mod tests;

use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Buf;
use smbd_link::link::Piece;
use smbd_link::time::{Clock, TokioTime};
use smbd_link::transport::Transport;
use smbd_smb2::relay::{BufferId, Placement, Reason, Side, Statistics};
use smbd_smb2::wire::Dialect;

use buffers::Buffers;
use clock::within;
pub use ending::Ending;
use inbound::Inbound;
use outgoing::{Done, Outgoing};
use peer::Peer;
pub use peer::close;
pub use rewriting::Rewriting;
use rewriting::{Arrived, Event, Room};
pub use stream::{Copied, Part, Stream};

/// Pieces of messages that are taken in one turn.
const PIECES_MAX: u32 = 64;
/// Turns of one poll. After them the task yields to other tasks.
const TURNS_MAX: u32 = 16;
/// A connection with encrypted messages on which nothing has moved for so long is idle.
const QUIET: Duration = Duration::from_millis(500);
/// The longest message of direct TCP (MS-SMB2 2.1).
const MESSAGE_MAX: usize = 0x00FF_FFFF;

/// The most bytes of messages that a [`Pump`] and its transport hold if the peer is sent none of more than `message_max` bytes, however long
/// those of the peer are. The pump's buffers and [its relay](smbd_smb2::relay::Config::heap_max) come on top.
#[must_use]
pub fn waiting_max(message_max: u32) -> u64 {
    let parts = [outbox::BYTES_MAX, inbound::LEN, peer::waiting_max(message_max as usize)];
    parts.into_iter().fold(0, |sum, bytes| sum.saturating_add(bytes as u64))
}

/// One connection through the gateway: a side over SMB Direct (`T`), the peer, and one over a stream (`S`). `R` says which of them is the
/// client.
///
/// Messages and data go through it with a bounded amount of memory. A side that takes nothing holds up the other one. Buffers for
/// RDMA belong to this connection alone; they are allocated when they are first needed, which is never before a SESSION_SETUP was successful.
pub struct Pump<R, T: Transport<BufferId>, S, C: Clock = TokioTime> {
    rewriting: R,
    peer: Peer<T>,
    stream: S,
    /// What was not taken of the peer's last piece of a message.
    piece: Piece,
    inbound: Inbound,
    out: Outgoing<T::Memory>,
    /// Until a session is established.
    limit: Option<(Duration, Pin<Box<C::Sleep>>)>,
    clock: C,
    /// Rises with everything that moves.
    moves: u64,
}

impl<R: Rewriting, T: Transport<BufferId>, S: Stream<T::Memory>> Pump<R, T, S> {
    /// A connection on which nothing has passed. It ends if no session is established within `session_within`. Call it inside a
    /// runtime with time enabled.
    pub fn new(rewriting: R, transport: T, stream: S, session_within: Duration) -> Self {
        Self::with_clock(rewriting, transport, stream, session_within, TokioTime::start())
    }
}

impl<R: Rewriting, T: Transport<BufferId>, S: Stream<T::Memory>, C: Clock + Clone> Pump<R, T, S, C> {
    /// As [`new`](Pump::new), with the time of `clock`.
    pub fn with_clock(rewriting: R, transport: T, stream: S, session_within: Duration, clock: C) -> Self {
        let (count, len) = rewriting.buffers();
        Self {
            rewriting,
            peer: Peer::new(transport),
            stream,
            piece: Piece::default(),
            inbound: Inbound::new(),
            out: Outgoing::new(Buffers::new(count, len), R::STREAM),
            limit: Some((session_within, Box::pin(clock::sleep(&clock, session_within)))),
            clock,
            moves: 0,
        }
    }

    /// Moves messages and data until the connection ends. This method is cancel safe: it can be called again.
    pub async fn run(&mut self) -> Ending {
        poll_fn(|cx| self.poll(cx)).await
    }

    /// Runs until nothing is under way, at most `time`: until each request has its final answer, but for CHANGE_NOTIFY, which may
    /// wait for ever. What encrypted messages ask nobody knows here; after one, nothing has to have moved for half a second as well.
    pub async fn drain(&mut self, time: Duration) -> Ending {
        let clock = self.clock.clone();
        let idle = async {
            loop {
                let before = self.moves;
                if let Some(ending) = within(&clock, QUIET, self.run_until_answered()).await {
                    return ending;
                }
                if self.moves == before && self.is_answered() {
                    return Ending::Stopped;
                }
            }
        };
        within(&clock, time, idle).await.unwrap_or(Ending::Deadline { within: time })
    }

    /// Of a connection with encrypted messages it is not known when that is.
    async fn run_until_answered(&mut self) -> Ending {
        poll_fn(|cx| match self.poll(cx) {
            Poll::Pending if self.statistics().encrypted_messages == 0 && self.is_answered() => {
                Poll::Ready(Ending::Stopped)
            }
            polled => polled,
        })
        .await
    }

    /// Gives the client what still waits for it here, at most for `time`. To be called after the end. What waits for a client over SMB Direct
    /// is with the transport, which finishes it when it is [closed](Self::close).
    pub async fn flush(&mut self, time: Duration) {
        // A server gets nothing more: it takes what TCP acknowledges for delivered (MS-SMB2 3.3.4.7).
        if R::STREAM == Side::Server {
            return;
        }
        let clock = self.clock.clone();
        let given = poll_fn(|cx| match self.send(cx) {
            Ok(_) if !self.out.outbox.is_empty() => Poll::Pending,
            Ok(_) | Err(_) => Poll::Ready(()),
        });
        // What is not taken by then is lost with the connection.
        let _ = within(&clock, time, given).await;
    }

    /// Ends both connections: the stream at once, and the transport when it has finished what was ordered, or after `time`. Waits until
    /// that is over, and returns how it has ended.
    pub async fn close(self, time: Duration) -> String {
        let Self { peer, stream, clock, .. } = self;
        drop(stream);
        peer.close(time, &clock).await
    }

    /// What has passed.
    #[must_use]
    pub fn statistics(&self) -> &Statistics {
        self.rewriting.statistics()
    }

    /// The dialect that the server has chosen, once it has.
    #[must_use]
    pub fn dialect(&self) -> Option<Dialect> {
        self.rewriting.dialect()
    }

    /// Whether a session is established.
    #[must_use]
    pub fn has_session(&self) -> bool {
        self.rewriting.has_session()
    }

    /// Bytes of all buffers for RDMA.
    #[must_use]
    pub fn buffer_bytes(&self) -> u64 {
        self.out.buffers.bytes()
    }

    fn is_answered(&self) -> bool {
        // The rest of a message of either side may be under way.
        let is_between = self.piece.bytes.is_empty() && self.piece.remaining == 0 && self.inbound.is_empty();
        let is_empty = is_between && self.out.is_empty() && self.peer.is_idle();
        is_empty && !self.rewriting.is_amid_message() && self.statistics().outstanding() == 0
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Ending> {
        match self.turns(cx) {
            Ok(()) => Poll::Pending,
            Err(ending) => Poll::Ready(ending),
        }
    }

    /// Goes on until nothing moves, or it is the turn of other tasks.
    fn turns(&mut self, cx: &mut Context<'_>) -> Result<(), Ending> {
        let has_come = self.drive(cx)?;
        self.moves = self.moves.wrapping_add(has_come.into());
        for _ in 0..TURNS_MAX {
            if !self.turn(cx)? {
                return Ok(());
            }
            self.moves = self.moves.wrapping_add(1);
        }
        cx.waker().wake_by_ref();
        Ok(())
    }

    /// Whether anything moved. If not, whatever can move it wakes the task.
    fn turn(&mut self, cx: &mut Context<'_>) -> Result<bool, Ending> {
        self.check_limit(cx)?;
        let mut has_moved = false;
        for _ in 0..PIECES_MAX {
            let has_piece = self.take_piece()?;
            has_moved |= self.carry_out(cx)? || has_piece;
            if !has_piece {
                break;
            }
        }
        // Without room an answer that has come whole may have been kept. It is asked for again before the stream is: behind the last bytes
        // of that may be the end.
        let had_room = self.peer.has_room(cx);
        let before = self.peer.load();
        // Behind the orders: what was just ordered can wake the task only once the connection was driven.
        has_moved |= self.drive(cx)?;
        has_moved |= self.send(cx)?;
        has_moved |= had_room && self.receive(cx)?;
        // What has come with that, or left, wakes nobody any more.
        has_moved |= self.piece.bytes.is_empty() && self.peer.has_piece();
        Ok(has_moved || !had_room && self.peer.load() != before)
    }

    fn check_limit(&mut self, cx: &mut Context<'_>) -> Result<(), Ending> {
        if self.rewriting.has_session() {
            self.limit = None;
        }
        let Some((within, timer)) = &mut self.limit else { return Ok(()) };
        match timer.as_mut().poll(cx) {
            Poll::Ready(()) => Err(Ending::NoSession { within: *within }),
            Poll::Pending => Ok(()),
        }
    }

    /// Drives the peer's connection. Whether anything has happened on it, besides messages.
    fn drive(&mut self, cx: &mut Context<'_>) -> Result<bool, Ending> {
        let rewriting = &mut self.rewriting;
        Ok(self.peer.drive(|event| rewriting.handle(event), cx)?)
    }

    /// Takes the next piece of a message. Whether there was one.
    fn take_piece(&mut self) -> Result<bool, Ending> {
        if self.piece.bytes.is_empty()
            && let Some(piece) = self.peer.next_piece()
        {
            self.piece = piece;
            return Ok(true);
        }
        // Servers take an acknowledgement of TCP for the delivery of a lease break (MS-SMB2 3.3.4.7), so the end counts at once.
        match self.peer.ended() {
            Some(why) => Err(Ending::of(R::STREAM.other(), why.clone())),
            None => Ok(false),
        }
    }

    /// Carries out what is to be done, until that is nothing. Whether it was anything.
    fn carry_out(&mut self, cx: &mut Context<'_>) -> Result<bool, Ending> {
        let mut has_moved = false;
        loop {
            if self.rewriting.has_session() {
                self.out.buffers.allow();
            }
            let messages = if self.peer.has_room(cx) { MESSAGE_MAX } else { 0 };
            let room = Room { messages, stream: self.out.outbox.room() };
            let Piece { bytes, remaining } = &self.piece;
            let mut arrived = Arrived { piece: bytes, remaining: *remaining, stream: self.inbound.bytes() };
            let offered = (arrived.piece.len(), arrived.stream.len());
            let action = self.rewriting.poll(&mut arrived, room);
            let left = (arrived.piece.len(), arrived.stream.len());
            let done = self.out.carry_out(action, &mut self.stream, &mut self.peer, cx)?;
            match offered.0.saturating_sub(left.0) {
                0 => {}
                _ if left.0 == 0 => self.piece.bytes.clear(),
                taken => self.piece.bytes.advance(taken),
            }
            self.inbound.leave(left.1);
            has_moved |= left != offered;
            match done {
                Done::Something => has_moved = true,
                Done::Idle => return Ok(has_moved),
                Done::Closed(reason) => return Err(Ending::Relay(reason)),
            }
        }
    }

    fn send(&mut self, cx: &mut Context<'_>) -> Result<bool, Ending> {
        let (Outgoing { outbox, buffers, .. }, rewriting) = (&mut self.out, &mut self.rewriting);
        let sent = |buffer, len| rewriting.handle(Event::Sent { buffer, len });
        outbox.send(&mut self.stream, sent, buffers, cx)
    }

    /// Receives from the stream, once all that came was taken.
    fn receive(&mut self, cx: &mut Context<'_>) -> Result<bool, Ending> {
        if !self.inbound.is_empty() {
            return Ok(false);
        }
        let is_rdma = self.rewriting.has_rdma();
        let place = self.rewriting.placement();
        let got = match place {
            Some(Placement { buffer, offset, len, is_last }) => {
                let part = Part { memory: self.out.buffers.get(buffer)?, offset, len };
                // With the last data comes the header of the next message.
                let behind = if is_last { self.inbound.room(is_rdma) } else { &mut [] };
                self.stream.poll_read_into(cx, part, behind)
            }
            None => self.stream.poll_read(cx, self.inbound.room(is_rdma)),
        };
        let Poll::Ready(got) = got else { return Ok(false) };
        let got = got.map_err(|error| Ending::of(R::STREAM, error.to_string()))?;
        if got == 0 {
            self.rewriting.handle(Event::StreamEnded)?;
            return Err(Ending::Relay(match R::STREAM {
                Side::Client => Reason::ClientEnded,
                Side::Server => Reason::ServerEnded,
            }));
        }
        let mut placed = 0;
        if let Some(Placement { buffer, len, .. }) = place {
            placed = u32::try_from(got).unwrap_or(len).min(len);
            self.rewriting.handle(Event::Placed { buffer, len: placed })?;
        }
        self.inbound.received(got.saturating_sub(placed as usize));
        Ok(true)
    }
}

impl<R: fmt::Debug, T: Transport<BufferId>, S, C: Clock> fmt::Debug for Pump<R, T, S, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pump").field("rewriting", &self.rewriting).finish_non_exhaustive()
    }
}
