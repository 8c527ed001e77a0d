//! The shared part of both hosts: time, the wire, random numbers, scheduled events, and watchers.

mod wire;

use std::cell::{RefCell, RefMut};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use smbd_core::error::{ConnectReason, DisconnectReason, WorkError};
use smbd_core::{Instant, RegId, WrId};

pub use wire::Latency;
use wire::{Delay, Wire};

use crate::fault::Faults;
use crate::nic::{Nic, Packet, Payload, Personality, Reply};
use crate::probe::{At, Frame, Probe};
use crate::{Rng, Side};

/// Something that comes to a device's notice without a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Notice {
    Connected,
    ConnectFailed(ConnectReason),
    /// The connection was taken, but the initiator never came.
    NeverUp,
    Disconnected(DisconnectReason),
    Registered(RegId),
    RegistrationFailed(RegId, WorkError),
    Deregistered(RegId),
}

/// What will happen at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScheduledEvent {
    /// The initiator's request reaches the acceptor.
    ConnectRequest,
    /// The acceptor's consent reaches the initiator.
    Accepted,
    /// The peer's end of the connection reaches this side, and looks like this.
    PeerGone(Side, DisconnectReason),
    /// Something comes to a device's notice.
    Notice(Side, Notice),
    /// Nobody answered a work request.
    GiveUp(Side, u64),
    /// A byte stream got no acknowledgement.
    StreamLost(Side),
}

/// Times of the network and its devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    /// Of the wire.
    pub latency: Latency,
    /// After which a request without an answer fails.
    pub retry: Duration,
    /// After which a disconnect without an answer counts as done.
    pub disconnect: Duration,
}

impl Default for Times {
    fn default() -> Self {
        Self {
            latency: Latency::of(Duration::from_micros(2)),
            retry: Duration::from_secs(2),
            disconnect: Duration::from_secs(3),
        }
    }
}

/// All that hosts share: time, the wire, chance, and who watches.
#[derive(Debug)]
pub(crate) struct Fabric<F, P> {
    pub(crate) now: Instant,
    pub(crate) rng: Rng,
    pub(crate) faults: F,
    /// Shared with the connections, which are watched as well.
    probe: Rc<RefCell<P>>,
    pub(crate) times: Times,
    delay: Delay,
    pub(crate) personality: Personality,
    /// Nothing arrives any more.
    pub(crate) cut: bool,
    /// By the side that receives.
    pub(crate) wires: [Wire; 2],
    event_queue: BTreeMap<(Instant, u64), ScheduledEvent>,
    next: Option<Instant>,
    seq: u64,
}

impl<F: Faults, P: Probe> Fabric<F, P> {
    pub(crate) fn new(personality: Personality, times: Times, rng: Rng, faults: F, probe: P) -> Self {
        Self {
            now: Instant::ORIGIN,
            rng,
            faults,
            probe: Rc::new(RefCell::new(probe)),
            times,
            delay: times.latency.delay(),
            personality,
            cut: false,
            wires: [Wire::new(), Wire::new()],
            event_queue: BTreeMap::new(),
            next: None,
            seq: 0,
        }
    }

    /// What watches, for others who see something.
    pub(crate) fn probe(&self) -> &Rc<RefCell<P>> {
        &self.probe
    }

    pub(crate) fn probe_mut(&mut self) -> RefMut<'_, P> {
        self.probe.borrow_mut()
    }

    /// Nothing is watched any more: gives back what did.
    pub(crate) fn into_probe(self) -> Rc<RefCell<P>> {
        self.probe
    }

    pub(crate) const fn at(&self, side: Side) -> At {
        At { now: self.now, side }
    }

    pub(crate) fn schedule(&mut self, at: Instant, scheduled: ScheduledEvent) {
        self.seq += 1;
        self.event_queue.insert((at, self.seq), scheduled);
        self.next = self.event_queue.keys().next().map(|key| key.0);
    }

    pub(crate) fn schedule_in(&mut self, after: Duration, scheduled: ScheduledEvent) {
        self.schedule(self.now.saturating_add(after), scheduled);
    }

    /// Happenings that are due some time.
    pub(crate) fn arranged(&self) -> usize {
        self.event_queue.len()
    }

    /// When the next scheduled is due.
    pub(crate) const fn next(&self) -> Option<Instant> {
        self.next
    }

    pub(crate) fn take_next(&mut self) -> Option<ScheduledEvent> {
        let (_, scheduled) = self.event_queue.pop_first()?;
        self.next = self.event_queue.keys().next().map(|key| key.0);
        Some(scheduled)
    }

    pub(crate) fn refuse_post(&mut self, side: Side, work: WrId) -> Option<i32> {
        self.faults.refuse_post(self.now, side, work, &mut self.rng)
    }

    pub(crate) fn timer_late(&mut self, side: Side) -> Duration {
        self.faults.timer_late(self.now, side, &mut self.rng)
    }

    /// Nothing is under way any more, and nothing is arranged.
    pub(crate) fn clear(&mut self) {
        self.cut = false;
        self.wires = [Wire::new(), Wire::new()];
        self.event_queue.clear();
        self.next = None;
    }

    /// A packet leaves `from`.
    pub(crate) fn transmit(&mut self, from: Side, packet: Packet, nic: &mut Nic, solicit: bool) {
        if self.probe.borrow().wants_frames() {
            self.show(from, &packet, nic, solicit);
        }
        if self.cut {
            let scheduled = match self.personality {
                Personality::Roce => ScheduledEvent::GiveUp(from, packet.seq()),
                Personality::Iwarp => ScheduledEvent::StreamLost(from),
            };
            nic.take_back(packet);
            return self.schedule_in(self.times.retry, scheduled);
        }
        let wire = &mut self.wires[from.peer().index()];
        let at = wire.arrival(self.now, self.delay, &mut self.rng);
        wire.send(at, packet);
    }

    fn show(&mut self, from: Side, packet: &Packet, nic: &Nic, solicit: bool) {
        let bytes = |payload| match payload {
            &Payload::Nothing => &[],
            Payload::Borrowed(range) => nic.buffers.range(*range),
            Payload::Copied(bytes) => bytes,
        };
        let frame = match packet {
            Packet::Send { seq, head, body_len, body, invalidate } => Frame::Send {
                seq: *seq,
                head,
                body: bytes(body),
                body_len: *body_len,
                invalidate: *invalidate,
                solicit,
            },
            Packet::Write { seq, remote, payload } => {
                Frame::Write { seq: *seq, remote: *remote, payload: bytes(payload) }
            }
            Packet::Read { seq, remote, sink } => Frame::Read { seq: *seq, remote: *remote, sink: *sink },
        };
        self.probe.borrow_mut().frame(At { now: self.now, side: from }, &frame);
    }

    /// A reply leaves `from`.
    pub(crate) fn answer(&mut self, from: Side, reply: Reply) {
        if self.probe.borrow().wants_frames() {
            let frame = match &reply {
                Reply::Ack { upto } => Frame::Ack { upto: *upto },
                Reply::Nak { seq, error } => Frame::Nak { seq: *seq, error: *error },
                Reply::ReadData { seq, bytes } => Frame::ReadData { seq: *seq, payload: bytes },
                Reply::Terminate { error, .. } => Frame::Terminate { error: *error },
            };
            self.probe.borrow_mut().frame(At { now: self.now, side: from }, &frame);
        }
        if self.cut {
            return;
        }
        let wire = &mut self.wires[from.peer().index()];
        let at = wire.arrival(self.now, self.delay, &mut self.rng);
        wire.reply(at, reply);
    }

    /// When a word of connection management sent now by `from` arrives, behind all that was sent before.
    fn management(&mut self, from: Side) -> Instant {
        let arrival = self.wires[from.peer().index()].arrival(self.now, self.delay, &mut self.rng);
        arrival.saturating_add(Duration::from_nanos(1))
    }

    pub(crate) fn frame(&mut self, from: Side, frame: &Frame<'_>) {
        if self.probe.borrow().wants_frames() {
            self.probe.borrow_mut().frame(At { now: self.now, side: from }, frame);
        }
    }

    /// The initiator asks for a connection.
    pub(crate) fn connect(&mut self, read_depth: u16) {
        let side = Side::Initiator;
        self.frame(side, &Frame::Connect { personality: self.personality, read_depth });
        let fate = self.faults.connect(&mut self.rng);
        let fate = if self.cut { Err((ConnectReason::TimedOut, self.times.disconnect)) } else { fate };
        match fate {
            Ok(()) => {
                let at = self.management(side);
                self.schedule(at, ScheduledEvent::ConnectRequest);
            }
            Err((reason, after)) => {
                self.schedule_in(after, ScheduledEvent::Notice(side, Notice::ConnectFailed(reason)));
            }
        }
    }

    /// The acceptor takes the connection.
    pub(crate) fn accept(&mut self, read_depth: u16) {
        let side = Side::Acceptor;
        self.frame(side, &Frame::Accept { read_depth });
        if self.cut {
            return self.schedule_in(self.times.disconnect, ScheduledEvent::Notice(side, Notice::NeverUp));
        }
        let at = self.management(side);
        self.schedule(at, ScheduledEvent::Accepted);
    }

    /// `side` ends the connection, which looks like this to its peer: what that learns, and when it is done itself.
    pub(crate) fn disconnect(
        &mut self,
        side: Side,
        as_seen: DisconnectReason,
        was_accepted: bool,
        answer: bool,
    ) {
        self.frame(side, &if was_accepted { Frame::Disconnect } else { Frame::Reject });
        let mut done = self.times.disconnect;
        if !self.cut {
            let at = self.management(side);
            self.schedule(at, ScheduledEvent::PeerGone(side.peer(), as_seen));
            done = self.times.latency.most * 2;
        }
        if answer {
            self.schedule_in(
                done,
                ScheduledEvent::Notice(side, Notice::Disconnected(DisconnectReason::Local)),
            );
        }
    }
}
