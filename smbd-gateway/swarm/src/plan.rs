//! All choices of a run, drawn from its seed.

use std::time::Duration;

use smbd_core::{Config, Params};
use smbd_link::handles::Options as Waiting;
use smbd_sim::Side;
use smbd_sim::nic::Personality;
use smbd_sim::swarm::{self, Arranged, FaultKind, FaultLevel};
use smbd_smb2::relay;
use smbd_testkit::Chance;
use smbd_testkit::swarm::pipe::Manner;

/// How a run is to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum End {
    /// The client closes when everything is answered.
    Quiet,
    /// The client closes in the middle, in order.
    ClientCloses,
    /// The client's connection breaks off.
    ClientAborts,
    /// The server ends its stream.
    ServerFinishes,
    /// The server's stream is torn down.
    ServerResets,
    /// The client sends a READ that is signed and has a channel.
    SignedChannel,
    /// The server answers no SESSION_SETUP.
    NoSession,
    /// The client uses RDMA before there is a session.
    EarlyRdma,
    /// The gateway is told to stop.
    Stop,
}

/// How fast everybody is.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// The client's longest time between two messages.
    pub thinks: Duration,
    /// The server's longest time before an answer.
    pub answers: Duration,
    /// The server waits for so long, and then gives all answers at once.
    pub bursts: Option<Duration>,
    /// Now and then somebody takes nothing for so long at most.
    pub stalls: Duration,
}

#[derive(Clone, Debug)]
pub struct Plan {
    /// Configurations, devices, times and faults.
    pub sim: swarm::Plan,
    /// Nothing happens that ends a connection.
    pub is_gentle: bool,
    pub relay: relay::Params,
    pub requests: usize,
    pub stream: Manner,
    /// The stream is copied.
    pub is_copied: bool,
    pub waiting: Waiting,
    pub pace: Pace,
    pub end: End,
    /// After so many messages of the client.
    pub end_at: usize,
    pub session_within: Duration,
    /// How long the gateway waits for answers when it stops.
    pub drain: Duration,
}

/// Tells the plan's stream of chance from others of the seed.
const SALT: u64 = 0x7075_6d70_0000_0000;

impl Plan {
    pub fn of(seed: u64) -> Self {
        let mut chance = Chance::new(seed ^ SALT);
        let chance = &mut chance;
        let level = chance.pick(&[0, 0, 0, 0, 1, 1, 2, 2]);
        let faults = [FaultLevel::None, FaultLevel::Light, FaultLevel::Heavy][level];
        let mut sim = swarm::Plan::of(seed, &swarm::Options { faults, ..swarm::Options::default() });
        sim.hostile = None;
        sim.rounds.truncate(1);
        adapt(&mut sim, chance);
        if level == 0 {
            sim.rounds = vec![gentle(chance)];
        } else if chance.one_in(3) {
            sim.rounds.resize_with(1, Vec::new);
            let kind = chance.pick(&[FaultKind::LinkLost, FaultKind::LinkSilent, FaultKind::QueuePairBroken]);
            let (side, at) = (chance.pick(&Side::BOTH), chance.size(1, 4000) as u64);
            sim.rounds[0].push(Arranged { kind, side, at, time: Duration::ZERO });
        }
        let held_max = chance.pick(&[256, 1024, 2048, 4096]);
        let buffer_len = chance.pick(&[64, 500, 1024, 4096]);
        let relay = relay::Params {
            budget: held_max * 3 + buffer_len * chance.size(1, 6) as u32,
            buffer_len,
            held_max,
            max_read_write_size: chance.pick(&[700, 4000]),
            max_fragmented_size: chance.pick(&[512, 1024, 4096]),
            descriptors_max: chance.pick(&[8, 40, 16_384]),
            requests_max: 64,
        };
        let end = match chance.below(32) {
            0 | 1 => End::ClientCloses,
            2 | 3 => End::ClientAborts,
            4..=6 => End::ServerFinishes,
            7 | 8 => End::ServerResets,
            9 | 10 => End::SignedChannel,
            11 => End::NoSession,
            12 => End::EarlyRdma,
            13..=15 => End::Stop,
            _ => End::Quiet,
        };
        let requests = chance.size(4, 40);
        let micros = |most: usize, chance: &mut Chance| Duration::from_micros(chance.size(0, most) as u64);
        let mut plan = Self {
            sim,
            is_gentle: level == 0,
            relay,
            requests,
            stream: Manner {
                capacity: chance.pick(&[1, 64, 1000, 20_000, 1 << 20]),
                cut: chance.pick(&[3, 50, 1000, 9000, 1 << 20]),
                late: micros(300, chance),
            },
            is_copied: chance.one_in(4),
            waiting: Waiting {
                messages_max: chance.pick(&[1, 2, 16, 256]),
                bytes_max: chance.pick(&[1, 500, 256 << 10]),
                in_pieces: true,
            },
            pace: Pace {
                thinks: micros(500, chance),
                answers: micros(800, chance),
                bursts: None,
                stalls: micros(30_000, chance),
            },
            end,
            end_at: chance.below(requests),
            session_within: Duration::from_secs(chance.size(10, 60) as u64),
            drain: Duration::from_secs(chance.size(2, 30) as u64),
        };
        plan.pace.bursts = chance.one_in(4).then(|| micros(5000, chance));
        plan
    }
}

/// What happens to devices without an end of a connection.
fn gentle(chance: &mut Chance) -> Vec<Arranged> {
    let count = chance.below(4);
    (0..count)
        .map(|_| {
            let kind = chance.pick(&[
                FaultKind::LateCompletions,
                FaultKind::FailedRegistration,
                FaultKind::SlowRegistration,
            ]);
            let side =
                if kind == FaultKind::LateCompletions { chance.pick(&Side::BOTH) } else { Side::Initiator };
            let time = Duration::from_micros(chance.size(1, 1000) as u64);
            Arranged { kind, side, at: chance.size(1, 700) as u64, time }
        })
        .collect()
}

/// A client that registers memory for each request, and devices that can do so.
fn adapt(sim: &mut swarm::Plan, chance: &mut Chance) {
    let [initiator, _] = &mut sim.configs;
    let params = Params {
        registrations: 255,
        segments_max: 256,
        registration_slots: initiator.registration_slots.max(4),
        ..**initiator
    };
    if let Ok(config) = Config::try_from(params) {
        *initiator = config;
    }
    let has_windows = chance.one_in(2);
    let queue = initiator.budget().send_queue;
    let [nic, _] = &mut sim.nics;
    nic.windows = has_windows;
    let is_short = sim.standing.contains(&FaultKind::ShortSendQueue);
    if !is_short {
        (nic.send_queue, nic.send_cq) = (queue, queue);
    }
    nic.loses_flushes &= sim.personality == Personality::Iwarp;
}
