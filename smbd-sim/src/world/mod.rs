//! Two hosts, the wire between them, and virtual time.
//!
//! One seed decides everything. Things at the same time have a fixed order: connection management and other scheduled
//! events in the order in which they were scheduled, packets, replies, polls of completions, timers, wake-ups.

mod step;
#[cfg(test)]
mod tests;

use std::time::Duration;

use std::cell::{Ref, RefMut};
use std::rc::Rc;

use smbd_core::error::DisconnectReason;
use smbd_core::{Connection, Input, Instant, Misuse};

pub use step::Step;

use crate::device::{DeviceBackend, Polling, SimMemory};
use crate::fabric::Fabric;
pub use crate::fabric::{Latency, Times};
use crate::fault::{Disruption, Faults, NoFaults};
use crate::host::{Context, Host, HostConfig, Upper};
use crate::nic::Personality;
use crate::probe::Probe;
use crate::{Breach, Rng, Side};

/// What rules a run besides its hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorldConfig {
    /// Decides everything that is left to chance.
    pub seed: u64,
    /// Which kind of network it is.
    pub personality: Personality,
    /// How long things take.
    pub times: Times,
    /// How completions are handed over.
    pub polling: Polling,
}

impl WorldConfig {
    /// Two microseconds of latency, nothing left to chance.
    #[must_use]
    pub fn new(seed: u64, personality: Personality) -> Self {
        Self { seed, personality, times: Times::default(), polling: Polling::default() }
    }
}

/// Two hosts and the wire between them.
#[derive(Debug)]
pub struct World<U, F = NoFaults, P = ()> {
    hosts: [Host<U, P>; 2],
    fabric: Fabric<F, P>,
    steps: u64,
}

impl<U: Upper, F: Faults, P: Probe> World<U, F, P> {
    /// Two hosts, initiator first, that have not begun to talk. The first [`step`](Self::step) starts the initiator.
    #[must_use]
    pub fn new(config: &WorldConfig, hosts: [HostConfig<U>; 2], faults: F, probe: P) -> Self {
        let [initiator, acceptor] = hosts;
        let rng = Rng::new(config.seed);
        Self {
            hosts: [
                Host::new(Side::Initiator, initiator, config.polling),
                Host::new(Side::Acceptor, acceptor, config.polling),
            ],
            fabric: Fabric::new(config.personality, config.times, rng, faults, probe),
            steps: 0,
        }
    }

    /// Virtual time.
    #[must_use]
    pub const fn now(&self) -> Instant {
        self.fabric.now
    }

    /// Steps taken.
    #[must_use]
    pub const fn steps(&self) -> u64 {
        self.steps
    }

    /// A host.
    #[must_use]
    pub const fn host(&self, side: Side) -> &Host<U, P> {
        &self.hosts[side.index()]
    }

    /// A host, to change: its memory, its tokens, its upper layer.
    pub const fn host_mut(&mut self, side: Side) -> &mut Host<U, P> {
        &mut self.hosts[side.index()]
    }

    /// A host's connection, once there is one.
    #[must_use]
    pub fn connection(&self, side: Side) -> Option<&Connection> {
        self.host(side).connection()
    }

    /// What watches the run.
    #[must_use]
    pub fn probe(&self) -> Ref<'_, P> {
        self.fabric.probe().borrow()
    }

    /// What watches the run, to take out what it has seen.
    pub fn probe_mut(&mut self) -> RefMut<'_, P> {
        self.fabric.probe_mut()
    }

    /// Ends the world, and gives back what watched it.
    #[must_use]
    pub fn into_probe(self) -> P {
        let Self { hosts, fabric, .. } = self;
        drop(hosts);
        match Rc::try_unwrap(fabric.into_probe()) {
            Ok(probe) => probe.into_inner(),
            Err(_) => unreachable!("the hosts are gone, and nobody else has it"),
        }
    }

    /// What decides about faults.
    pub const fn faults_mut(&mut self) -> &mut F {
        &mut self.fabric.faults
    }

    /// The source of chance.
    pub const fn rng_mut(&mut self) -> &mut Rng {
        &mut self.fabric.rng
    }

    /// All breaches, with the host that did it.
    pub fn breaches(&self) -> impl Iterator<Item = (Side, Breach)> + '_ {
        self.hosts.iter().flat_map(|host| host.device.breaches().map(|breach| (host.side, breach)))
    }

    /// Whether both connections said `Drained`; one that never began counts as drained.
    #[must_use]
    pub fn is_drained(&self) -> bool {
        self.steps > 0 && self.hosts.iter().all(|h| h.is_drained() || h.connection().is_none())
    }

    /// Packets and replies under way.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.fabric.wires.iter().map(|wire| wire.packets.len() + wire.replies.len()).sum()
    }

    /// What is arranged to happen, besides what is under way.
    #[must_use]
    pub fn arranged(&self) -> usize {
        self.fabric.arranged()
    }

    /// Which kind of network it is.
    #[must_use]
    pub const fn personality(&self) -> Personality {
        self.fabric.personality
    }

    /// Gives a host commands from outside, and has its connection carry them out.
    pub fn command<R>(&mut self, side: Side, give: impl FnOnce(&mut U, &mut Context<'_>) -> R) -> R {
        let host = &mut self.hosts[side.index()];
        let result = host.with_upper(&mut self.fabric, give);
        host.drive(&mut self.fabric);
        result
    }

    /// Another connection between the same hosts, which begins now. What was under way is lost: both connections
    /// should be drained.
    pub fn reconnect(&mut self) {
        for to in Side::BOTH {
            while let Some((_, packet)) = self.fabric.wires[to.index()].packets.pop_front() {
                self.hosts[to.peer().index()].device.nic.take_back(packet);
            }
        }
        self.fabric.clear();
        for host in &mut self.hosts {
            host.renew();
        }
        let [initiator, _] = &mut self.hosts;
        initiator.start(&mut self.fabric);
    }

    /// Tells a connection something that did not happen, as a broken backend might; shown to the probe like any other
    /// input, but no breach. What it does about it, it does when it is driven next. `None` if there is no connection.
    pub fn forge(&mut self, side: Side, input: Input<'_>) -> Option<Result<(), Misuse>> {
        self.hosts[side.index()].forge(input, &self.fabric)
    }

    /// A host gets no connection: its device is driven from outside. Before the first step.
    pub(crate) fn make_bare(&mut self, side: Side) {
        self.hosts[side.index()].make_bare();
        if side == Side::Initiator {
            // There is nothing to start.
            self.steps = 1;
        }
    }

    /// The device of a side that somebody else drives.
    pub(crate) fn end<M: SimMemory>(&mut self, side: Side) -> DeviceBackend<'_, F, P, M> {
        let device = &mut self.hosts[side.index()].device;
        // Whoever drives it looks as long as it likes.
        device.begin_look(None);
        DeviceBackend::new(device, &mut self.fabric)
    }

    /// The next input of such a device.
    pub(crate) fn next_input(&mut self, side: Side) -> Option<Input<'_>> {
        let device = &mut self.hosts[side.index()].device;
        device.begin_look(None);
        device.next_input(&mut self.fabric)
    }

    /// Who watches, for what somebody else drives.
    #[cfg(feature = "loops")]
    pub(crate) fn shared_probe(&self) -> Rc<std::cell::RefCell<P>> {
        Rc::clone(self.fabric.probe())
    }

    /// Asks the device of a host that somebody else drives to wake that, with the next [`Step::Poll`]. Whether it has
    /// something already; that is told at once, or with a wake as late as any.
    #[cfg(feature = "loops")]
    pub(crate) fn arm_bare(&mut self, side: Side, at_once: bool) -> bool {
        let device = &mut self.hosts[side.index()].device;
        let has_more = device.has_more();
        if has_more && !at_once {
            device.look(&mut self.fabric);
        }
        has_more && at_once
    }

    /// Whoever drives a bare host has posted: what is complete already is there to be looked at, at a
    /// [`Step::Poll`].
    pub(crate) fn look_bare(&mut self, side: Side) {
        let device = &mut self.hosts[side.index()].device;
        if device.nic.has_completions() {
            device.look(&mut self.fabric);
        }
    }

    /// Disturbs the run now.
    pub fn disrupt(&mut self, disruption: Disruption) {
        if let Disruption::KillProcess(side) = disruption {
            self.fabric.probe_mut().killed(side);
        } else {
            self.fabric.probe_mut().disturbed();
        }
        match disruption {
            Disruption::CutSilently => self.cut(),
            Disruption::CutLoudly => {
                self.cut();
                for side in Side::BOTH {
                    self.peer_gone(side, DisconnectReason::DeviceFailed);
                }
            }
            Disruption::ClockJump(time) => self.fabric.now = self.fabric.now.saturating_add(time),
            Disruption::KillProcess(side) => self.hosts[side.index()].die(&mut self.fabric),
            Disruption::BreakQueuePair(side) => {
                self.hosts[side.index()].device.break_queue_pair(&mut self.fabric)
            }
        }
    }

    /// Steps until `done` says so or nothing is left to happen before `until`. `true` if `done` said so.
    pub fn run_until(&mut self, until: Instant, mut done: impl FnMut(&Self) -> bool) -> bool {
        loop {
            if done(self) {
                return true;
            }
            if self.step_by(until).is_none() {
                // What went wrong before the step may be what is waited for.
                if done(self) {
                    return true;
                }
                self.fabric.now = self.fabric.now.max(until);
                return false;
            }
        }
    }

    /// Steps for so long, in virtual time, or until both sides are drained.
    pub fn run_for(&mut self, time: Duration) {
        let until = self.now().saturating_add(time);
        self.run_until(until, Self::is_drained);
    }
}
