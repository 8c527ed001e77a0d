//! Connections on ideal devices, for tests of the core alone: one [`Side`] with a peer played by hand, or a [`Pair`] of
//! them on a perfect wire. Time goes by hand; what a side sends is checked against the laws as it leaves.

#![allow(dead_code, reason = "each test program uses its own part")]

mod side;
mod told;
mod trace;
mod watch;
mod wire;

use std::time::Duration;

use smbd_core::error::DisconnectReason;
use smbd_core::wire::DataTransfer;
use smbd_core::{Action, Event, Input, Instant, Limits, MsgId, Params, Role};

pub use side::{Polled, Side, descriptors, flushed};
pub use wire::{DATA, REQUEST, RESPONSE, data, request, response};

pub const LIMITS: Limits = Limits {
    read_depth: 16,
    send_queue: 4096,
    rdma_len_max: 1 << 30,
    registration_requests: 0,
    send_with_invalidate: true,
    reads_in_order: true,
};

/// The transport connection is gone, and nobody knows why.
pub const LOST: Input<'_> = Input::Disconnected { reason: DisconnectReason::Unknown };
/// The peer has closed in order.
pub const PEER_CLOSED: Input<'_> = Input::Disconnected { reason: DisconnectReason::PeerClosed };

pub const INITIATOR: usize = 0;
pub const ACCEPTOR: usize = 1;

/// Two sides and the wire between them.
pub struct Pair {
    pub now: Instant,
    pub sides: [Side; 2],
    pub trace: String,
}

impl Pair {
    pub fn new(initiator: Params, acceptor: Params) -> Self {
        Self {
            now: Instant::ORIGIN,
            sides: [Side::new(Role::Initiator, initiator), Side::new(Role::Acceptor, acceptor)],
            trace: String::new(),
        }
    }

    /// Connected and negotiated, all quiet.
    pub fn established(initiator: Params, acceptor: Params) -> Self {
        let mut pair = Self::new(initiator, acceptor);
        pair.connect();
        pair.run();
        pair
    }

    pub fn connect(&mut self) {
        for index in [ACCEPTOR, INITIATOR] {
            self.drain(index);
            self.sides[index].connect();
        }
    }

    pub fn send(&mut self, index: usize, len: u32) -> MsgId {
        self.sides[index].send(len)
    }

    pub fn drain(&mut self, index: usize) {
        let side = &mut self.sides[index];
        loop {
            match side.poll() {
                Polled::Wait(_) => return,
                Polled::Action(action) => trace::action(&mut self.trace, side, &action),
                Polled::Data => trace::data(&mut self.trace, side),
            }
        }
    }

    /// Moves one message from `from` to the other side.
    pub fn deliver_only(&mut self, from: usize) -> bool {
        let Some(message) = self.sides[from].wire.pop_front() else { return false };
        let to = &mut self.sides[1 - from];
        if !to.disconnected {
            to.receive_message(&message);
        }
        true
    }

    /// Moves one message from `from` to the other side and completes its send.
    pub fn deliver(&mut self, from: usize) -> bool {
        self.sides[from].complete_send();
        self.deliver_only(from)
    }

    /// Until nothing moves any more; panics if that takes for ever.
    pub fn run(&mut self) {
        for _ in 0..400_000 {
            self.drain(INITIATOR);
            self.drain(ACCEPTOR);
            let mut moved = false;
            for index in [INITIATOR, ACCEPTOR] {
                moved |= self.sides[index].complete_send();
                moved |= self.deliver_only(index);
                moved |= self.sides[index].complete_rdma();
            }
            if !moved {
                return;
            }
        }
        panic!("the pair never becomes quiet");
    }

    /// Lets time pass to `after` from now, waking whoever asks for it.
    pub fn sleep(&mut self, after: Duration) {
        let until = self.now.saturating_add(after);
        loop {
            self.run();
            let next = self.sides.iter_mut().filter_map(Side::deadline).min();
            let Some(next) = next.filter(|next| *next <= until) else { break };
            self.set_time(self.now.max(next));
            for side in &mut self.sides {
                side.handle(Input::Timeout);
            }
        }
        self.set_time(until);
    }

    fn set_time(&mut self, now: Instant) {
        self.now = now;
        for side in &mut self.sides {
            side.now = now;
        }
    }

    /// Data Transfer headers sent by `index`, negotiation left out.
    pub fn data_headers(&self, index: usize) -> Vec<DataTransfer> {
        self.sides[index].data_headers()
    }

    /// Messages sent so far by both.
    pub fn message_counts(&self) -> [usize; 2] {
        self.sides.each_ref().map(|side| side.sent.len())
    }

    pub fn is_closed(&self) -> bool {
        self.sides.iter().any(|side| side.events.iter().any(|event| matches!(event, Event::Closed(_))))
    }
}

/// The posts among `actions`, in order, one letter each: receives, sends, RDMA, registrations, deregistrations, and the
/// transport's own in capitals.
pub fn shape(actions: &[Action]) -> String {
    actions
        .iter()
        .map(|action| match action {
            Action::PostRecv { .. } => 'r',
            Action::PostSend { .. } => 's',
            Action::PostRdma { .. } => 'm',
            Action::Register { .. } => 'g',
            Action::Deregister { .. } => 'd',
            Action::Connect => 'C',
            Action::Accept => 'A',
            Action::Disconnect => 'D',
            Action::Notify(_) => 'n',
            Action::Wait(_) => 'w',
        })
        .collect()
}
