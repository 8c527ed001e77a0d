//! All choices of a run, drawn from its seed.

use std::time::Duration;

use smbd_core::{Config, Params};
use smbd_link::handles::Options as Waiting;
use smbd_sim::Side;
use smbd_sim::nic::Personality;
use smbd_sim::swarm::{self, Arranged, FaultKind, FaultLevel};
use smbd_smb2::security::RdmaTransforms;
use smbd_smb2::wire::{Cipher, Dialect, SigningAlgorithm};
use smbd_testkit::Chance;
use smbd_testkit::swarm::pipe::Manner;

mod channels;

pub use channels::{Channels, How};

/// How a run is to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum End {
    /// The client closes when it has done everything.
    Quiet,
    /// The client closes in the middle.
    ClientCloses,
    /// The client is gone from one moment to the next.
    ClientVanishes,
    /// The server closes in the middle.
    ServerCloses,
    /// The server is gone from one moment to the next.
    ServerVanishes,
}

/// What carries the messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carrier {
    /// SMB Direct, over simulated devices.
    Rdma,
    /// Direct TCP, over a simulated stream.
    Tcp,
}

/// Somebody changes messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mischief {
    /// Whose messages.
    pub of: Side,
    /// Whether they are signed and encrypted after that: then it is that side itself.
    pub is_insider: bool,
    /// One message of so many, on average.
    pub one_in: usize,
    /// Only messages from this one on.
    pub from: u64,
}

/// How messages are protected.
#[derive(Clone, Debug)]
pub struct Protection {
    pub dialect: Dialect,
    pub signing: Vec<SigningAlgorithm>,
    pub ciphers: Vec<Cipher>,
    pub client_signs: bool,
    pub server_signs: bool,
    pub client_encrypts: bool,
    pub server_encrypts: bool,
    /// A second share, whose files are reached in encrypted messages only.
    pub has_secret: bool,
    /// What client and server can do to data that go by RDMA.
    pub transforms: [RdmaTransforms; 2],
}

impl Protection {
    /// Whether every message behind the login is protected.
    pub const fn is_whole(&self) -> bool {
        self.client_signs || self.server_signs || self.client_encrypts || self.server_encrypts
    }

    /// Connection.RDMATransformIds.
    pub fn common(&self) -> RdmaTransforms {
        let [client, server] = self.transforms;
        if self.dialect == Dialect::SMB_3_1_1 { client.common(server) } else { RdmaTransforms::NONE }
    }
}

/// How fast everybody is.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// The client's longest time between two operations.
    pub thinks: Duration,
    /// The longest time that the server takes for an operation on a file.
    pub works: Duration,
    /// An operation gets an interim answer after so long.
    pub prolongs: Duration,
}

#[derive(Clone, Debug)]
pub struct Plan {
    pub seed: u64,
    /// Configurations, devices, times and faults.
    pub sim: swarm::Plan,
    /// That of the first connection.
    pub carrier: Carrier,
    /// The client has a second connection.
    pub channels: Option<Channels>,
    /// Nothing happens that ends a connection.
    pub is_gentle: bool,
    pub protection: Protection,
    pub mischief: Option<Mischief>,
    /// Somebody changes data on their way by RDMA, all of which are protected: of one transfer of so many.
    pub tampers: Option<usize>,
    /// Requests may wait for so short a time that some are too late.
    pub is_hasty: bool,
    pub timeout: Duration,
    pub sessions: usize,
    /// Files of each tree connect.
    pub files: usize,
    pub operations: usize,
    /// The most operations at once.
    pub under_way: usize,
    /// The most bytes of a transfer.
    pub transfer_max: usize,
    /// Credits: what the client wants, and the most that the server grants.
    pub credits: [u16; 2],
    /// Requests and pieces of a transfer that the client has at once.
    pub requests: u16,
    pub pieces: u16,
    pub threshold: u32,
    pub read_write_max: u32,
    pub stream: Manner,
    pub waiting: [Waiting; 2],
    pub pace: Pace,
    pub end: End,
    /// After so many operations.
    pub end_at: usize,
}

/// Where of two the client is.
pub const CLIENT: usize = 0;

/// Tells the plan's stream of chance from others of the seed.
const SALT: u64 = 0x7365_7373_696f_6e73;
/// Of what was chosen first: what came later does not move it.
const LATER: u64 = 0x7472_616e_7366_6f72;

impl Plan {
    pub fn of(seed: u64) -> Self {
        channels::drawn(Self::of_one(seed))
    }

    /// What carries a connection of the client.
    pub fn carrier_of(&self, number: usize) -> Carrier {
        self.channels.as_ref().map_or(self.carrier, |channels| channels.carriers[number])
    }

    /// With one connection.
    fn of_one(seed: u64) -> Self {
        let mut chance = Chance::new(seed ^ SALT);
        let chance = &mut chance;
        let carrier = if chance.below(5) < 3 { Carrier::Rdma } else { Carrier::Tcp };
        let level = chance.pick(&[0, 0, 0, 0, 1, 1, 2, 2]);
        let sim = devices(seed, carrier, level, chance);
        let end = match chance.below(16) {
            0 => End::ClientCloses,
            1 => End::ClientVanishes,
            2 => End::ServerCloses,
            3 => End::ServerVanishes,
            _ => End::Quiet,
        };
        let operations = chance.size(20, 200);
        let micros = |most: usize, chance: &mut Chance| Duration::from_micros(chance.size(0, most) as u64);
        let later = &mut Chance::new(seed ^ LATER);
        let protection = Protection { transforms: transforms(later), ..protection(chance) };
        // With the channel, whoever gives up takes memory away that the server still uses: that is the end of the connection.
        let has_no_channel =
            carrier == Carrier::Tcp || (protection.is_whole() && protection.common().is_empty());
        let is_hasty = chance.one_in(8) && has_no_channel;
        let server_credits = chance.pick(&[16, 20, 64, 512]);
        let mischief = chance.one_in(5).then(|| mischief(chance));
        let may_tamper = protection.is_whole() && mischief.is_none();
        let tampers = (may_tamper && later.below(3) > 0).then(|| later.pick(&[2, 3, 8]));
        Self {
            seed,
            sim,
            carrier,
            channels: None,
            is_gentle: carrier == Carrier::Tcp || level == 0,
            protection,
            mischief,
            tampers,
            is_hasty,
            timeout: if is_hasty {
                Duration::from_micros(chance.size(500, 20_000) as u64)
            } else if has_no_channel {
                Duration::from_secs(60)
            } else {
                // Longer than any connection says nothing: who gives up first takes memory away, as above.
                Duration::from_secs(600)
            },
            sessions: chance.pick(&[1, 1, 1, 2]),
            files: chance.size(1, 3),
            operations,
            under_way: chance.size(1, 16),
            transfer_max: chance.pick(&[1000, 12_000, 50_000, 140_000]),
            credits: [chance.pick(&[1, 2, 8, 32, 256]), server_credits],
            requests: chance.pick(&[4, 16, 128]),
            pieces: chance.pick(&[1, 2, 8]),
            threshold: chance.pick(&[0, 100, 4096]),
            read_write_max: chance.pick(&[9000, 40_000, 1 << 20]),
            stream: Manner {
                capacity: chance.pick(&[64, 1000, 20_000, 1 << 20]),
                cut: chance.pick(&[50, 1000, 9000, 1 << 20]),
                late: micros(300, chance),
            },
            waiting: std::array::from_fn(|_| Waiting {
                messages_max: chance.pick(&[1, 2, 16, 256]),
                bytes_max: chance.pick(&[1, 500, 256 << 10]),
                ..Waiting::default()
            }),
            pace: Pace {
                thinks: micros(400, chance),
                works: micros(2000, chance),
                prolongs: micros(1500, chance),
            },
            end,
            end_at: chance.below(operations),
        }
    }

    /// Whether what is read and written cannot be changed on its way.
    pub fn is_trusted(&self) -> bool {
        self.mischief.is_none_or(|mischief| !mischief.is_insider && self.protection.is_whole())
    }
}

/// Devices, times, and what goes wrong with them.
fn devices(seed: u64, carrier: Carrier, level: usize, chance: &mut Chance) -> swarm::Plan {
    let faults = [FaultLevel::None, FaultLevel::Light, FaultLevel::Heavy][level];
    let mut sim = swarm::Plan::of(seed, &swarm::Options { faults, ..swarm::Options::default() });
    sim.hostile = None;
    sim.rounds.truncate(1);
    adapt(&mut sim, chance);
    if carrier == Carrier::Tcp {
        // What happens to devices is nothing to a stream.
        sim.rounds = Vec::new();
    } else if level == 0 {
        sim.rounds = vec![gentle(chance)];
    } else if chance.one_in(3) {
        sim.rounds.resize_with(1, Vec::new);
        let kind = chance.pick(&[FaultKind::LinkLost, FaultKind::LinkSilent, FaultKind::QueuePairBroken]);
        let (side, at) = (chance.pick(&Side::BOTH), chance.size(1, 3000) as u64);
        sim.rounds[0].push(Arranged { kind, side, at, time: Duration::ZERO });
    }
    sim
}

fn protection(chance: &mut Chance) -> Protection {
    let dialect =
        chance.pick(&[Dialect::SMB_3_0, Dialect::SMB_3_0_2, Dialect::SMB_3_1_1, Dialect::SMB_3_1_1]);
    let all = [Cipher::AES_128_CCM, Cipher::AES_128_GCM, Cipher::AES_256_CCM, Cipher::AES_256_GCM];
    let ciphers =
        if dialect == Dialect::SMB_3_1_1 { vec![chance.pick(&all)] } else { vec![Cipher::AES_128_CCM] };
    let algorithms = [SigningAlgorithm::HMAC_SHA256, SigningAlgorithm::AES_CMAC, SigningAlgorithm::AES_GMAC];
    let signing = if chance.one_in(4) { Vec::new() } else { vec![chance.pick(&algorithms)] };
    // Most sessions are plain: only those use the channel.
    let kind = chance.below(10);
    Protection {
        dialect,
        signing,
        ciphers,
        client_signs: kind == 6 || kind == 7,
        server_signs: kind == 7 || (kind == 8 && chance.one_in(2)),
        client_encrypts: kind == 8,
        server_encrypts: kind == 9,
        has_secret: chance.one_in(3),
        transforms: [RdmaTransforms::NONE; 2],
    }
}

/// What client and server can do: mostly everything, as Windows.
fn transforms(chance: &mut Chance) -> [RdmaTransforms; 2] {
    let (none, all) = (RdmaTransforms::NONE, RdmaTransforms::ALL);
    let encryption = RdmaTransforms { encryption: true, signing: false };
    let signing = RdmaTransforms { encryption: false, signing: true };
    std::array::from_fn(|_| chance.pick(&[all, all, all, all, all, none, encryption, signing]))
}

fn mischief(chance: &mut Chance) -> Mischief {
    Mischief {
        of: chance.pick(&Side::BOTH),
        is_insider: chance.one_in(2),
        one_in: chance.pick(&[2, 5, 10, 30]),
        from: if chance.one_in(2) { chance.size(0, 60) } else { chance.below(200) } as u64,
    }
}

/// What happens to devices without an end of a connection.
fn gentle(chance: &mut Chance) -> Vec<Arranged> {
    let count = chance.below(4);
    (0..count)
        .map(|_| {
            let kinds =
                [FaultKind::LateCompletions, FaultKind::FailedRegistration, FaultKind::SlowRegistration];
            let kind = chance.pick(&kinds);
            let is_late = kind == FaultKind::LateCompletions;
            let side = if is_late { chance.pick(&Side::BOTH) } else { Side::Initiator };
            let time = Duration::from_micros(chance.size(1, 1000) as u64);
            Arranged { kind, side, at: chance.size(1, 700) as u64, time }
        })
        .collect()
}

/// A client that registers memory for each transfer, a server that reads and writes it, and devices that can do so.
fn adapt(sim: &mut swarm::Plan, chance: &mut Chance) {
    for (at, config) in sim.configs.iter_mut().enumerate() {
        let is_client = at == CLIENT;
        let params = Params {
            registrations: if is_client { 255 } else { config.registrations },
            segments_max: if is_client { 256 } else { config.segments_max },
            registration_slots: if is_client {
                config.registration_slots.max(64)
            } else {
                config.registration_slots
            },
            max_send_size: config.max_send_size.max(1024),
            max_receive_size: config.max_receive_size.max(1024),
            rdma_ops: if is_client { config.rdma_ops } else { config.rdma_ops.max(4) },
            ..**config
        };
        if let Ok(adapted) = Config::try_from(params) {
            *config = adapted;
        }
    }
    let has_windows = chance.one_in(2);
    let is_short = sim.standing.contains(&FaultKind::ShortSendQueue);
    for (nic, config) in sim.nics.iter_mut().zip(&sim.configs) {
        let (budget, old) = (config.budget(), nic.clone());
        *nic = smbd_sim::nic::NicConfig::of(sim.personality, &budget);
        nic.windows = has_windows;
        nic.send_with_invalidate = old.send_with_invalidate;
        nic.first_token = old.first_token;
        nic.loses_flushes = old.loses_flushes && sim.personality == Personality::Iwarp;
        nic.signal_from = old.signal_from;
        nic.segment_len_max = old.segment_len_max;
        nic.rdma_len_max = old.rdma_len_max;
        nic.read_depth = old.read_depth;
        if is_short {
            nic.send_queue = old.send_queue.min(nic.send_queue);
            nic.send_cq = nic.send_queue;
        }
    }
}
