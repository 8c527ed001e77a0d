//! All choices of a run, drawn from its seed.

use std::time::Duration;

use smbd_core::{Config, Keepalive, Params, Token};

use super::fault::{Arranged, Schedule};
use super::kind::FaultKind;
use super::{FaultLevel, Options, Profile, Seam};
use crate::device::Polling;
use crate::host::HostConfig;
use crate::nic::{NicConfig, Personality};
use crate::upper::{Behaviour, Task, TaskKind};
use crate::world::{Latency, Times, WorldConfig};
use crate::{Rng, Side};

/// Everything a run is made of.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The seed it was drawn from, which also rules chance during the run.
    pub seed: u64,
    /// What rules chance during the run instead of the seed: what is left of the bytes the plan was drawn from.
    pub tape: Option<Rng>,
    /// Kind of network.
    pub personality: Personality,
    /// Configurations, initiator first.
    pub configs: [Config; 2],
    /// Devices.
    pub nics: [NicConfig; 2],
    /// Latencies and timers of the network.
    pub times: Times,
    /// How completions are handed over.
    pub polling: Polling,
    /// How the upper layers behave.
    pub behaviour: [Behaviour; 2],
    /// What the client wants.
    pub tasks: Vec<Task>,
    /// How much of it at a time.
    pub window: u32,
    /// Faults, round by round; after the last one everything heals.
    pub rounds: Vec<Vec<Arranged>>,
    /// Faults that are there from the beginning.
    pub standing: Vec<FaultKind>,
    /// The peer is no connection but a script, bent on mischief.
    pub hostile: Option<Side>,
    /// Fragments are held while both sides are idle.
    pub holds_when_idle: bool,
    /// What lies between devices and connections, drawn from a stream of its own.
    pub seam: Seam,
}

/// Tells the second stream of chance from the first.
const SEAM_SALT: u64 = 0x7365_616d_5f73_616c;

fn u32_below(rng: &mut Rng, bound: u64) -> u32 {
    u32::try_from(rng.below(bound)).unwrap_or(0)
}

impl Plan {
    /// The plan of a seed.
    #[must_use]
    pub fn of(seed: u64, options: &Options) -> Self {
        let plan = Self::drawn(seed, &mut Rng::new(seed ^ 0x736d_6264_5f73_7761), options);
        plan.with_seam(&mut Rng::new(seed ^ SEAM_SALT), options)
    }

    /// Draws what lies between devices and connections.
    fn with_seam(mut self, rng: &mut Rng, options: &Options) -> Self {
        self.seam = Seam::drawn(rng, options.faults != FaultLevel::None);
        self.polling.pause = self.seam.pause;
        if self.seam.merged {
            self.polling.batch = u32::MAX;
        }
        for (nic, at) in self.nics.iter_mut().zip([0, 1]) {
            nic.signal_from = self.seam.signal_from[at];
            nic.loses_flushes = self.seam.loses_flushes[at] && self.personality == Personality::Iwarp;
        }
        for behaviour in &mut self.behaviour {
            behaviour.unsignalled_one_in = rng.pick(&[0, 1, 2, 8]);
        }
        self
    }

    /// The plan that `bytes` choose, from its parameters down to each chance of the run.
    #[must_use]
    pub fn from_bytes(bytes: &[u8], options: &Options) -> Self {
        let mut rng = Rng::from_bytes(bytes);
        let plan = Self::drawn(0, &mut rng, options).with_seam(&mut rng, options);
        Self { tape: Some(rng), ..plan }
    }

    /// The world of its hosts.
    pub(crate) fn world(&self) -> WorldConfig {
        let Self { seed, personality, times, polling, .. } = *self;
        WorldConfig { seed, personality, times, polling }
    }

    /// The host of a side, with this upper layer.
    pub(crate) fn host<U>(&self, side: Side, upper: U) -> HostConfig<U> {
        let at = side.index();
        HostConfig { config: self.configs[at].clone(), nic: self.nics[at].clone(), upper }
    }

    /// The faults of its rounds before the first: what is always wrong has happened.
    pub(crate) fn schedule(&self) -> Schedule {
        let mut schedule = Schedule::new(self.seam.clone());
        for kind in &self.standing {
            schedule.count(*kind);
        }
        schedule
    }

    /// Other tasks of the same kind, for the same sides.
    pub(super) fn more_tasks(&self, rng: &mut Rng) -> Vec<Task> {
        tasks(&self.configs, &self.nics[0], rng)
    }

    /// Other faults, for one round.
    pub(super) fn more_faults(&self, rng: &mut Rng) -> Vec<Arranged> {
        rounds(&self.configs, 1, 4, rng).into_iter().flatten().collect()
    }

    /// What rules chance in one part of the run.
    pub(super) fn chance(&self, salt: u64) -> Rng {
        self.tape.clone().unwrap_or_else(|| Rng::new(self.seed ^ salt))
    }

    fn drawn(seed: u64, rng: &mut Rng, options: &Options) -> Self {
        let drawn = rng.pick(&[Personality::Roce, Personality::Iwarp]);
        let personality = options.personality.unwrap_or(drawn);
        let faulty = options.faults != FaultLevel::None;
        let hostile = (faulty && rng.chance(1, 8)).then(|| rng.pick(&Side::BOTH));
        let mut standing = Vec::new();
        let configs = Side::BOTH.map(|side| config(side, options.profile, rng));
        let nics = [0, 1].map(|at| nic(personality, &configs[at], at == 0, faulty, &mut standing, rng));
        let times = times(&configs, rng);
        let behaviour = Side::BOTH.map(|side| behaviour(side, &configs, &nics, rng));
        let window = rng.pick(&[1, 2, 4, 16, 64]);
        let tasks = tasks(&configs, &nics[0], rng);
        let rounds = match options.faults {
            FaultLevel::None => Vec::new(),
            FaultLevel::Light => rounds(&configs, 1, 1, rng),
            FaultLevel::Heavy => rounds(&configs, 3, 4, rng),
        };
        let batch = |rng: &mut Rng| rng.pick(&[1, 2, 5, 16, 64]);
        let polling = Polling { shuffled: rng.chance(1, 2), batch: batch(rng), ..Polling::default() };
        let holds_when_idle = rng.chance(1, 4);
        Self {
            seed,
            tape: None,
            personality,
            configs,
            nics,
            times,
            polling,
            behaviour,
            tasks,
            window,
            rounds,
            standing,
            hostile,
            holds_when_idle,
            seam: Seam::plain(),
        }
    }
}

fn config(side: Side, profile: Profile, rng: &mut Rng) -> Config {
    let base = match profile {
        Profile::Windows => Params::windows(),
        Profile::LinuxClient => Params::linux_client(),
        Profile::LinuxServer => Params::linux_server(),
        Profile::Example => Params::example(),
        Profile::Random => match rng.below(16) {
            0 => Params::windows(),
            1 if side == Side::Initiator => Params::linux_client(),
            1 => Params::linux_server(),
            2 => Params::example(),
            _ => random_params(rng),
        },
    };
    // Drawn parameters are in range; anything else would be a mistake here.
    Config::try_from(base).unwrap_or_else(|error| unreachable_config(&error))
}

#[expect(clippy::panic, reason = "a plan that cannot be is a mistake of this file, to be seen at once")]
fn unreachable_config(error: &smbd_core::ConfigError) -> Config {
    panic!("swarm parameters: {error}")
}

fn random_params(rng: &mut Rng) -> Params {
    let keepalive = match rng.below(4) {
        0 => None,
        1 => Some(Keepalive {
            interval: Duration::from_millis(rng.between(50, 20_000)),
            answer_timeout: Duration::from_millis(rng.between(500, 5_000)),
        }),
        _ => Some(Keepalive { interval: Duration::from_secs(120), answer_timeout: Duration::from_secs(5) }),
    };
    Params {
        receive_credit_max: rng.pick(&[4, 4, 5, 6, 8, 10, 16, 40, 255]),
        send_credit_target: rng.pick(&[2, 2, 3, 4, 8, 10, 32, 255]),
        max_send_size: rng.pick(&[128, 200, 512, 1024, 1364, 1364, 4096, 8136]),
        max_receive_size: rng.pick(&[128, 256, 1000, 1364, 1364, 4096, 8192]),
        max_fragmented_recv_size: rng.pick(&[131_072, 173_910, 1 << 20]),
        max_read_write_size: rng.pick(&[1 << 16, 1 << 20, 8 << 20]),
        keepalive,
        send_credit_timeout: rng
            .pick(&[None, Some(5), Some(5), Some(30), Some(125)])
            .map(Duration::from_secs),
        borrowed_max: rng.pick(&[0, 1, 2, 8]),
        message_slots: rng.pick(&[1, 2, 3, 16, 256]),
        send_slots: rng.pick(&[2, 3, 4, 16, 255]),
        rdma_ops: rng.pick(&[1, 2, 4, 64]),
        rdma_slots: rng.pick(&[1, 2, 4, 64]),
        read_depth: rng.pick(&[1, 2, 4, 16]),
        registrations: rng.pick(&[1, 2, 4, 64]),
        segments_max: rng.pick(&[1, 2, 8, 256]),
        registration_slots: rng.pick(&[0, 1, 4, 64]),
        strict: rng.chance(1, 4),
        solicit: rng.chance(1, 4),
        ..Params::windows()
    }
}

fn nic(
    personality: Personality,
    config: &Config,
    client: bool,
    faulty: bool,
    standing: &mut Vec<FaultKind>,
    rng: &mut Rng,
) -> NicConfig {
    let mut nic = NicConfig::of(personality, &config.budget());
    nic.windows = rng.chance(1, 2) && config.registration_slots > 0;
    nic.send_with_invalidate = rng.chance(3, 4);
    nic.read_depth = config.read_depth;
    nic.first_token = Token(u32::try_from(rng.below(1 << 32)).unwrap_or(0));
    if faulty && rng.chance(1, 6) {
        standing.push(FaultKind::ShortSendQueue);
        nic.send_queue = u32::try_from(rng.between(2, u64::from(nic.send_queue))).unwrap_or(2);
        nic.send_cq = nic.send_queue;
    }
    if faulty && rng.chance(1, 6) {
        standing.push(FaultKind::LowReadDepth);
        nic.read_depth = 1;
    }
    if faulty && rng.chance(1, 6) {
        standing.push(FaultKind::ShortRdma);
        nic.rdma_len_max = u32::try_from(rng.between(600, 5000)).unwrap_or(600);
    }
    if client && rng.chance(1, 4) {
        standing.push(FaultKind::ManySegments);
        nic.segment_len_max = u32::try_from(rng.between(2000, 9000)).unwrap_or(2000);
    }
    nic
}

fn times(configs: &[Config; 2], rng: &mut Rng) -> Times {
    let least = Duration::from_nanos(rng.between(500, 20_000));
    let spread = rng.time(Duration::from_millis(1));
    // Longer than any keepalive in half of the runs: then the keepalive finds out first.
    let answer = configs.iter().filter_map(|c| c.keepalive).map(|k| k.interval + k.answer_timeout).max();
    let retry = if rng.chance(1, 2) { Duration::from_secs(2) } else { answer.unwrap_or_default() * 2 };
    let retry = retry.max(Duration::from_millis(500));
    Times { latency: Latency { least, most: least + spread }, retry, disconnect: Duration::from_secs(3) }
}

fn behaviour(side: Side, configs: &[Config; 2], nics: &[NicConfig; 2], rng: &mut Rng) -> Behaviour {
    let own = &configs[side.index()];
    let holds = own.borrowed_max > 0 && rng.chance(1, 2);
    Behaviour {
        hold_one_in: if holds { u32_below(rng, 8) + 1 } else { 0 },
        hold_max: u32::from(own.borrowed_max),
        hold: rng.time(Duration::from_millis(2)),
        probe_every: rng.pick(&[0, 5, 50]),
        senseless_every: rng.pick(&[0, 20]),
        invalidates: nics[side.peer().index()].windows && rng.chance(3, 4),
        patient: rng.chance(1, 2),
        notices: u32_below(rng, 30) + 4,
        notice_pause: rng.time(Duration::from_millis(1)),
        unsignalled_one_in: 0,
    }
}

fn tasks(configs: &[Config; 2], nic: &NicConfig, rng: &mut Rng) -> Vec<Task> {
    let [client, server] = configs;
    let payload = client.max_send_size.min(server.max_receive_size).min(server.max_send_size).max(128) - 24;
    let message_max = client.max_fragmented_recv_size.min(server.max_fragmented_recv_size);
    let message_max = message_max.min(crate::upper::CONTENT_MAX);
    // What one registration can have.
    let queue = nic.send_queue.min(client.budget().send_queue).saturating_sub(1);
    let by_queue = if nic.windows { queue.min(u32::from(client.registration_slots)) } else { u32::MAX };
    let segments = u32::from(client.segments_max).min(by_queue).max(1);
    let moved_max = nic.segment_len_max.saturating_mul(segments).min(1 << 16);
    let count = rng.between(100, 130);
    let memory = rng.between(5, 14);
    (0..count)
        .map(|at| {
            // Spread over the whole run, the first ones early.
            let kind = if at % (count / memory) == 1 {
                if (at / (count / memory)).is_multiple_of(2) { TaskKind::Read } else { TaskKind::Write }
            } else {
                TaskKind::Echo
            };
            let mut size = || {
                let fragments = match rng.below(64) {
                    0 => 200,
                    1..=8 => 12,
                    9..=20 => 3,
                    _ => 1,
                };
                let most = u64::from(payload.saturating_mul(fragments).min(message_max));
                u32::try_from(rng.between(1, most)).unwrap_or(1)
            };
            let (request, response) = (size(), size());
            let moved = u32::try_from(rng.log_uniform(u64::from(moved_max - 1))).unwrap_or(0) + 1;
            let offset = u32_below(rng, u64::from(moved_max - moved) + 1).min(3000);
            let pause = if rng.chance(1, 40) { rng.time(Duration::from_secs(200)) } else { Duration::ZERO };
            let key = u16::try_from(rng.below(1 << 16)).unwrap_or(0);
            let segments_max =
                u16::try_from((moved + offset).div_ceil(nic.segment_len_max)).unwrap_or(1).max(1);
            Task { kind, request, response, moved, offset, key, segments_max, pause }
        })
        .collect()
}

fn rounds(configs: &[Config; 2], most_rounds: u64, most_faults: u64, rng: &mut Rng) -> Vec<Vec<Arranged>> {
    let count = rng.between(1, most_rounds);
    (0..count)
        .map(|_| {
            let faults = rng.between(1, most_faults);
            (0..faults).map(|_| arranged(configs, rng)).collect()
        })
        .collect()
}

fn arranged(configs: &[Config; 2], rng: &mut Rng) -> Arranged {
    use FaultKind as F;
    let kind = rng.pick(&[
        F::RefusedReceive,
        F::RefusedSend,
        F::RefusedRdma,
        F::RefusedBind,
        F::FailedRegistration,
        F::FailedDeregistration,
        F::SlowRegistration,
        F::ConnectRefused,
        F::ConnectUnreachable,
        F::ConnectTimedOut,
        F::ReceiveFirst,
        F::QueuePairBroken,
        F::LinkLost,
        F::LinkSilent,
        F::Abort,
        F::EarlyFlush,
        F::HostHangs,
        F::LateCompletions,
        F::LateTimers,
        F::ClockJump,
        F::Hoarding,
        F::SlowUpper,
        F::NonsenseInvalidation,
        F::Forgery,
    ]);
    let side = match kind {
        F::RefusedBind | F::FailedRegistration | F::FailedDeregistration | F::SlowRegistration => {
            Side::Initiator
        }
        F::RefusedRdma | F::ReceiveFirst | F::NonsenseInvalidation => Side::Acceptor,
        _ => rng.pick(&Side::BOTH),
    };
    let at = match kind {
        F::RefusedRdma | F::RefusedBind => rng.between(1, 4),
        F::RefusedReceive | F::RefusedSend => rng.log_uniform(250) + 1,
        _ => rng.log_uniform(700),
    };
    let time = match kind {
        F::SlowRegistration => rng.time(Duration::from_millis(20)),
        F::ConnectRefused | F::ConnectUnreachable => rng.time(Duration::from_millis(100)),
        F::ConnectTimedOut => Duration::from_secs(rng.between(1, 130)),
        F::ReceiveFirst => rng.time(Duration::from_secs(7)),
        F::EarlyFlush => rng.time(Duration::from_millis(5)),
        F::HostHangs => Duration::from_secs(rng.between(1, 300)),
        F::LateCompletions => rng.time(Duration::from_millis(1)),
        F::LateTimers => rng.time(Duration::from_secs(20)),
        F::ClockJump => rng.time(Duration::from_secs(200)),
        F::Hoarding => {
            let timeout = configs[side.peer().index()].send_credit_timeout;
            timeout.unwrap_or(Duration::from_secs(10)) * 2
        }
        F::SlowUpper => rng.time(Duration::from_millis(50)),
        _ => Duration::ZERO,
    };
    Arranged { kind, side, at, time }
}
