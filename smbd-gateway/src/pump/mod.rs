//! The driver of one connection through the gateway: a [`Relay`] between a [`Client`] and a [`Server`].

mod buffers;
mod client;
mod clock;
mod ending;
mod inbound;
mod outbox;
mod outgoing;
mod reverse;
mod seen;
mod server;
#[cfg(test)]
mod tests;

use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Buf;
use smbd_link::handles::Piece;
use smbd_smb2::relay::{Arrived, ClientBytes, Config, Event, Placement, Reason, Relay, Side, Statistics};
use smbd_smb2::wire::Dialect;

use buffers::Buffers;
pub use client::{Client, Memory, Operation, Order};
use clock::within;
pub use clock::{Clock, TokioTime};
pub use ending::Ending;
use inbound::Inbound;
use outgoing::{Done, Outgoing};
pub use reverse::{Peer, ReversePump};
pub use server::{Copied, Part, Server};

/// Pieces of messages that are taken in one turn.
const PIECES_MAX: u32 = 64;
/// Turns of one poll. After them the task yields to other tasks.
const TURNS_MAX: u32 = 16;
/// A connection with encrypted messages on which nothing has moved for so long is idle.
const QUIET: Duration = Duration::from_millis(500);

/// The most bytes of messages that a [`Pump`] holds if its client is sent none of more than `answer_max` bytes, however long those of
/// the client are. Its buffers and [its relay](Config::heap_max) come on top.
#[must_use]
pub fn waiting_max(answer_max: u32) -> u64 {
    let parts = [outbox::BYTES_MAX, inbound::LEN, outgoing::waiting_max(answer_max as usize)];
    parts.into_iter().fold(0, |sum, bytes| sum.saturating_add(bytes as u64))
}

/// One connection through the gateway.
///
/// Messages and data go through it with a bounded amount of memory. A side that takes nothing holds up the other one. Buffers for
/// RDMA are allocated when they are first needed, which is never before a SESSION_SETUP was successful.
pub struct Pump<C: Client, S, T: Clock = TokioTime> {
    relay: Relay,
    client: C,
    server: S,
    /// What the relay has not taken of the client's last piece of a message.
    piece: Piece,
    inbound: Inbound,
    out: Outgoing<C::Memory>,
    /// Until a session is established.
    limit: Option<(Duration, Pin<Box<T::Sleep>>)>,
    clock: T,
    /// Rises with everything that moves.
    moves: u64,
}

impl<C: Client, S: Server<C::Memory>> Pump<C, S> {
    /// A connection on which nothing has passed. It ends if no session is established within `session_within`. Call it inside a
    /// runtime with time enabled.
    pub fn new(config: &Config, client: C, server: S, session_within: Duration) -> Self {
        Self::with_clock(config, client, server, session_within, TokioTime)
    }
}

impl<C: Client, S: Server<C::Memory>, T: Clock> Pump<C, S, T> {
    /// As [`new`](Pump::new), with the time of `clock`.
    pub fn with_clock(config: &Config, client: C, server: S, session_within: Duration, clock: T) -> Self {
        let buffers = Buffers::new(config.buffers(), config.params().buffer_len);
        Self {
            relay: Relay::new(config),
            client,
            server,
            piece: Piece::default(),
            inbound: Inbound::new(),
            out: Outgoing::new(buffers),
            limit: Some((session_within, Box::pin(clock.sleep(session_within)))),
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

    /// Gives the client what still waits for it, at most for `time`. To be called after the end.
    pub async fn flush(&mut self, time: Duration) {
        let clock = self.clock.clone();
        let given = poll_fn(|cx| {
            self.out.give(&mut self.client, cx);
            let is_over = self.client.poll_ready(cx).is_ready() || self.client.poll_ended(cx).is_ready();
            if is_over { Poll::Ready(()) } else { Poll::Pending }
        });
        // What is not taken by then is lost with the connection.
        let _ = within(&clock, time, given).await;
    }

    /// What has passed.
    #[must_use]
    pub const fn statistics(&self) -> &Statistics {
        self.relay.statistics()
    }

    /// The dialect that the server has chosen, once it has.
    #[must_use]
    pub const fn dialect(&self) -> Option<Dialect> {
        self.out.seen.dialect
    }

    /// Whether a session is established.
    #[must_use]
    pub const fn has_session(&self) -> bool {
        self.out.seen.has_session
    }

    /// Bytes of all buffers for RDMA.
    #[must_use]
    pub fn buffer_bytes(&self) -> u64 {
        self.out.buffers.bytes()
    }

    /// The client.
    #[must_use]
    pub const fn client(&self) -> &C {
        &self.client
    }

    /// The client. The server's connection ends here.
    #[must_use]
    pub fn into_client(self) -> C {
        self.client
    }

    fn is_answered(&self) -> bool {
        let is_empty = self.piece.bytes.is_empty()
            && self.piece.remaining == 0
            && self.inbound.is_empty()
            && self.out.is_empty();
        is_empty && !self.relay.is_amid_answer() && self.statistics().outstanding() == 0
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Ending> {
        for _ in 0..TURNS_MAX {
            match self.turn(cx) {
                Ok(true) => self.moves = self.moves.wrapping_add(1),
                Ok(false) => return Poll::Pending,
                Err(ending) => return Poll::Ready(ending),
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    /// Whether anything moved. If not, whatever can move it wakes the task.
    fn turn(&mut self, cx: &mut Context<'_>) -> Result<bool, Ending> {
        self.check_limit(cx)?;
        let mut has_moved = false;
        for _ in 0..PIECES_MAX {
            let has_piece = self.take_piece(cx)?;
            has_moved |= self.ask_relay(cx)? || has_piece;
            if !has_piece {
                break;
            }
        }
        // Without room the relay may have kept an answer that has come whole. It is asked again before the server is: behind the last
        // bytes of that may be the end.
        let may_receive = self.out.has_room();
        has_moved |= self.out.give(&mut self.client, cx);
        // Behind the orders: what was just taken can wake the task only once it was asked for.
        has_moved |= self.take_results(cx)?;
        let Outgoing { outbox, buffers, .. } = &mut self.out;
        let sent = |buffer, len| self.relay.handle(Event::Sent { buffer, len });
        has_moved |= outbox.send(&mut self.server, sent, buffers, cx)?;
        has_moved |= may_receive && self.receive(cx)?;
        Ok(has_moved)
    }

    fn check_limit(&mut self, cx: &mut Context<'_>) -> Result<(), Ending> {
        if self.out.seen.has_session {
            self.limit = None;
        }
        let Some((within, timer)) = &mut self.limit else { return Ok(()) };
        match timer.as_mut().poll(cx) {
            Poll::Ready(()) => Err(Ending::NoSession { within: *within }),
            Poll::Pending => Ok(()),
        }
    }

    fn take_results(&mut self, cx: &mut Context<'_>) -> Result<bool, Ending> {
        let mut has_moved = false;
        while let Poll::Ready((buffer, is_success)) = self.client.poll_done(cx) {
            self.out.buffers.running = self.out.buffers.running.saturating_sub(1);
            self.relay.handle(Event::RdmaDone { buffer, is_success })?;
            has_moved = true;
        }
        Ok(has_moved)
    }

    fn take_piece(&mut self, cx: &mut Context<'_>) -> Result<bool, Ending> {
        if !self.piece.bytes.is_empty() {
            // Servers take an acknowledgement of TCP for the delivery of a lease break (MS-SMB2 3.3.4.7), so the end counts at once.
            return match self.client.poll_ended(cx) {
                Poll::Ready(why) => Err(Ending::Client(why)),
                Poll::Pending => Ok(false),
            };
        }
        match self.client.poll_piece(cx) {
            Poll::Ready(Some(piece)) => {
                self.piece = piece;
                Ok(true)
            }
            // The reason follows.
            Poll::Ready(None) => match self.client.poll_ended(cx) {
                Poll::Ready(why) => Err(Ending::Client(why)),
                Poll::Pending => Ok(false),
            },
            Poll::Pending => Ok(false),
        }
    }

    /// Carries out what the relay wants, until it is idle. Whether that was anything.
    fn ask_relay(&mut self, cx: &mut Context<'_>) -> Result<bool, Ending> {
        let mut has_moved = false;
        loop {
            let Piece { bytes, remaining } = &self.piece;
            let client = ClientBytes { bytes, remaining: *remaining };
            let offered = (client.bytes.len(), self.inbound.bytes().len());
            let mut arrived = Arrived { client, server: self.inbound.bytes() };
            let action = self.relay.poll(&mut arrived, self.out.room());
            let left = (arrived.client.bytes.len(), arrived.server.len());
            let done = self.out.carry_out(action, &mut self.server, cx)?;
            self.piece.bytes.advance(offered.0.saturating_sub(left.0));
            self.inbound.leave(left.1);
            has_moved |= left != offered;
            match done {
                Done::Something => has_moved = true,
                Done::Idle => return Ok(has_moved),
                Done::Closed(reason) => return Err(Ending::Relay(reason)),
            }
        }
    }

    /// Receives from the server, once all that came was taken.
    fn receive(&mut self, cx: &mut Context<'_>) -> Result<bool, Ending> {
        if !self.inbound.is_empty() {
            return Ok(false);
        }
        let is_rdma = self.statistics().sessions.rdma > 0;
        let place = self.relay.placement();
        let got = match place {
            Some(Placement { buffer, offset, len, is_last }) => {
                let part = Part { memory: self.out.buffers.get(buffer)?, offset, len };
                // With the last data comes the header of the next answer.
                let behind = if is_last { self.inbound.room(is_rdma) } else { &mut [] };
                self.server.poll_read_into(cx, part, behind)
            }
            None => self.server.poll_read(cx, self.inbound.room(is_rdma)),
        };
        let Poll::Ready(got) = got else { return Ok(false) };
        let got = got.map_err(|error| Ending::Server(error.to_string()))?;
        if got == 0 {
            self.relay.handle(Event::Ended(Side::Server))?;
            return Err(Ending::Relay(Reason::ServerEnded));
        }
        let mut placed = 0;
        if let Some(Placement { buffer, len, .. }) = place {
            placed = u32::try_from(got).unwrap_or(len).min(len);
            self.relay.handle(Event::Placed { buffer, len: placed })?;
        }
        self.inbound.received(got.saturating_sub(placed as usize));
        Ok(true)
    }
}

impl<C: Client, S, T: Clock> fmt::Debug for Pump<C, S, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pump").field("relay", &self.relay).finish_non_exhaustive()
    }
}
