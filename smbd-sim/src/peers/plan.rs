//! One seed, every choice of a run.

use std::time::Duration;

use smbd_core::{Config, Keepalive, Params};

use super::Kind;
use super::line::{ModelParams, Posting};
use super::upper::Manners;
use super::work::Errand;
use crate::host::Polling;
use crate::nic::{NicConfig, Personality};
use crate::upper::CONTENT_MAX;
use crate::world::{Latency, Times};
use crate::{Rng, Side};

/// Tells the plans of one kind from those of another.
const SALT: u64 = 0x7065_6572_735f_0000;
/// Most messages each way.
const MESSAGES_MAX: u64 = 40;

/// Everything a run is made of.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The seed it was drawn from.
    pub seed: u64,
    /// What the peer is.
    pub kind: Kind,
    /// Kind of network.
    pub personality: Personality,
    /// Of the connection.
    pub config: Config,
    /// Of its device.
    pub nic: NicConfig,
    /// Of the model.
    pub model: ModelParams,
    /// Latencies.
    pub times: Times,
    /// How completions are handed over.
    pub polling: Polling,
    /// How late completions are seen at most, by side.
    pub late: [Duration; 2],
    /// How the upper layer of the connection treats fragments.
    pub manners: Manners,
    /// Messages, by the side that sends them.
    pub errands: [Vec<Errand>; 2],
}

pub(super) fn pick<T: Copy>(rng: &mut Rng, items: &[T]) -> T {
    items[usize::try_from(rng.below(items.len() as u64)).unwrap_or(0)]
}

fn nanos(rng: &mut Rng, most: Duration) -> Duration {
    // Short times as often as long ones.
    let most = u64::try_from(most.as_nanos()).unwrap_or(u64::MAX);
    let shift = rng.below(u64::from(u64::BITS - most.leading_zeros()) + 1);
    Duration::from_nanos(rng.below((1_u64 << shift.min(63)).min(most) + 1))
}

/// A number of credits: the extremes, small ones, any.
pub(super) fn credits(rng: &mut Rng, least: u16) -> u16 {
    let any = rng.between(u64::from(least), 255);
    let small = rng.between(u64::from(least), u64::from(least) + 8);
    let drawn = pick(rng, &[u64::from(least), 255, small, small, any]);
    u16::try_from(drawn.min(255)).unwrap_or(255)
}

impl Plan {
    /// The plan of a seed.
    #[must_use]
    pub fn of(kind: Kind, seed: u64) -> Self {
        let rng = &mut Rng::new(seed ^ SALT ^ (kind as u64) << 56);
        let personality = pick(rng, &[Personality::Roce, Personality::Iwarp]);
        let model = kind.draw(rng);
        let config = config(rng);
        let nic = NicConfig { windows: false, ..NicConfig::of(personality, &config.budget()) };
        let late = Side::BOTH.map(|_| if rng.chance(1, 2) { Duration::ZERO } else { nanos(rng, LATE_MAX) });
        let least = Duration::from_nanos(rng.between(500, 20_000));
        let latency = Latency { least, most: least + nanos(rng, Duration::from_millis(1)) };
        let holds = config.lend_max > 0 && rng.chance(1, 2);
        let manners = Manners {
            hold_one_in: if holds { u32::try_from(rng.between(1, 8)).unwrap_or(1) } else { 0 },
            hold_max: u32::from(config.lend_max),
            hold: nanos(rng, Duration::from_millis(20)),
        };
        let errands = Side::BOTH.map(|side| errands(side, kind, &config, &model, rng));
        Self {
            seed,
            kind,
            personality,
            nic,
            times: Times { latency, ..Times::default() },
            polling: Polling { shuffled: rng.chance(1, 2), batch: pick(rng, &[1, 2, 5, 16, 64]) },
            late,
            manners,
            errands,
            model,
            config,
        }
    }

    /// Payload bytes of a full message of a side.
    #[must_use]
    pub fn payload(&self, side: Side) -> u32 {
        payload(side, self.kind, &self.config, &self.model)
    }
}

const LATE_MAX: Duration = Duration::from_millis(2);

fn payload(side: Side, kind: Kind, config: &Config, model: &ModelParams) -> u32 {
    let ours = (config.max_send_size, config.max_receive_size);
    let theirs = (model.max_send_size, model.max_receive_size);
    let (sends, takes) = if side == kind.side() { (theirs.0, ours.1) } else { (ours.0, theirs.1) };
    sends.min(takes) - 24
}

fn errands(side: Side, kind: Kind, config: &Config, model: &ModelParams, rng: &mut Rng) -> Vec<Errand> {
    let payload = payload(side, kind, config, model);
    let taken =
        if side == kind.side() { config.max_fragmented_recv_size } else { model.max_fragmented_recv_size };
    let count = match rng.below(16) {
        0 => 0,
        1..=2 => 1,
        3..=5 => MESSAGES_MAX,
        _ => rng.between(0, MESSAGES_MAX),
    };
    let unhurried = rng.chance(1, 2);
    let mut errand = || {
        let fragments = match rng.below(64) {
            0 => 150,
            1..=8 => 12,
            9..=20 => 3,
            _ => 1,
        };
        let most = payload.saturating_mul(fragments).min(taken).min(CONTENT_MAX);
        let pause = match rng.below(40) {
            0 => nanos(rng, Duration::from_secs(1)),
            _ if unhurried => nanos(rng, Duration::from_millis(2)),
            _ => Duration::ZERO,
        };
        Errand {
            len: u32::try_from(rng.between(1, u64::from(most))).unwrap_or(1),
            key: u16::try_from(rng.below(1 << 16)).unwrap_or(0),
            pause,
        }
    };
    (0..count).map(|_| errand()).collect()
}

/// The connection's side: within what is legal for it.
fn config(rng: &mut Rng) -> Config {
    let keepalive = Keepalive { interval: pick(rng, &INTERVALS), answer_timeout: Duration::from_secs(5) };
    let params = Params {
        receive_credit_max: credits(rng, 4),
        send_credit_target: credits(rng, 2),
        max_send_size: pick(rng, &[128, 200, 512, 1364, 1364, 4096]),
        max_receive_size: pick(rng, &[128, 256, 1000, 1364, 1364, 4096]),
        max_fragmented_recv_size: pick(rng, &[131_072, 173_910, 1 << 20]),
        keepalive: Some(keepalive).filter(|_| rng.chance(3, 4)),
        // The lack of credits is found out before silence is.
        send_credit_timeout: Some(Duration::from_secs(pick(rng, &[5, 5, 30, 60]))),
        lend_max: pick(rng, &[0, 1, 2, 8]),
        message_slots: pick(rng, &[1, 2, 3, 16, 256]),
        send_slots: pick(rng, &[2, 3, 4, 16, 255]),
        rdma_ops: 1,
        rdma_slots: 1,
        registrations: 0,
        segments_max: 0,
        registration_slots: 0,
        strict: false,
        ..Params::windows()
    };
    match Config::try_from(params) {
        Ok(config) => config,
        Err(error) => unreachable_config(&error),
    }
}

/// Of keepalive, both sides: longer than any run takes.
pub(super) const INTERVALS: [Duration; 3] =
    [Duration::from_secs(120), Duration::from_secs(130), Duration::from_secs(240)];

#[expect(clippy::panic, reason = "a plan that cannot be is a mistake of this file, to be seen at once")]
fn unreachable_config(error: &smbd_core::ConfigError) -> Config {
    panic!("parameters against peers: {error}")
}

impl Kind {
    /// Parameters of the model, within what is legal for it.
    fn draw(self, rng: &mut Rng) -> ModelParams {
        ModelParams {
            receive_credit_max: credits(rng, 1),
            send_credit_target: credits(rng, 1),
            max_send_size: pick(rng, &[128, 200, 512, 1364, 1364, 4096]),
            max_receive_size: pick(rng, &[128, 256, 1000, 1364, 1364, 4096]),
            max_fragmented_recv_size: pick(rng, &[131_072, 173_910, 1 << 20]),
            keepalive_interval: pick(rng, &INTERVALS),
            posting: pick(rng, &[Posting::Missing, Posting::Missing, Posting::One, Posting::Most]),
            reading: Duration::ZERO,
            put_off: Duration::ZERO,
        }
    }
}
