//! A hostile peer: a script in the place of one side. It sends valid messages, and breaks one rule at the end.
//!
//! [`drive`](smbd_core::backend::drive()) drives the connection, or an endpoint, over a backend without a device
//! (`line`).

mod line;
mod reader;
mod script;
mod side;
mod speech;

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use smbd_core::{Config, Instant, Limits, Params, Role};

pub use script::Target;
use script::Voice;

use crate::machine::{Driven, Machines};
use crate::memory::{Buffers, Range};
use crate::oracle::{Law, Oracles, Rule};
use crate::probe::At;
use crate::watch::Watch;
use crate::{Rng, Side};
use line::Line;
use reader::Reader;

/// Rounds after which a script that could not do what it wanted gives up.
const ROUNDS_MAX: u32 = 3000;

/// A connection and the script it talks to.
#[derive(Debug)]
pub struct RawPeer {
    rng: Rng,
    side: Side,
    role: Role,
    config: Config,
    driven: Driven<Watch>,
    line: Line,
    reader: Reader,
    watch: Rc<RefCell<Watch>>,
    target: Target,
    voice: Voice,
    deadline: Option<Instant>,
    /// Messages the script may send.
    credits: u32,
    asked: u16,
    heads: u32,
    greeted: bool,
    done: bool,
}

impl RawPeer {
    /// A connection on `side`, or an endpoint, with the script on the other one; `rng` decides all that is left to chance.
    #[must_use]
    pub fn new(mut rng: Rng, side: Side, machine: Machines, config: &Config, watch: Watch) -> Self {
        let role = Role::from(side);
        let target = Target::draw(role, &mut rng);
        let config = adapt(config, target);
        let oracles = Oracles::new([config.clone(), config.clone()]);
        let watch = Rc::new(RefCell::new(Watch { oracles, ..watch }));
        let memory = Range { buffer: Buffers::new(false).alloc(1), offset: 0, len: u32::MAX };
        let hold_max = usize::from(config.borrowed_max);
        Self {
            driven: Driven::new(machine, side, &config, Instant::ORIGIN, Rc::clone(&watch)),
            line: Line::new(config.budget().recv_slots),
            reader: Reader::new(rng.split(), side, hold_max, memory, Rc::clone(&watch)),
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
            deadline: None,
            credits: 0,
            asked: 0,
            heads: 0,
            greeted: false,
            done: false,
        }
    }

    /// What has watched, when all is played.
    #[must_use]
    pub fn into_watch(self) -> Watch {
        let Self { driven, reader, watch, .. } = self;
        drop((driven, reader));
        match Rc::try_unwrap(watch) {
            Ok(watch) => watch.into_inner(),
            Err(_) => unreachable!("nobody else has it any more"),
        }
    }

    /// Plays the script to its end.
    pub fn play(&mut self) {
        let good = self.rng.below(60);
        self.drive();
        for round in 0..ROUNDS_MAX {
            if self.reader.over || self.has_failed() {
                break;
            }
            self.turn(u64::from(round) >= good);
        }
        if !self.reader.over {
            self.command_close();
        }
        // The rest is waiting.
        while !self.reader.held.is_empty() {
            self.give_back();
        }
        let (drained, done) = (self.reader.drained, self.done);
        self.check(Law::Drained, drained, || "the connection did not drain".to_owned());
        let (target, ended_by) = (self.target, self.reader.ended_by);
        if let Target::Negotiation(rule) | Target::Data(rule) = target
            && done
        {
            self.check(Law::Reasons, ended_by == Some(rule), || {
                format!("{rule:?} was broken, the connection ended by {ended_by:?}")
            });
        }
    }

    fn has_failed(&self) -> bool {
        self.watch.borrow().oracles.verdicts().failure().is_some()
    }

    fn check(&mut self, law: Law, holds: bool, what: impl FnOnce() -> String) {
        let at = self.at();
        let mut watch = self.watch.borrow_mut();
        let verdicts = watch.oracles.verdicts_mut();
        verdicts.at(at);
        verdicts.check(law, holds, what);
    }

    const fn at(&self) -> At {
        At { now: self.line.now, side: self.side }
    }

    /// One thing happens.
    fn turn(&mut self, ripe: bool) {
        let time = Duration::from_nanos(self.rng.between(1, 5000));
        self.line.now = self.line.now.saturating_add(time);
        if self.line.linked == Some(false) && !(self.before_request() && ripe) && self.rng.chance(1, 3) {
            let limits = Limits {
                read_depth: 4,
                send_queue: u16::MAX,
                rdma_len_max: 1 << 20,
                registration_requests: 0,
                send_with_invalidate: true,
                reads_in_order: false,
            };
            self.line.connected(limits);
            return self.drive();
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
        params.reject_preferred_send_size_above = Some(8136);
    }
    Config::try_from(params).unwrap_or_else(|_| config.clone())
}
