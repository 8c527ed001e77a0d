//! All choices of a run, drawn from its seed.

use std::time::Duration;

use smbd_broker::broker::{Quotas, Settings};
use smbd_broker::wire::Limits;
use smbd_core::{Config, Params};
use smbd_sim::Side;
use smbd_sim::nic::{NicConfig, Personality};
use smbd_sim::swarm::{self, Arranged, FaultKind, FaultLevel};

use crate::host::Scarcity;
use crate::large::{self, Large};
use crate::words::Kind;
use smbd_testkit::Chance;
use smbd_testkit::host::Manner;

/// Tells the plan's stream of chance from others of the seed.
const SALT: u64 = 0x6272_6f6b_6572_0000;
/// The most connections of a run.
pub const CONNECTIONS_MAX: usize = 6;

#[derive(Clone, Debug)]
pub struct Plan {
    pub seed: u64,
    /// Nothing happens that ends a connection of those who do what they should.
    pub is_gentle: bool,
    pub faults: FaultLevel,
    pub settings: Settings,
    pub owners: Vec<OwnerPlan>,
    pub clients: Vec<ClientPlan>,
    pub sockets: Manner,
    pub scarcity: Scarcity,
    /// The broker is killed then, and started again.
    pub broker_dies: Option<Duration>,
    /// A client has large transfers made.
    pub large: Option<Large>,
}

/// An owner.
#[derive(Clone, Debug)]
pub struct OwnerPlan {
    /// It takes what no rule matches.
    pub listens: bool,
    pub sessions: Vec<u64>,
    pub guids: Vec<u8>,
    /// Slots at first, and at most.
    pub slots: [u16; 2],
    /// Longest time until it does something about a message.
    pub thinks: Duration,
    /// It does nothing for so long, now and then.
    pub stalls: Option<Duration>,
    /// It is killed then, and comes again as another process.
    pub dies: Option<Duration>,
    /// One in so many turns it hands a connection over.
    pub hands_over: usize,
    /// It gives sessions up and takes them again.
    pub wavers: bool,
    /// It says how connections are configured.
    pub configures: bool,
    /// With that it has the broker answer NEGOTIATE.
    pub lets_answer: bool,
    /// It does what it must not, one packet in so many.
    pub mischief: Option<usize>,
}

/// A client.
#[derive(Clone, Debug)]
pub struct ClientPlan {
    pub guid: u8,
    pub binds: Option<u64>,
    pub starts: Duration,
    pub requests: usize,
    pub window: usize,
    pub message_max: usize,
    pub moved_max: u32,
    /// Most of its transfers are large.
    pub large: Option<Large>,
    pub thinks: Duration,
    pub leaves: Leaves,
    /// It comes again so often when its connection is lost.
    pub again: usize,
    /// It sends what it must not, one message in so many.
    pub mischief: Option<usize>,
}

/// How a client leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leaves {
    /// When all is answered.
    Quiet,
    /// Never: it says nothing at all, until it is disconnected.
    Silent,
    /// When all is answered, its owner is asked to end the connection.
    Asks(Kind),
    /// In the middle, in order, after so many requests.
    Early(usize),
    /// Its connection breaks off.
    Aborts(usize),
}

impl Plan {
    pub fn of(seed: u64) -> Self {
        let mut chance = Chance::new(seed ^ SALT);
        let chance = &mut chance;
        let level = chance.pick(&[0, 0, 0, 0, 1, 1, 2, 2]);
        let faults = [FaultLevel::None, FaultLevel::Light, FaultLevel::Heavy][level];
        let is_gentle = level == 0;
        // Somebody does what he must not, and everybody else goes on.
        let has_mischief = !is_gentle || chance.one_in(3);
        let owners = owners(is_gentle, has_mischief, chance);
        let sessions: Vec<u64> = owners.iter().flat_map(|owner| owner.sessions.iter().copied()).collect();
        let count = chance.size(1, 4);
        let clients =
            (0..count).map(|nth| client(nth, (is_gentle, has_mischief), &sessions, chance)).collect();
        let settings = settings(owners.len(), is_gentle, chance);
        let sockets = Manner {
            capacity: chance.pick(&[1, 2, 8, 64]),
            late: Duration::from_micros(chance.size(0, 200) as u64),
        };
        let scarcity = if is_gentle {
            Scarcity::default()
        } else {
            Scarcity { sockets: chance.pick(&[0, 0, 0, 12]), memory: chance.pick(&[0, 0, 0, 4]) }
        };
        let broker_dies = (!is_gentle && chance.one_in(6)).then(|| micros(30_000, chance));
        let plan = Self {
            seed,
            is_gentle,
            faults,
            settings,
            owners,
            clients,
            sockets,
            scarcity,
            broker_dies,
            large: None,
        };
        match Large::of(seed) {
            None => plan,
            Some(large) => plan.with(large),
        }
    }

    /// The same, and its first client has large transfers made.
    pub fn with(mut self, large: Large) -> Self {
        let mut chance = Large::chance(self.seed);
        let chance = &mut chance;
        let (least, owners) = (large.slots(), self.owners.len());
        let limits = &mut self.settings.limits;
        limits.slot_len = large.slot_len;
        limits.slots_max = least + 4;
        let all = usize::from(limits.slots_max) * owners;
        let slots = if self.is_gentle { all } else { chance.size(least.into(), all) };
        self.settings.quotas.memory_max = slots as u64 * u64::from(large.slot_len);
        self.settings.params.max_read_write_size = large::LEN;
        for owner in &mut self.owners {
            owner.slots = [chance.size(1, least.into()) as u16, least + chance.below(5) as u16];
        }
        for client in &mut self.clients {
            client.requests = client.requests.min(5);
        }
        if let Some(client) = self.clients.first_mut() {
            client.large = Some(large);
            // Descriptors take most of a message.
            client.message_max = client.message_max.min(9000);
        }
        Self { large: Some(large), ..self }
    }

    /// The devices of a connection, whose acceptor is configured like this.
    pub fn devices(&self, chance: &mut Chance, acceptor: &Config) -> swarm::Plan {
        let options = swarm::Options { faults: self.faults, ..swarm::Options::default() };
        let mut sim = swarm::Plan::of(chance.bits(), &options);
        sim.hostile = None;
        sim.rounds.truncate(1);
        adapt(&mut sim, acceptor, chance);
        if self.is_gentle {
            // An owner may do nothing for longer than most clients wait for credits, or for an answer that needs one (KA-2).
            let patient = Params { send_credit_timeout: None, keepalive: None, ..(*sim.configs[0]).clone() };
            sim.configs[0] = Config::try_from(patient).unwrap_or_else(|_| sim.configs[0].clone());
        }
        if self.is_gentle {
            sim.rounds = vec![gentle(chance)];
        } else if chance.one_in(4) {
            sim.rounds.resize_with(1, Vec::new);
            let kind = chance.pick(&[FaultKind::LinkLost, FaultKind::LinkSilent, FaultKind::QueuePairBroken]);
            let (side, at) = (chance.pick(&Side::BOTH), chance.size(1, 2000) as u64);
            sim.rounds[0].push(Arranged { kind, side, at, time: Duration::ZERO });
        }
        if self.large.is_some() {
            large::adapt(&mut sim);
        }
        sim
    }
}

fn micros(most: usize, chance: &mut Chance) -> Duration {
    Duration::from_micros(chance.size(0, most) as u64)
}

fn owners(is_gentle: bool, has_mischief: bool, chance: &mut Chance) -> Vec<OwnerPlan> {
    let count = chance.size(1, 3);
    let acceptor = chance.below(count);
    (0..count)
        .map(|nth| {
            let sessions = (0..chance.below(3)).map(|at| (100 * nth + at + 7) as u64).collect();
            let guids = if chance.one_in(3) { vec![nth as u8 + 1] } else { Vec::new() };
            let least = chance.size(1, 4) as u16;
            let stalls = match chance.below(8) {
                0 => Some(Duration::from_secs(chance.size(1, 100) as u64)),
                1 | 2 => Some(micros(20_000, chance)),
                _ => None,
            };
            let configures = nth == acceptor && chance.one_in(2);
            OwnerPlan {
                listens: nth == acceptor,
                sessions,
                guids,
                slots: [least, least + chance.below(8) as u16],
                thinks: micros(400, chance),
                stalls,
                dies: (!is_gentle && chance.one_in(5)).then(|| micros(30_000, chance)),
                hands_over: chance.pick(&[0, 4, 12]),
                wavers: !is_gentle && chance.one_in(4),
                configures,
                lets_answer: configures && chance.one_in(2),
                mischief: (has_mischief && !(is_gentle && nth == acceptor) && chance.one_in(4))
                    .then(|| chance.size(1, 60)),
            }
        })
        .collect()
}

fn client(
    nth: usize,
    (is_gentle, has_mischief): (bool, bool),
    sessions: &[u64],
    chance: &mut Chance,
) -> ClientPlan {
    let requests = chance.size(2, 24);
    let is_bound = !sessions.is_empty() && chance.one_in(2);
    let leaves = match chance.below(10) {
        0 => Leaves::Early(chance.below(requests)),
        1 => Leaves::Aborts(chance.below(requests)),
        2 | 3 => Leaves::Asks(Kind::Close),
        4 => Leaves::Asks(Kind::Disconnect),
        5 if chance.one_in(4) => Leaves::Silent,
        _ => Leaves::Quiet,
    };
    ClientPlan {
        guid: chance.size(1, 5) as u8,
        binds: is_bound.then(|| chance.pick(sessions)),
        starts: micros(3000 * (nth + 1), chance),
        requests,
        window: chance.size(1, 5),
        message_max: chance.pick(&[60, 300, 2000, 2000, 9000, 140_000]),
        moved_max: chance.pick(&[100, 1000, 1000, 5000]),
        large: None,
        thinks: micros(400, chance),
        leaves: match leaves {
            Leaves::Early(_) | Leaves::Aborts(_) if is_gentle => Leaves::Quiet,
            leaves => leaves,
        },
        again: if is_gentle { 0 } else { chance.below(3) },
        mischief: (has_mischief && chance.one_in(8)).then(|| chance.size(1, 10)),
    }
}

fn settings(owners: usize, is_gentle: bool, chance: &mut Chance) -> Settings {
    let defaults = Settings::default();
    let slot_len = chance.pick(&[64, 200, 500, 1024, 4096]);
    let limits = Limits {
        slot_len,
        slots_max: 12,
        sends_max: chance.pick(&[1, 2, 8, 64]),
        send_bytes_max: chance.pick(&[200_000, 400_000]),
        receive_bytes_max: chance.pick(&[1, 1000, 10_000, 400_000]),
        transfers_max: chance.pick(&[1, 2, 8]),
    };
    let slots = if is_gentle { 12 * owners } else { chance.size(4, 12 * owners) };
    let options = swarm::Options { faults: FaultLevel::None, ..swarm::Options::default() };
    let drawn = swarm::Plan::of(chance.bits(), &options).configs[1].clone();
    let params = Params {
        max_fragmented_recv_size: drawn.max_fragmented_recv_size.max(200_000),
        registrations: 0,
        segments_max: 0,
        registration_slots: 0,
        ..(*drawn).clone()
    };
    let params = if Config::try_from(params.clone()).is_ok() { params } else { defaults.params.clone() };
    Settings {
        limits,
        quotas: Quotas {
            memory_max: slots as u64 * u64::from(slot_len),
            // A process that was killed counts until its slots are back.
            owners_max: if is_gentle { owners } else { owners + chance.below(3) },
            connections_max: if is_gentle { CONNECTIONS_MAX } else { chance.size(1, CONNECTIONS_MAX) },
            connections_of_owner_max: if is_gentle {
                CONNECTIONS_MAX
            } else {
                chance.size(1, CONNECTIONS_MAX)
            },
            rules_of_owner_max: if is_gentle { 8 } else { chance.size(1, 4) },
            ..defaults.quotas
        },
        params,
    }
}

/// What happens to devices without an end of a connection.
fn gentle(chance: &mut Chance) -> Vec<Arranged> {
    let count = chance.below(4);
    let kinds = [FaultKind::LateCompletions, FaultKind::FailedRegistration, FaultKind::SlowRegistration];
    (0..count)
        .map(|_| {
            let kind = chance.pick(&kinds);
            let is_anywhere = kind == FaultKind::LateCompletions;
            let side = if is_anywhere { chance.pick(&Side::BOTH) } else { Side::Initiator };
            let time = Duration::from_micros(chance.size(1, 1000) as u64);
            Arranged { kind, side, at: chance.size(1, 700) as u64, time }
        })
        .collect()
}

/// A client that registers memory for each request, an acceptor that the broker has configured, and devices that can do so.
fn adapt(sim: &mut swarm::Plan, acceptor: &Config, chance: &mut Chance) {
    let [own, other] = &mut sim.configs;
    let params = Params {
        registrations: 64,
        segments_max: 4,
        registration_slots: own.registration_slots.max(4),
        ..(**own).clone()
    };
    if let Ok(config) = Config::try_from(params) {
        *own = config;
    }
    *other = acceptor.clone();
    let has_windows = chance.one_in(2);
    let is_short = sim.standing.contains(&FaultKind::ShortSendQueue);
    for (nic, config) in sim.nics.iter_mut().zip(&sim.configs) {
        let least = NicConfig::of(sim.personality, &config.budget());
        let queue = if is_short { nic.send_queue.min(least.send_queue) } else { least.send_queue };
        *nic = NicConfig {
            send_queue: queue,
            send_cq: queue,
            read_depth: nic.read_depth,
            rdma_len_max: nic.rdma_len_max,
            windows: has_windows && config.registration_slots > 0,
            send_with_invalidate: nic.send_with_invalidate,
            segment_len_max: nic.segment_len_max.max(4000),
            first_token: nic.first_token,
            loses_flushes: nic.loses_flushes && sim.personality == Personality::Iwarp,
            signal_from: nic.signal_from,
            ..least
        };
    }
}
