//! The driver of one connection the other way round: a [`Reverse`] between a client over TCP and a [`Peer`].

mod outgoing;
mod peer;
#[cfg(test)]
mod tests;

use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Buf, Bytes};
use smbd_link::handles::Piece;
use smbd_smb2::relay::reverse::{Arrived, Config, Event, Reverse, ServerBytes};
use smbd_smb2::relay::{Placement, Reason, Side, Statistics};
use smbd_smb2::wire::Dialect;

use super::buffers::Buffers;
use super::clock::{Clock, TokioTime, within};
use super::ending::Ending;
use super::inbound::Inbound;
use super::server::{Part, Server};
use outgoing::{Done, Outgoing, of_client};
pub use peer::Peer;

/// Turns of one poll. After them the task yields to other tasks.
const TURNS_MAX: u32 = 16;
/// A connection on which nothing has moved for so long is idle.
const QUIET: Duration = Duration::from_millis(500);

/// One connection of a client over TCP (`S`) to a server over SMB Direct (`P`).
///
/// Messages and data go through it with a bounded amount of memory. A side that takes nothing holds up the other one. Buffers for
/// RDMA belong to this connection alone; they are allocated when they are first needed, which is never before a SESSION_SETUP
/// was successful.
pub struct ReversePump<S, P: Peer, T: Clock = TokioTime> {
    reverse: Reverse,
    client: S,
    server: P,
    /// What was not taken of the server's last piece of a message.
    piece: Piece,
    inbound: Inbound,
    out: Outgoing<P::Memory>,
    /// Until a session is established.
    limit: Option<(Duration, Pin<Box<T::Sleep>>)>,
    clock: T,
    /// Rises with everything that moves.
    moves: u64,
}

impl<S: Server<P::Memory>, P: Peer> ReversePump<S, P> {
    /// A connection on which nothing has passed. It ends if no session is established within `session_within`. Call it inside a
    /// runtime with time enabled.
    pub fn new(config: &Config, client: S, server: P, session_within: Duration) -> Self {
        Self::with_clock(config, client, server, session_within, TokioTime)
    }
}

impl<S: Server<P::Memory>, P: Peer, T: Clock> ReversePump<S, P, T> {
    /// As [`new`](ReversePump::new), with the time of `clock`.
    pub fn with_clock(config: &Config, client: S, server: P, session_within: Duration, clock: T) -> Self {
        let buffers = Buffers::new(config.buffers(), config.params().buffer_len);
        Self {
            reverse: Reverse::new(config),
            client,
            server,
            piece: Piece { bytes: Bytes::new(), remaining: 0 },
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

    /// Runs until no request waits for its answer, at most `time`. As of [`Pump`](crate::Pump), after an encrypted message nothing
    /// has to have moved for half a second as well.
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
        let given = poll_fn(|cx| match self.send(cx) {
            Ok(_) if !self.out.outbox.is_empty() => Poll::Pending,
            Ok(_) | Err(_) => Poll::Ready(()),
        });
        // What is not taken by then is lost with the connection.
        let _ = within(&clock, time, given).await;
    }

    /// The server. The client's connection ends here.
    #[must_use]
    pub fn into_server(self) -> P {
        self.server
    }

    /// What has passed.
    #[must_use]
    pub const fn statistics(&self) -> &Statistics {
        self.reverse.statistics()
    }

    /// The dialect that the server has chosen, once it has.
    #[must_use]
    pub const fn dialect(&self) -> Option<Dialect> {
        self.reverse.dialect()
    }

    /// Whether a session is established.
    #[must_use]
    pub const fn has_session(&self) -> bool {
        self.reverse.has_session()
    }

    /// Bytes of all buffers for RDMA.
    #[must_use]
    pub fn buffer_bytes(&self) -> u64 {
        self.out.buffers.bytes()
    }

    fn is_answered(&self) -> bool {
        // The rest of a message of the server may be under way.
        let is_between = self.piece.bytes.is_empty() && self.piece.remaining == 0;
        let is_empty = is_between && self.inbound.is_empty() && self.out.is_empty();
        is_empty && self.statistics().outstanding() == 0
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
        let mut has_moved = self.take_piece(cx)?;
        has_moved |= self.carry_out(cx)?;
        has_moved |= self.out.give(&mut self.server, cx);
        // Behind the orders: what was just ordered can wake the task only once it was asked for.
        has_moved |= self.take_results(cx)?;
        has_moved |= self.send(cx)?;
        has_moved |= self.receive(cx)?;
        Ok(has_moved)
    }

    fn check_limit(&mut self, cx: &mut Context<'_>) -> Result<(), Ending> {
        if self.reverse.has_session() {
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
        while let Poll::Ready(event) = self.server.poll_done(cx) {
            self.out.buffers.running = self.out.buffers.running.saturating_sub(1);
            self.reverse.handle(event)?;
            has_moved = true;
        }
        Ok(has_moved)
    }

    fn take_piece(&mut self, cx: &mut Context<'_>) -> Result<bool, Ending> {
        if self.piece.bytes.is_empty() {
            match self.server.poll_piece(cx) {
                Poll::Ready(Some(piece)) => {
                    self.piece = piece;
                    return Ok(true);
                }
                Poll::Pending => return Ok(false),
                // The reason follows.
                Poll::Ready(None) => {}
            }
        }
        match self.server.poll_ended(cx) {
            Poll::Ready(why) => Err(Ending::Server(why)),
            Poll::Pending => Ok(false),
        }
    }

    /// Carries out what is to be done, until that is nothing. Whether it was anything.
    fn carry_out(&mut self, cx: &mut Context<'_>) -> Result<bool, Ending> {
        let mut has_moved = false;
        loop {
            if self.reverse.has_session() {
                self.out.buffers.allow();
            }
            let server = ServerBytes { bytes: &self.piece.bytes, remaining: self.piece.remaining };
            let offered = (self.inbound.bytes().len(), server.bytes.len());
            let mut arrived = Arrived { client: self.inbound.bytes(), server };
            let action = self.reverse.poll(&mut arrived, self.out.room());
            let left = (arrived.client.len(), arrived.server.bytes.len());
            let done = self.out.carry_out(action, &mut self.client, &mut self.server, cx)?;
            self.inbound.leave(left.0);
            self.piece.bytes.advance(offered.1.saturating_sub(left.1));
            has_moved |= left != offered;
            match done {
                Done::Something => has_moved = true,
                Done::Idle => return Ok(has_moved),
                Done::Closed(reason) => return Err(Ending::Relay(reason)),
            }
        }
    }

    fn send(&mut self, cx: &mut Context<'_>) -> Result<bool, Ending> {
        let (Outgoing { outbox, buffers, .. }, reverse) = (&mut self.out, &mut self.reverse);
        let told = |buffer, len| reverse.handle(Event::Sent { buffer, len });
        outbox.send(&mut self.client, told, buffers, cx).map_err(of_client)
    }

    /// Receives from the client, once all that came was taken.
    fn receive(&mut self, cx: &mut Context<'_>) -> Result<bool, Ending> {
        if !self.inbound.is_empty() || !self.out.has_room() {
            return Ok(false);
        }
        let is_rdma = self.statistics().bytes.rdma_read > 0;
        let place = self.reverse.placement();
        let got = match place {
            Some(Placement { buffer, offset, len, is_last }) => {
                let part = Part { memory: self.out.buffers.get(buffer)?, offset, len };
                // With the last data comes the header of the next request.
                let behind = if is_last { self.inbound.room(is_rdma) } else { &mut [] };
                self.client.poll_read_into(cx, part, behind)
            }
            None => self.client.poll_read(cx, self.inbound.room(is_rdma)),
        };
        let Poll::Ready(got) = got else { return Ok(false) };
        let got = got.map_err(|error| Ending::Client(error.to_string()))?;
        if got == 0 {
            self.reverse.handle(Event::Ended(Side::Client))?;
            return Err(Ending::Relay(Reason::ClientEnded));
        }
        let mut placed = 0;
        if let Some(Placement { buffer, len, .. }) = place {
            placed = u32::try_from(got).unwrap_or(len).min(len);
            self.reverse.handle(Event::Placed { buffer, len: placed })?;
        }
        self.inbound.received(got.saturating_sub(placed as usize));
        Ok(true)
    }
}

impl<S, P: Peer, T: Clock> fmt::Debug for ReversePump<S, P, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReversePump").field("reverse", &self.reverse).finish_non_exhaustive()
    }
}
