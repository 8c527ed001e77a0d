//! All choices of a run, drawn from its seed.

use std::time::Duration;

use smbd_core::{Config, Keepalive, Params};

use super::Kind;
use super::line::{ModelParams, Posting};
use super::upper::Behaviour;
use super::work::{Opening, ScriptedMessage};
use crate::device::Polling;
use crate::host::Machines;
use crate::nic::{NicConfig, Personality};
use crate::upper::CONTENT_MAX;
use crate::world::{Latency, Times};
use crate::{Rng, Side};

/// Tells the plans of one kind from those of another.
const SALT: u64 = 0x7065_6572_735f_0000;
/// Most messages each way.
const MESSAGES_MAX: u64 = 40;
/// Sizes that both sides draw from: the least, some odd ones, the usual one twice as often, a large one.
const SEND_SIZES: [u32; 6] = [128, 200, 512, 1364, 1364, 4096];
const RECEIVE_SIZES: [u32; 6] = [128, 256, 1000, 1364, 1364, 4096];
const FRAGMENTED_SIZES: [u32; 3] = [131_072, 173_910, 1 << 20];

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
    /// What the connection's side drives.
    pub machine: Machines,
    /// How late completions are seen at most, by side.
    pub late: [Duration; 2],
    /// How the upper layer of the connection treats fragments.
    pub behaviour: Behaviour,
    /// Messages, by the side that sends them.
    pub script: [Vec<ScriptedMessage>; 2],
}

/// A number of credits: the extremes, small ones, any.
pub(super) fn credits(rng: &mut Rng, least: u16) -> u16 {
    let any = rng.between(u64::from(least), 255);
    let small = rng.between(u64::from(least), u64::from(least) + 8);
    let drawn = rng.pick(&[u64::from(least), 255, small, small, any]);
    u16::try_from(drawn.min(255)).unwrap_or(255)
}

impl Plan {
    /// The plan of a seed.
    #[must_use]
    pub fn of(kind: Kind, seed: u64) -> Self {
        let rng = &mut Rng::new(seed ^ SALT ^ (kind as u64) << 56);
        let personality = rng.pick(&[Personality::Roce, Personality::Iwarp]);
        let (mut model, mut params) = (any_model(rng), any_params(rng));
        suit(kind, &mut model, &mut params, rng);
        let config = match Config::try_from(params) {
            Ok(config) => config,
            Err(error) => unreachable_config(&error),
        };
        let nic = NicConfig { windows: false, ..NicConfig::of(personality, &config.budget()) };
        let late = Side::BOTH.map(|_| if rng.chance(1, 2) { Duration::ZERO } else { rng.time(LATE_MAX) });
        let least = Duration::from_nanos(rng.between(500, 20_000));
        let latency = Latency { least, most: least + rng.time(Duration::from_millis(1)) };
        let holds = config.borrowed_max > 0 && rng.chance(1, 2);
        let behaviour = Behaviour {
            hold_one_in: if holds { u32::try_from(rng.between(1, 8)).unwrap_or(1) } else { 0 },
            hold_max: u32::from(config.borrowed_max),
            hold: rng.time(Duration::from_millis(20)),
        };
        let mut script = Side::BOTH.map(|side| script(side, kind, &config, &model, rng));
        if matches!(kind, Kind::LinuxClient | Kind::Linux7Client)
            && let Some(first) = script[Side::Initiator.index()].first_mut()
        {
            first.pause += LINUX_REGISTERS;
        }
        Self {
            seed,
            kind,
            personality,
            nic,
            times: Times { latency, ..Times::default() },
            polling: Polling {
                shuffled: rng.chance(1, 2),
                batch: rng.pick(&[1, 2, 5, 16, 64]),
                ..Polling::default()
            },
            machine: machine(seed),
            late,
            behaviour,
            script,
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

/// What is driven, from a stream of chance of its own.
fn machine(seed: u64) -> Machines {
    Rng::new(seed ^ MACHINE_SALT).pick(&[Machines::Connection, Machines::Endpoint])
}

const MACHINE_SALT: u64 = 0x6d61_6368_696e_6500;

const LATE_MAX: Duration = Duration::from_millis(2);

fn payload(side: Side, kind: Kind, config: &Config, model: &ModelParams) -> u32 {
    let ours = (config.max_send_size, config.max_receive_size);
    let theirs = (model.max_send_size, model.max_receive_size);
    let (sends, takes) = if side == kind.side() { (theirs.0, ours.1) } else { (ours.0, theirs.1) };
    sends.min(takes) - 24
}

fn script(
    side: Side,
    kind: Kind,
    config: &Config,
    model: &ModelParams,
    rng: &mut Rng,
) -> Vec<ScriptedMessage> {
    let payload = payload(side, kind, config, model);
    let taken =
        if side == kind.side() { config.max_fragmented_recv_size } else { model.max_fragmented_recv_size };
    // Where a question comes first there is one, and an answer.
    let least = u64::from(kind.opening(side) != Opening::AtOnce);
    let count = match rng.below(16) {
        0 => least,
        1..=2 => 1,
        3..=5 => MESSAGES_MAX,
        _ => rng.between(least, MESSAGES_MAX),
    };
    let unhurried = rng.chance(1, 2);
    // Now and then more than a peer can take that holds its receives.
    let held = kind.holds_receives() && side != kind.side() && rng.chance(7, 8);
    let fragments_max = if held { u32::from(model.receive_credit_max) } else { u32::MAX };
    let mut scripted = || {
        let fragments = match rng.below(64) {
            0 => 150,
            1..=8 => 12,
            9..=20 => 3,
            _ => 1,
        };
        let most = payload.saturating_mul(fragments.min(fragments_max)).min(taken).min(CONTENT_MAX);
        let pause = match rng.below(40) {
            0 => rng.time(Duration::from_secs(1)),
            _ if unhurried => rng.time(Duration::from_millis(2)),
            _ => Duration::ZERO,
        };
        ScriptedMessage {
            len: u32::try_from(rng.between(1, u64::from(most))).unwrap_or(1),
            key: u16::try_from(rng.below(1 << 16)).unwrap_or(0),
            pause,
        }
    };
    (0..count).map(|_| scripted()).collect()
}

/// The connection's side: within what is legal for it.
fn any_params(rng: &mut Rng) -> Params {
    let keepalive = Keepalive { interval: rng.pick(&INTERVALS), answer_timeout: Duration::from_secs(5) };
    Params {
        receive_credit_max: credits(rng, 4),
        send_credit_target: credits(rng, 2),
        max_send_size: rng.pick(&SEND_SIZES),
        max_receive_size: rng.pick(&RECEIVE_SIZES),
        max_fragmented_recv_size: rng.pick(&FRAGMENTED_SIZES),
        keepalive: Some(keepalive).filter(|_| rng.chance(3, 4)),
        // The lack of credits is found out before silence is.
        send_credit_timeout: Some(Duration::from_secs(rng.pick(&[5, 5, 30, 60]))),
        borrowed_max: rng.pick(&[0, 1, 2, 8]),
        message_slots: rng.pick(&[1, 2, 3, 16, 256]),
        send_slots: rng.pick(&[2, 3, 4, 16, 255]),
        rdma_ops: 1,
        rdma_slots: 1,
        registrations: 0,
        segments_max: 0,
        registration_slots: 0,
        strict: false,
        ..Params::windows()
    }
}

/// The model's side, as far as no kind says otherwise: within what is legal for a text.
fn any_model(rng: &mut Rng) -> ModelParams {
    ModelParams {
        receive_credit_max: credits(rng, 1),
        send_credit_target: credits(rng, 1),
        max_send_size: rng.pick(&SEND_SIZES),
        max_receive_size: rng.pick(&RECEIVE_SIZES),
        max_fragmented_recv_size: rng.pick(&FRAGMENTED_SIZES),
        keepalive_interval: rng.pick(&INTERVALS),
        posting: rng.pick(&[Posting::Missing, Posting::Missing, Posting::One, Posting::Most]),
        reading: Duration::ZERO,
        put_off: Duration::ZERO,
        work_first: true,
    }
}

/// What is particular to a kind, on both sides.
fn suit(kind: Kind, model: &mut ModelParams, ours: &mut Params, rng: &mut Rng) {
    match kind {
        Kind::LinuxClient => linux_client(model, ours, rng),
        Kind::LinuxServer | Kind::Linux7Server => linux_server(model, ours, rng),
        Kind::Linux7Client => {
            let keepalive = ours.keepalive;
            linux_client(model, ours, rng);
            // Its answers to probes are those of the text.
            ours.keepalive = keepalive;
        }
        Kind::WindowsInitiator | Kind::WindowsAcceptor => windows(model, rng),
        _ => {}
    }
}

/// cifs registers memory between the negotiation and the first request; what it put off before is done by then.
const LINUX_REGISTERS: Duration = Duration::from_millis(1);

/// What a kernel thread leaves undone for a while.
fn linux_times(model: &mut ModelParams, rng: &mut Rng) {
    model.reading = rng.time(Duration::from_millis(2));
    model.put_off = rng.time(Duration::from_micros(200));
    model.work_first = rng.chance(1, 2);
    model.keepalive_interval = Duration::from_secs(120);
}

/// Credits and sizes can be set in /proc/fs/cifs, MaxFragmentedSize cannot. It is not asked for keepalive responses, which it may
/// take for a reason to go (KA-5): as the profile [`Params::linux_server`] has it.
fn linux_client(model: &mut ModelParams, ours: &mut Params, rng: &mut Rng) {
    linux_times(model, rng);
    if rng.chance(3, 4) {
        (model.receive_credit_max, model.send_credit_target) = (255, 255);
        (model.max_send_size, model.max_receive_size) = (1364, 1364);
    }
    model.max_fragmented_recv_size = 173_910;
    ours.keepalive = None;
}

/// Its numbers are fixed; others are what somebody might build, as long as a correct initiator takes what they make of
/// MaxFragmentedSize (NE-5) and the server takes what the initiator offers (NE-4).
fn linux_server(model: &mut ModelParams, ours: &mut Params, rng: &mut Rng) {
    linux_times(model, rng);
    (model.receive_credit_max, model.send_credit_target) = (255, 255);
    (model.max_send_size, model.max_receive_size) = (1364, 1364);
    ours.max_send_size = rng.pick(&[1029, 1364, 1364, 4096]);
    ours.max_receive_size = rng.pick(&[129, 256, 1000, 1364, 1364, 4096]);
    ours.max_fragmented_recv_size = ours.max_fragmented_recv_size.max(131_073);
    if rng.chance(1, 4) {
        model.max_receive_size = rng.pick(&[1364, 2048, 4096]);
        let least = (2 * 131_072_u32).div_ceil(model.max_receive_size.min(ours.max_send_size));
        model.receive_credit_max = credits(rng, u16::try_from(least).unwrap_or(255).min(255));
        model.send_credit_target = credits(rng, 1);
    }
    let receive_size = model.max_receive_size.min(ours.max_send_size);
    model.max_fragmented_recv_size = u32::from(model.receive_credit_max) * receive_size / 2;
}

/// The defaults of note <7> in half of the runs.
fn windows(model: &mut ModelParams, rng: &mut Rng) {
    if rng.chance(1, 2) {
        (model.receive_credit_max, model.send_credit_target) = (255, 255);
        (model.max_send_size, model.max_receive_size) = (1364, 8192);
        model.max_fragmented_recv_size = 1 << 20;
    }
    model.keepalive_interval = Duration::from_secs(120);
}

/// Of keepalive, both sides: longer than any run takes.
pub(super) const INTERVALS: [Duration; 3] =
    [Duration::from_secs(120), Duration::from_secs(130), Duration::from_secs(240)];

#[expect(clippy::panic, reason = "a plan that cannot be is a mistake of this file, to be seen at once")]
fn unreachable_config(error: &smbd_core::ConfigError) -> Config {
    panic!("parameters against peers: {error}")
}
