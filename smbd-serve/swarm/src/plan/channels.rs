//! Runs in which the client has two connections.

use std::time::Duration;

use smbd_sim::Side;
use smbd_sim::swarm::{Arranged, FaultKind};

use super::{Carrier, End, Mischief, Plan, devices, mischief};
use smbd_testkit::Chance;

/// Tells its stream of chance from others of the seed.
const SALT: u64 = 0x7477_6f6c_696e_6b73;

/// A client with two connections. There is one pair of devices, so one of them at most is over RDMA.
#[derive(Clone, Copy, Debug)]
pub struct Channels {
    pub carriers: [Carrier; 2],
    /// The second is bound after so many operations.
    pub bound_at: usize,
    /// What becomes of them in the middle.
    pub losses: [Option<Loss>; 2],
    /// How many do something at the same time, each with a file of its own.
    pub workers: usize,
    /// The most transfers that one of them has under way.
    pub burst: usize,
    /// Memory of a connection for data that go by RDMA.
    pub buffers: u16,
    /// Whether data go over TCP only if they cannot go over SMB Direct.
    pub rdma_first: bool,
    /// On which of them somebody changes messages.
    pub changed: [bool; 2],
}

/// A connection is lost.
#[derive(Clone, Copy, Debug)]
pub struct Loss {
    /// When the server has carried out so many operations on files.
    pub at: usize,
    pub how: How,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// The stream is torn: what was under way is lost.
    Torn,
    /// Whoever serves it at the server drops it.
    ServerDrops,
    /// What the devices have planned ends it, at a time of theirs.
    Device,
}

impl Channels {
    /// Whether a connection is there until the end, from when it is bound.
    pub fn is_sound(&self, number: usize, is_gentle: bool) -> bool {
        let is_left_alone = self.losses[number].is_none() && !self.changed[number];
        is_left_alone && (is_gentle || self.carriers[number] == Carrier::Tcp)
    }
}

/// Gives the client a second connection, in one run of four.
pub(super) fn drawn(plan: Plan) -> Plan {
    let mut chance = Chance::new(plan.seed ^ SALT);
    let chance = &mut chance;
    if !chance.one_in(4) {
        return plan;
    }
    let kinds = [[Carrier::Rdma, Carrier::Tcp], [Carrier::Tcp, Carrier::Rdma], [Carrier::Tcp, Carrier::Tcp]];
    let carriers = chance.pick(&kinds);
    let device = carriers.iter().position(|carrier| *carrier == Carrier::Rdma);
    let level = if device.is_some() { chance.pick(&[0, 0, 0, 0, 1, 2]) } else { 0 };
    let of_devices = if device.is_some() { Carrier::Rdma } else { Carrier::Tcp };
    let mut sim = devices(plan.seed, of_devices, level, chance);
    let operations = chance.size(20, 200);
    let bound_at = if chance.one_in(2) { 0 } else { chance.size(0, 40) };
    let mut losses = [None; 2];
    // Mostly one, sometimes none or both.
    let lost: &[usize] = chance.pick(&[&[0], &[0], &[1], &[1], &[0, 1], &[]]);
    for number in lost {
        let how = match (carriers[*number], chance.below(3)) {
            (_, 0) => How::ServerDrops,
            (Carrier::Tcp, _) => How::Torn,
            (Carrier::Rdma, _) => How::Device,
        };
        if how == How::Device {
            let kind = chance.pick(&[FaultKind::LinkLost, FaultKind::LinkSilent, FaultKind::QueuePairBroken]);
            let (side, at) = (chance.pick(&Side::BOTH), chance.size(1, 6000) as u64);
            sim.rounds.resize_with(1, Vec::new);
            sim.rounds[0].push(Arranged { kind, side, at, time: Duration::ZERO });
        }
        let from = if *number > 0 && !chance.one_in(4) { bound_at } else { 0 };
        losses[*number] = Some(Loss { at: from + chance.below(operations), how });
    }
    let is_struck = losses.iter().flatten().any(|loss| loss.how == How::Device);
    // Whoever drives both logs in with a mechanism of his own: nobody else has the keys, and all that counts is protected.
    let mischief = (plan.protection.is_whole() && chance.one_in(2))
        .then(|| Mischief { is_insider: false, ..mischief(chance) });
    let changed = match mischief {
        Some(_) => chance.pick(&[[true, false], [false, true], [true, true]]),
        None => [false; 2],
    };
    let channels = Channels {
        carriers,
        bound_at,
        losses,
        workers: 1 + chance.below(4),
        burst: 1 + chance.below(10),
        buffers: chance.pick(&[1, 2, 8]),
        rdma_first: chance.one_in(3),
        changed,
    };
    Plan {
        sim,
        carrier: carriers[0],
        channels: Some(channels),
        is_gentle: level == 0 && !is_struck,
        mischief,
        tampers: plan.tampers.filter(|_| mischief.is_none()),
        is_hasty: false,
        // Longer than a connection of several says nothing.
        timeout: Duration::from_secs(600),
        sessions: 1,
        operations,
        end: End::Quiet,
        ..plan
    }
}
