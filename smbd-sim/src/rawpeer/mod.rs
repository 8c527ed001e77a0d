//! A hostile peer: a script in the place of one side, that speaks the wire and breaks one rule in the end.
//!
//! There is no device between: what a device would catch reaches the connection as well, such as a message longer than
//! the receive posted for it.

mod host;
mod script;
mod speech;

use std::collections::VecDeque;
use std::time::Duration;

use smbd_core::{Config, Connection, Fragment, Input, Instant, Limits, Params, RecvId, RegId, Role, WrId};

pub use script::Target;
use script::Voice;

use crate::memory::{Buffer, Buffers};
use crate::oracle::{Law, Rule};
use crate::probe::At;
use crate::swarm::Watch;
use crate::{Rng, Side};

/// Rounds after which a script that could not do what it wanted gives up.
const ROUNDS_MAX: u32 = 3000;

/// A connection and the script it talks to.
#[derive(Debug)]
pub struct RawPeer {
    rng: Rng,
    side: Side,
    role: Role,
    config: Config,
    connection: Connection,
    /// What watches.
    pub watch: Watch,
    target: Target,
    voice: Voice,
    now: Instant,
    deadline: Option<Instant>,
    recvs: VecDeque<(RecvId, u32)>,
    posted: VecDeque<WrId>,
    registering: VecDeque<RegId>,
    held: Vec<Fragment>,
    buffer: Buffer,
    /// Messages the script may send.
    credits: u32,
    asked: u16,
    heads: u32,
    linked: Option<bool>,
    greeted: bool,
    established: bool,
    over: bool,
    drained: bool,
    done: bool,
    /// Violation the connection ended with.
    ended_by: Option<Rule>,
}

impl RawPeer {
    /// A connection on `side` with the script on the other one; `rng` decides all that is left to chance.
    #[must_use]
    pub fn new(mut rng: Rng, side: Side, config: &Config, watch: Watch) -> Self {
        let role = Role::from(side);
        let target = Target::draw(role, &mut rng);
        let config = adapt(config, target);
        let mut buffers = Buffers::new(false);
        let now = Instant::ORIGIN;
        Self {
            connection: Connection::new(role, &config, now),
            rng,
            side,
            role,
            voice: Voice {
                max_send: 128,
                max_fragmented: config.max_fragmented_recv_size,
                strict: config.strict,
                left: 0,
            },
            config,
            watch,
            target,
            now,
            deadline: None,
            recvs: VecDeque::new(),
            posted: VecDeque::new(),
            registering: VecDeque::new(),
            held: Vec::new(),
            buffer: buffers.alloc(1),
            credits: 0,
            asked: 0,
            heads: 0,
            linked: None,
            greeted: false,
            established: false,
            over: false,
            drained: false,
            done: false,
            ended_by: None,
        }
    }

    /// The configuration the connection has: what the script is up to may need a certain one.
    #[must_use]
    pub const fn config(&self) -> &Config {
        &self.config
    }

    /// Plays the script to its end.
    pub fn play(&mut self) {
        let good = self.rng.below(60);
        self.drain();
        for round in 0..ROUNDS_MAX {
            if self.over || self.watch.oracles.verdicts().failure().is_some() {
                break;
            }
            self.turn(u64::from(round) >= good);
        }
        if !self.over {
            self.command_close();
        }
        // The rest is waiting.
        for fragment in std::mem::take(&mut self.held) {
            self.release(fragment);
        }
        self.drain();
        let (drained, done) = (self.drained, self.done);
        self.check(Law::Drained, drained, || "the connection did not drain".to_owned());
        let (target, ended_by) = (self.target, self.ended_by);
        if let Target::Negotiation(rule) | Target::Data(rule) = target
            && done
        {
            self.check(Law::Reasons, ended_by == Some(rule), || {
                format!("{rule:?} was broken, the connection ended by {ended_by:?}")
            });
        }
    }

    fn check(&mut self, law: Law, holds: bool, what: impl FnOnce() -> String) {
        let at = At { now: self.now, side: self.side };
        let verdicts = self.watch.oracles.verdicts_mut();
        verdicts.at(at);
        verdicts.check(law, holds, what);
    }

    const fn at(&self) -> At {
        At { now: self.now, side: self.side }
    }

    /// One thing happens.
    fn turn(&mut self, ripe: bool) {
        self.now = self.now.saturating_add(Duration::from_nanos(self.rng.between(1, 5000)));
        if self.linked == Some(false) && !(self.before_request() && ripe) && self.rng.chance(1, 3) {
            self.linked = Some(true);
            let limits = Limits {
                read_depth: 4,
                send_queue: u16::MAX,
                rdma_len_max: 1 << 20,
                registration_requests: 0,
                send_with_invalidate: true,
            };
            return self.tell(Input::Connected { limits });
        }
        match self.rng.below(8) {
            0 | 1 => self.complete(),
            2 => self.command(),
            3 => self.give_back(),
            _ => self.speak(ripe),
        }
    }
}

/// The configuration for a target.
fn adapt(config: &Config, target: Target) -> Config {
    let mut params: Params = (**config).clone();
    params.strict |= target.is_strict();
    params.keepalive = params.keepalive.or(Params::windows().keepalive);
    if target == Target::Negotiation(Rule::PreferredSendSize) {
        params.refuse_preferred_send_size_above = Some(8136);
    }
    Config::try_from(params).unwrap_or_else(|_| config.clone())
}
