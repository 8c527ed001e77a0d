use std::time::Duration;

use smbd_core::Instant;
use smbd_core::error::{ConnectReason, DisconnectReason};

use super::World;
use crate::Side;
use crate::device::Device;
use crate::fabric::{Fabric, Notice, ScheduledEvent};
use crate::fault::Faults;
use crate::host::Upper;
use crate::nic::{Personality, QpState, Response};
use crate::probe::Probe;

/// What a step was about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The initiator began.
    Start,
    /// Connection management, or a fault that was arranged.
    ScheduledEvent,
    /// Packets arrived at a host.
    Packets(Side),
    /// Replies arrived at a host.
    Replies(Side),
    /// A host looked at its completions.
    Poll(Side),
    /// The time came that a connection waited for.
    Timeout(Side),
    /// The time came that an upper layer waited for.
    Wake(Side),
}

impl<U: Upper, F: Faults, P: Probe> World<U, F, P> {
    /// When the next step happens; `None` if nothing is left to happen.
    #[must_use]
    pub fn next_time(&self) -> Option<Instant> {
        self.next().map(|(at, _)| at)
    }

    fn next(&self) -> Option<(Instant, Step)> {
        if self.steps == 0 {
            return Some((self.fabric.now, Step::Start));
        }
        let mut best: Option<(Instant, Step)> = None;
        // In the order of precedence: only what is strictly earlier replaces what is there.
        let mut offer = |at: Option<Instant>, step| {
            if let Some(at) = at
                && best.is_none_or(|(earliest, _)| at < earliest)
            {
                best = Some((at, step));
            }
        };
        let [to_initiator, to_acceptor] = &self.fabric.wires;
        let [initiator, acceptor] = &self.hosts;
        offer(self.fabric.next(), Step::ScheduledEvent);
        offer(to_initiator.packets.front().map(|p| p.0), Step::Packets(Side::Initiator));
        offer(to_acceptor.packets.front().map(|p| p.0), Step::Packets(Side::Acceptor));
        offer(to_initiator.replies.front().map(|r| r.0), Step::Replies(Side::Initiator));
        offer(to_acceptor.replies.front().map(|r| r.0), Step::Replies(Side::Acceptor));
        offer(initiator.device.due, Step::Poll(Side::Initiator));
        offer(acceptor.device.due, Step::Poll(Side::Acceptor));
        offer(initiator.deadline, Step::Timeout(Side::Initiator));
        offer(acceptor.deadline, Step::Timeout(Side::Acceptor));
        offer(initiator.alarm, Step::Wake(Side::Initiator));
        offer(acceptor.alarm, Step::Wake(Side::Acceptor));
        best
    }

    /// Does the next thing, and says what it was; `None` if nothing is left to happen.
    pub fn step(&mut self) -> Option<Step> {
        self.disturb();
        let next = self.next()?;
        Some(self.carry_out(next))
    }

    /// The same, if it happens by then.
    pub fn step_by(&mut self, until: Instant) -> Option<Step> {
        let next = self.next().filter(|(at, _)| *at <= until)?;
        let next = if self.disturb() { self.next()? } else { next };
        Some(self.carry_out(next))
    }

    /// Whether something went wrong before the next step.
    fn disturb(&mut self) -> bool {
        let disruption = self.fabric.faults.before_step(self.fabric.now, self.steps, &mut self.fabric.rng);
        if let Some(disruption) = disruption {
            self.disrupt(disruption);
        }
        disruption.is_some()
    }

    fn carry_out(&mut self, (at, step): (Instant, Step)) -> Step {
        self.steps += 1;
        self.fabric.now = self.fabric.now.max(at);
        let fabric = &mut self.fabric;
        let [initiator, acceptor] = &mut self.hosts;
        let (here, there) = match step {
            Step::Start => {
                initiator.start(fabric);
                return step;
            }
            Step::ScheduledEvent => {
                if let Some(scheduled) = fabric.take_next() {
                    self.happen(scheduled);
                }
                return step;
            }
            Step::Packets(side)
            | Step::Replies(side)
            | Step::Poll(side)
            | Step::Timeout(side)
            | Step::Wake(side) => match side {
                Side::Initiator => (initiator, acceptor),
                Side::Acceptor => (acceptor, initiator),
            },
        };
        match step {
            Step::Packets(_) => deliver(&mut here.device, &mut there.device, fabric),
            Step::Replies(_) => answer(&mut here.device, &mut there.device, fabric),
            Step::Poll(_) => here.drive(fabric),
            Step::Timeout(_) => here.timeout(fabric),
            Step::Wake(_) => here.wake(fabric),
            // Dealt with above.
            Step::Start | Step::ScheduledEvent => {}
        }
        step
    }

    fn happen(&mut self, scheduled: ScheduledEvent) {
        let fabric = &mut self.fabric;
        let [initiator, acceptor] = &mut self.hosts;
        match scheduled {
            ScheduledEvent::ConnectRequest if fabric.cut => {
                let failed = Notice::ConnectFailed(ConnectReason::TimedOut);
                fabric.schedule_in(fabric.times.disconnect, ScheduledEvent::Notice(Side::Initiator, failed));
            }
            ScheduledEvent::Accepted if fabric.cut => {
                let failed = Notice::ConnectFailed(ConnectReason::TimedOut);
                fabric.schedule_in(fabric.times.disconnect, ScheduledEvent::Notice(Side::Initiator, failed));
                fabric.schedule_in(
                    fabric.times.disconnect,
                    ScheduledEvent::Notice(Side::Acceptor, Notice::NeverUp),
                );
            }
            ScheduledEvent::PeerGone(..) if fabric.cut => {}
            ScheduledEvent::ConnectRequest => {
                let depth = initiator.device.nic.config.read_depth;
                match acceptor.device.requested_with(initiator.device.request(), depth) {
                    Ok(()) => acceptor.start(fabric),
                    Err(reason) => {
                        fabric.disconnect(Side::Acceptor, DisconnectReason::PeerClosed, false, false);
                        acceptor.device.notice(Notice::ConnectFailed(reason), fabric);
                    }
                }
            }
            ScheduledEvent::Accepted => {
                if initiator.device.link().ended || initiator.device.link().disconnected {
                    return;
                }
                if let Err(reason) =
                    initiator.device.answered_with(acceptor.device.answer(), acceptor.device.read_depth())
                {
                    fabric.disconnect(Side::Initiator, DisconnectReason::PeerClosed, true, false);
                    return initiator.device.notice(Notice::ConnectFailed(reason), fabric);
                }
                initiator.device.nic.establish(initiator.device.read_depth());
                initiator.device.notice(Notice::Connected, fabric);
                match fabric.faults.established_late(&mut fabric.rng) {
                    None => {
                        // The acceptor learns of it before the first message can be there.
                        let after = fabric.times.latency.least.saturating_sub(Duration::from_nanos(1));
                        fabric.schedule_in(after, ScheduledEvent::Notice(Side::Acceptor, Notice::Connected));
                    }
                    Some(late) => {
                        let after = fabric.times.latency.most.saturating_add(late);
                        fabric.schedule_in(after, ScheduledEvent::Notice(Side::Acceptor, Notice::Connected));
                    }
                }
            }
            ScheduledEvent::PeerGone(side, as_seen) => self.peer_gone(side, as_seen),
            ScheduledEvent::Notice(side, notice) => self.hosts[side.index()].device.notice(notice, fabric),
            ScheduledEvent::GiveUp(side, seq) => {
                let device = &mut self.hosts[side.index()].device;
                device.nic.give_up(seq);
                device.look(fabric);
            }
            ScheduledEvent::StreamLost(side) => self.peer_gone(side, DisconnectReason::Unreachable),
        }
    }

    /// The connection is over for `side`, and this is what its device knows of why.
    pub(super) fn peer_gone(&mut self, side: Side, reason: DisconnectReason) {
        let device = &mut self.hosts[side.index()].device;
        let link = device.link();
        if !link.started || link.ended {
            return;
        }
        let up = link.up;
        if reason == DisconnectReason::DeviceFailed || self.fabric.personality == Personality::Iwarp {
            device.nic.flush();
        }
        let notice = if up {
            Notice::Disconnected(reason)
        } else if side == Side::Initiator {
            Notice::ConnectFailed(ConnectReason::Refused)
        } else {
            Notice::NeverUp
        };
        device.notice(notice, &mut self.fabric);
    }

    /// From now on nothing arrives; who waits for an answer gives up in time.
    pub(super) fn cut(&mut self) {
        if std::mem::replace(&mut self.fabric.cut, true) {
            return;
        }
        for side in Side::BOTH {
            let wire = &mut self.fabric.wires[side.peer().index()];
            let lost: Vec<_> = wire.packets.drain(..).collect();
            let replies = !std::mem::take(&mut wire.replies).is_empty();
            let device = &mut self.hosts[side.index()].device;
            // A reliable connection waits for its acknowledgements, a byte stream for those of whatever it sent.
            let waiting = match self.fabric.personality {
                Personality::Roce => device.nic.sends_posted() > 0,
                Personality::Iwarp => device.nic.sends_posted() > 0 || !lost.is_empty() || replies,
            };
            for (_, packet) in lost {
                device.nic.take_back(packet);
            }
            if device.link().started && device.nic.state() == QpState::Ready && waiting {
                let scheduled = match self.fabric.personality {
                    Personality::Roce => ScheduledEvent::GiveUp(side, u64::MAX),
                    Personality::Iwarp => ScheduledEvent::StreamLost(side),
                };
                self.fabric.schedule_in(self.fabric.times.retry, scheduled);
            }
        }
    }
}

/// All packets that arrive at `here` now.
fn deliver<F: Faults, P: Probe>(here: &mut Device, there: &mut Device, fabric: &mut Fabric<F, P>) {
    let now = fabric.now;
    while let Some((at, packet)) = fabric.wires[here.side.index()].packets.front()
        && *at <= now
    {
        let seq = packet.seq();
        let response = here.nic.receive(packet, &mut there.nic);
        if let Some((_, packet)) = fabric.wires[here.side.index()].packets.pop_front() {
            there.nic.take_back(packet);
        }
        match response {
            Response::Reply(reply) => fabric.answer(here.side, reply),
            Response::Quiet => {}
            Response::Lost => fabric.schedule_in(fabric.times.retry, ScheduledEvent::GiveUp(there.side, seq)),
            Response::Terminated(reply) => {
                fabric.answer(here.side, reply);
                fabric.probe_mut().disturbed();
                here.notice(Notice::Disconnected(DisconnectReason::DeviceFailed), fabric);
            }
        }
    }
    if here.nic.has_completions() {
        here.look(fabric);
    }
}

/// All replies that arrive at `here` now.
fn answer<F: Faults, P: Probe>(here: &mut Device, there: &mut Device, fabric: &mut Fabric<F, P>) {
    let now = fabric.now;
    while let Some((at, _)) = fabric.wires[here.side.index()].replies.front()
        && *at <= now
        && let Some((_, reply)) = fabric.wires[here.side.index()].replies.pop_front()
    {
        if here.nic.reply(reply, &mut there.nic) {
            here.notice(Notice::Disconnected(DisconnectReason::PeerAborted), fabric);
        }
    }
    if here.nic.has_completions() {
        here.look(fabric);
    }
}
