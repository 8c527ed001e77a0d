//! A connection: between its transport and the sockets of its owners.

use std::future::poll_fn;
use std::task::{Context, Poll};
use std::time::Duration;

use smbd_core::Negotiated;
use smbd_link::link::Owned;
use smbd_link::{Messages, PollReady};

use super::hub::{Hub, Order};
use super::lines::{Lines, Read};
use super::system::{Boxed, System};
use super::transport::{Done, Transport};
use crate::broker::{ConnectionId, Peer, TransferId};

/// How long the owner of a connection that has ended may take to read the rest.
const LINGER: Duration = Duration::from_secs(5);
/// Steps that are made before others have their turn.
const TURN: usize = 64;
/// Packets that are read before a connection goes to another owner: more than a socket holds, so a former owner that goes on writing
/// does not keep it.
const DRAIN_MAX: usize = 1 << 16;

/// Serves an established connection to its end. Returns `false` if there are too many; then it is dropped.
pub async fn serve<S, B, C>(
    hub: Hub<S>,
    (link, negotiated): (Owned<B, TransferId, C>, Negotiated),
    address: String,
) -> bool
where
    S: System<Memory = B::Buffer>,
    B: PollReady,
    C: Messages,
{
    let transport = Transport::new(link);
    let peer = Peer {
        max_send_size: negotiated.max_fragmented_send_size,
        max_read_write_size: negotiated.max_read_write_size,
        address,
    };
    let Some(id) = hub.connected(peer) else { return false };
    let setup_within = hub.look(crate::broker::Broker::setup_within);
    let mut task = Task {
        setup: Some(hub.system().sleep(setup_within)),
        transport,
        lines: Lines::new(),
        draining: None,
        phase: Phase::Open,
        hub,
        id,
    };
    poll_fn(|cx| task.poll(cx)).await;
    task.transport.leave();
    task.linger().await;
    true
}

struct Task<S: System, B: PollReady, C: Messages> {
    hub: Hub<S>,
    id: ConnectionId,
    transport: Transport<B, C>,
    lines: Lines<S::Socket>,
    /// All that is in the owner's socket is being read, this many packets at most. Orders wait.
    draining: Option<usize>,
    phase: Phase,
    /// When the time for SESSION_SETUP is over.
    setup: Option<Boxed<()>>,
}

enum Phase {
    Open,
    /// What was ordered is given to the transport, until there is no more time.
    Finishing {
        within: Duration,
        time: Boxed<()>,
    },
    /// It is being closed.
    Closing,
    /// It has ended. Messages that had come are still given to the owner.
    Over(String),
}

impl<S, B, C> Task<S, B, C>
where
    S: System<Memory = B::Buffer>,
    B: PollReady,
    C: Messages,
{
    /// Ready when the connection has ended, and the broker knows.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        for _ in 0..TURN {
            let mut has_moved = self.take_orders(cx);
            has_moved |= self.drain(cx);
            has_moved |= self.move_transport(cx);
            has_moved |= self.move_lines(cx);
            has_moved |= self.take_message();
            if self.move_phase(cx).is_ready() {
                return Poll::Ready(());
            }
            if !has_moved {
                return Poll::Pending;
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    fn take_orders(&mut self, cx: &mut Context<'_>) -> bool {
        let mut has_moved = false;
        while self.draining.is_none()
            && let Some(order) = self.hub.next_of(self.id, cx)
        {
            has_moved = true;
            self.take(order);
        }
        has_moved
    }

    fn take(&mut self, order: Order<S>) {
        match order {
            Order::Socket(socket) => self.lines.open(socket),
            Order::ToSocket(packet) => self.lines.send(packet),
            Order::CloseSocket => self.lines.close(),
            Order::Drain => self.draining = Some(DRAIN_MAX),
            Order::Transport(order) => self.transport.order(order),
            Order::Disconnect { within } => {
                if matches!(self.phase, Phase::Open) {
                    let within = Duration::from_millis(within.into());
                    self.phase = Phase::Finishing { within, time: self.hub.system().sleep(within) };
                }
            }
        }
    }

    /// Reads what is left in the socket of the owner. Whether there was something, or it is all.
    fn drain(&mut self, cx: &mut Context<'_>) -> bool {
        let Some(most) = self.draining else { return false };
        for left in (0..most).rev() {
            match self.read(cx) {
                Some(true) => self.draining = Some(left),
                Some(false) => break,
                None => return false,
            }
        }
        self.draining = None;
        let id = self.id;
        self.hub.tell(|broker| broker.drained(id));
        true
    }

    fn move_transport(&mut self, cx: &mut Context<'_>) -> bool {
        let mut has_moved = false;
        while let Poll::Ready(done) = self.transport.poll(cx) {
            has_moved = true;
            let id = self.id;
            self.hub.tell(|broker| match done {
                Done::Sent => broker.sent(id),
                Done::Transfer(transfer, is_success) => broker.transfer_done(id, transfer, is_success),
            });
        }
        has_moved
    }

    fn move_lines(&mut self, cx: &mut Context<'_>) -> bool {
        self.lines.poll_send(cx);
        // Whoever does not read is not listened to.
        matches!(self.phase, Phase::Open) && self.lines.is_flushed() && self.read(cx) == Some(true)
    }

    /// Takes a packet of the owner, or the end of its socket. Whether there was something; None if the task has to be polled again to
    /// know it.
    fn read(&mut self, cx: &mut Context<'_>) -> Option<bool> {
        let id = self.id;
        match self.lines.read(cx) {
            Read::Packet(packet) => self.hub.tell(|broker| broker.packet(id, packet)),
            Read::Closed => self.hub.tell(|broker| broker.socket_closed(id)),
            Read::Nothing => return Some(false),
            Read::Later => return None,
        }
        Some(true)
    }

    /// Takes a message of the client, if it is wanted and the owner has got all others.
    fn take_message(&mut self) -> bool {
        let id = self.id;
        let is_open = matches!(self.phase, Phase::Open | Phase::Over(_));
        if !is_open || !self.lines.is_flushed() || !self.hub.look(|broker| broker.wants_message(id)) {
            return false;
        }
        let Some(message) = self.transport.receive() else { return false };
        self.hub.tell(|broker| broker.received(id, message));
        true
    }

    /// Goes on with its end. Ready when the broker knows of it.
    fn move_phase(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if let Some(setup) = &mut self.setup
            && setup.as_mut().poll(cx).is_ready()
        {
            self.setup = None;
            let now = self.hub.system().now();
            self.hub.tell(|broker| broker.timeout(now));
            cx.waker().wake_by_ref();
        }
        if let Phase::Finishing { within, time } = &mut self.phase
            && (self.transport.is_taken() || time.as_mut().poll(cx).is_ready())
        {
            self.transport.close(*within);
            self.phase = Phase::Closing;
            // Behind what came of the orders that are dropped.
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        if !matches!(self.phase, Phase::Over(_)) {
            let Poll::Ready(why) = self.transport.poll_over(cx) else { return Poll::Pending };
            let was_open = matches!(self.phase, Phase::Open);
            self.phase = Phase::Over(why);
            cx.waker().wake_by_ref();
            if was_open {
                return Poll::Pending;
            }
        }
        // What the transport had is over by now, and what it had not taken it will not take.
        if self.is_message_left() || !self.transport.is_taken() {
            return Poll::Pending;
        }
        let Phase::Over(why) = &mut self.phase else { return Poll::Pending };
        let (id, why) = (self.id, std::mem::take(why));
        self.hub.tell(|broker| broker.ended(id, why));
        // Nobody waits for what a former owner has written.
        self.draining = None;
        self.take_orders(cx);
        Poll::Ready(())
    }

    /// Whether a message waits for the owner.
    fn is_message_left(&mut self) -> bool {
        let id = self.id;
        if !self.hub.look(|broker| broker.wants_message(id)) {
            return false;
        }
        // It is taken when the owner has got all others.
        !self.lines.is_flushed() || self.take_message()
    }

    /// Sends what is left to be sent, if the owner reads it.
    async fn linger(mut self) {
        let mut time = self.hub.system().sleep(LINGER);
        poll_fn(|cx| match self.lines.poll_flushed(cx) {
            Poll::Ready(()) => Poll::Ready(()),
            Poll::Pending => time.as_mut().poll(cx),
        })
        .await;
        self.hub.forget(self.id);
    }
}
