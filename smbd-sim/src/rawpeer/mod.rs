//! A hostile peer: a script in the place of one side, that speaks the wire and breaks one rule in the end.
//!
//! There is no device between: what a device would catch reaches the connection as well, such as a message longer than
//! the receive posted for it.

mod script;

use std::collections::VecDeque;
use std::time::Duration;

use smbd_core::error::WorkError;
use smbd_core::wire::DataTransfer;
use smbd_core::{
    Access, Action, BufferDescriptorV1, Close, Config, Connection, Event, Fragment, Head, Input, Instant,
    Limits, Params, RecvId, RegId, Role, Token, WrId,
};

pub use script::Target;
use script::{Said, Voice, greeting};

use crate::memory::{Buffer, Buffers, Range};
use crate::oracle::{Law, Rule};
use crate::probe::{At, Command, Probe};
use crate::swarm::Watch;
use crate::{CommandRefused, Rng, Side};

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
    /// A connection on `side` with the script on the other one.
    #[must_use]
    pub fn new(seed: u64, side: Side, config: &Config, watch: Watch) -> Self {
        let mut rng = Rng::new(seed ^ 0x7261_7770_6565_7200);
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

    fn before_request(&self) -> bool {
        self.target == Target::Negotiation(Rule::BeforeRequest)
    }

    /// The script's turn to say something, if it may.
    fn speak(&mut self, ripe: bool) {
        if self.linked.is_none() {
            return;
        }
        if !self.greeted {
            return self.greet();
        }
        if !self.established && self.voice.max_send == 128 && self.heads == 0 {
            return self.pass_time();
        }
        match self.target {
            Target::Silence if ripe => return self.pass_time(),
            Target::Noise if ripe && self.credits > 0 => {
                let said = self.voice.noise(&mut self.rng);
                return self.say(&said);
            }
            Target::Data(Rule::NoCredit) if ripe => {
                if self.credits == 0 && !self.recvs.is_empty() {
                    self.done = true;
                    self.credits = 1;
                    let said = self.voice.valid(0, &mut self.rng);
                    return self.say(&said);
                }
                if self.credits == 0 {
                    return self.pass_time();
                }
            }
            Target::Data(rule) if ripe && self.credits > 0 && self.voice.is_ripe(rule) => {
                let said = self.voice.broken(rule, &mut self.rng);
                // Two of them are needed to have too many.
                self.done = rule != Rule::CreditOverflow;
                return self.say(&said);
            }
            _ => {}
        }
        if self.credits == 0 || self.recvs.is_empty() {
            return self.pass_time();
        }
        let stingy = ripe && matches!(self.target, Target::NoGrants | Target::Data(Rule::NoCredit));
        let granted = if stingy { 0 } else { u16::try_from(self.rng.below(4)).unwrap_or(0) };
        let said = self.voice.valid(granted, &mut self.rng);
        self.say(&said);
    }

    fn greet(&mut self) {
        let early = self.before_request();
        let asked = self.role == Role::Acceptor || early || (self.linked == Some(true) && self.heads > 0);
        if self.target == Target::Silence && self.rng.chance(1, 2) {
            return self.pass_time();
        }
        if !asked || (early && self.linked == Some(true)) {
            return self.complete();
        }
        self.greeted = true;
        self.heads = 0;
        self.done = matches!(self.target, Target::Negotiation(_));
        let bytes = greeting(self.role, &self.config, self.target, self.asked, &mut self.rng);
        self.deliver(&Said { bytes, invalidates: None });
        if let Some(negotiated) = self.connection.negotiated() {
            self.voice.max_send = negotiated.max_receive_size;
            self.heads = 1;
        }
    }

    fn say(&mut self, said: &Said) {
        if self.recvs.is_empty() {
            return;
        }
        self.credits -= 1;
        self.deliver(said);
    }

    fn deliver(&mut self, said: &Said) {
        let Some((id, _)) = self.recvs.pop_front() else { return };
        let len = u32::try_from(said.bytes.len()).unwrap_or(u32::MAX);
        let head = Head::of(&said.bytes);
        self.tell(Input::Received { id, head, len, invalidated: said.invalidates });
    }

    /// Nobody does anything until the connection's next timer.
    fn pass_time(&mut self) {
        if let Some(at) = self.deadline {
            self.now = self.now.max(at);
            self.tell(Input::Timeout);
        }
    }

    fn complete(&mut self) {
        if let Some(id) = self.registering.pop_front() {
            let slot = u32::from(id.slot());
            let token = Token(0x0100_0000 | slot << 8 | u32::from(self.rng.chance(1, 2)));
            let segments = [BufferDescriptorV1 { offset: 4096, token, length: 4096 }];
            return self.tell(Input::Registered { id, segments: &segments, settled: true });
        }
        match self.posted.pop_front() {
            Some(WrId::Send(id)) => self.tell(Input::Sent { id }),
            Some(WrId::Rdma(id)) => self.tell(Input::RdmaDone { id }),
            Some(WrId::Reg(id)) => self.tell(Input::Deregistered { id }),
            Some(WrId::Recv(_)) | None => {}
        }
    }

    fn command(&mut self) {
        let at = self.at();
        let most = self.rng.between(1, 2000);
        match self.rng.below(4) {
            0 => {
                let result = self.connection.probe(self.now).map_err(CommandRefused::from);
                self.watch.command(at, &Command::Probe { result });
            }
            1 if self.config.registrations > 0 => {
                let access = Access::ReadWrite;
                let result = self.connection.register(access, 1).map_err(CommandRefused::from);
                let range = self.range(4096);
                self.watch.command(at, &Command::Register { access, range, segments_max: 1, result });
            }
            _ => {
                let result = self.connection.send(self.now, most, None).map_err(CommandRefused::from);
                let range = self.range(u32::try_from(most).unwrap_or(1));
                self.watch.command(at, &Command::Send { range, invalidate: None, result });
            }
        }
        self.drain();
    }

    const fn range(&self, len: u32) -> Range {
        Range { buffer: self.buffer, offset: 0, len }
    }

    fn command_close(&mut self) {
        let at = self.at();
        self.watch.command(at, &Command::Close(Close::Abort));
        self.connection.close(self.now, Close::Abort);
        self.drain();
    }

    fn give_back(&mut self) {
        if let Some(fragment) = self.held.pop() {
            self.release(fragment);
            self.drain();
        }
    }

    fn release(&mut self, fragment: Fragment) {
        let at = self.at();
        self.watch.command(at, &Command::Release { fragment: &fragment });
        let result = self.connection.release(self.now, fragment);
        self.check(Law::Ledger, result.is_ok(), || format!("{result:?}"));
    }

    fn tell(&mut self, input: Input<'_>) {
        self.hand(&input);
        self.drain();
    }

    fn hand(&mut self, input: &Input<'_>) {
        let result = self.connection.handle(self.now, *input);
        let at = self.at();
        self.watch.input(at, input, result);
    }

    fn drain(&mut self) {
        loop {
            let action = self.connection.poll_action();
            let at = self.at();
            self.watch.action(at, &action);
            match action {
                Action::Wait(deadline) => {
                    self.deadline = deadline;
                    return;
                }
                action => self.execute(action),
            }
            if self.watch.oracles.verdicts().failure().is_some() {
                return;
            }
        }
    }

    fn execute(&mut self, action: Action) {
        match action {
            Action::Connect | Action::Accept => self.linked = Some(false),
            Action::Disconnect => self.disconnect(),
            Action::PostRecv { id, len } => self.recvs.push_back((id, len)),
            Action::PostSend { id, head, .. } => {
                self.posted.push_back(id.into());
                self.hear(head.as_bytes());
            }
            Action::PostRdma { id, .. } => self.posted.push_back(id.into()),
            Action::Register { id, .. } => self.registering.push_back(id),
            Action::Deregister { id } => self.posted.push_back(id.into()),
            Action::Notify(event) => self.on_event(event),
            Action::Wait(_) => {}
        }
    }

    /// The script hears a message: credits, above all.
    fn hear(&mut self, head: &[u8]) {
        let negotiation = self.heads == 0 && !self.greeted || (self.greeted && self.asked == 0);
        self.heads += 1;
        match (self.role, head) {
            (Role::Initiator, [_, _, _, _, _, _, low, high, ..]) if negotiation => {
                self.asked = u16::from_le_bytes([*low, *high]);
            }
            (Role::Acceptor, [_, _, _, _, _, _, _, _, a, b, c, d, ..]) if self.asked == 0 => {
                self.asked = u16::from_le_bytes([*a, *b]);
                self.credits += u32::from(u16::from_le_bytes([*c, *d]));
            }
            _ => {
                if let Ok(header) = DataTransfer::parse(head) {
                    self.credits += u32::from(header.credits_granted);
                }
            }
        }
    }

    fn on_event(&mut self, event: Event) {
        match event {
            Event::Established(_) => self.established = true,
            Event::Data(fragment) => {
                if self.held.len() < usize::from(self.config.lend_max) && self.rng.chance(1, 2) {
                    self.held.push(fragment);
                } else {
                    self.release(fragment);
                }
            }
            Event::ConnectFailed(error) => {
                use smbd_core::error::ConnectError;
                if let ConnectError::Violation(v) | ConnectError::Refused { violation: v, .. } = error {
                    self.ended_by = Some(Rule::of(&v));
                }
                self.over = true;
            }
            Event::Closed(reason) => {
                if let smbd_core::error::CloseReason::Violation(v) = reason {
                    self.ended_by = Some(Rule::of(&v));
                }
                self.over = true;
            }
            Event::Drained => self.drained = true,
            Event::Invalidated { .. }
            | Event::Sent { .. }
            | Event::RdmaDone { .. }
            | Event::Registered { .. }
            | Event::Deregistered { .. }
            | Event::Probed(_)
            | Event::Writable => {}
        }
    }

    fn disconnect(&mut self) {
        let error = WorkError::Flushed;
        let recvs = std::mem::take(&mut self.recvs).into_iter().map(|(id, _)| WrId::from(id));
        let posted = std::mem::take(&mut self.posted);
        let registering = std::mem::take(&mut self.registering).into_iter().map(WrId::from);
        let all: Vec<WrId> = recvs.chain(posted).chain(registering).collect();
        for id in all {
            self.hand(&Input::Failed { id, error });
        }
        self.hand(&Input::Disconnected);
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
