//! Simulated networks, one for each connection, with the same virtual time.

use std::time::Duration;

use smbd_core::backend::Backend;
use smbd_core::error::ConnectReason;
use smbd_core::wire::ird_ord::IrdOrd;
use smbd_core::{Config, ConfigError, Instant, Params, Role, Token};
use smbd_sim::backend::{Fate, SimBackend, SimBuffer, SimNet};
use smbd_sim::device::PrivateData;
use smbd_sim::fault::Disruption;
use smbd_sim::nic::{NicConfig, Personality};
use smbd_sim::world::WorldConfig;
use smbd_sim::{Breach, Side};
use smbd_smb2::wire::NtStatus;

use super::clock::Clock;
use super::life::{Life, Reaction};
use crate::catalogue::UnderTest;
use crate::suite::rig::subject::{Door, Shared, Subject};
use crate::suite::rig::{Full, Line, News, Opening, Order, Rig, Streams, Unable, UpperHand};
use crate::suite::trace::Event;

/// Decides what the simulator leaves to chance, which is nothing.
const SEED: u64 = 0;
/// Bytes of the longest segment of a registration.
const SEGMENT_LEN_MAX: u32 = 2 << 20;
/// Bytes of a Data Transfer message without payload, and where RemainingDataLength, DataOffset and DataLength begin (2.2.3).
const DATA_TRANSFER_LEN: usize = 20;
const LENGTHS_AT: usize = 8;
/// How far apart the first tokens of two connections are.
const TOKENS_APART: u32 = 0x0010_0000;

#[derive(Debug)]
pub(super) struct Connection {
    pub(super) net: SimNet,
    line: Line<SimBuffer>,
    pub(super) subject: Subject<SimBuffer>,
    pub(super) script: Side,
    pub(super) personality: Personality,
    /// Neither side does anything any more.
    over: bool,
}

impl Connection {
    fn script_end(&mut self) -> Option<SimBackend<'_>> {
        self.net.end(0, self.script)
    }

    pub(super) fn subject_end(&mut self) -> Option<SimBackend<'_>> {
        self.net.end(0, self.script.peer())
    }

    /// Drives both sides; whether anything happened.
    fn look(&mut self) -> bool {
        let Some(end) = self.net.end(0, self.script.peer()) else { return false };
        let busy = self.subject.drive(end);
        if let Some(mut end) = self.net.end(0, self.script) {
            self.line.poll(&mut end);
        }
        self.over = self.line.is_over() && self.subject.is_over();
        busy || self.line.has_news()
    }
}

/// The upper layer of subjects.
#[derive(Clone, Debug)]
pub(super) enum UpperLayer {
    /// It returns messages.
    Messages,
    /// A server of files or a client, as little of them as other cases need.
    Smb2,
    /// Such a server, which says of each request that it is under way, before it answers.
    Late,
    /// The server of `smbd-smb2`.
    Server(Shared),
    /// The client of `smbd-smb2`, for a program that copies a file.
    Client,
    /// A client that leaves out a rule of 3.2.5.11.
    Lax(Option<&'static str>),
}

/// The rig.
#[derive(Debug)]
pub(super) struct SimRig {
    config: Config,
    params: Params,
    role: UnderTest,
    personality: Personality,
    pub(super) upper: UpperLayer,
    clock: Clock,
    connections: Vec<Connection>,
    /// Direct TCP, if the subject has it.
    pub(super) streams: Vec<Door>,
    /// Of a subject that may die.
    life: Option<Life>,
}

impl SimRig {
    pub(super) fn new(
        params: Params,
        role: UnderTest,
        personality: Personality,
    ) -> Result<Self, ConfigError> {
        let config = Config::try_from(params.clone())?;
        let (clock, connections) = (Clock::new(), Vec::new());
        Ok(Self {
            config,
            params,
            role,
            personality,
            upper: UpperLayer::Messages,
            clock,
            connections,
            streams: Vec::new(),
            life: None,
        })
    }

    /// The same with another upper layer.
    pub(super) fn over(self, upper: UpperLayer) -> Self {
        Self { upper, ..self }
    }

    fn speaks_smb2(&self) -> bool {
        !matches!(self.upper, UpperLayer::Messages)
    }

    /// The same with a subject that lives like this.
    pub(super) fn living(self, life: Life) -> Self {
        Self { life: Some(life), ..self }
    }

    /// Devices that have what their side asks for and nothing more: the script's, the subject's.
    fn nics(&self, opening: &Opening) -> Result<[NicConfig; 2], Unable> {
        let scripted = opening.config().map_err(|error| Unable::Broken(error.to_string()))?;
        let first = u32::try_from(self.connections.len()).unwrap_or(u32::MAX).wrapping_mul(TOKENS_APART);
        Ok([&scripted, &self.config].map(|config| {
            let own = NicConfig::of(self.personality, &config.budget());
            NicConfig {
                read_depth: self.config.read_depth.min(opening.read_depth),
                send_with_invalidate: opening.send_with_invalidate,
                segment_len_max: SEGMENT_LEN_MAX,
                first_token: Token(own.first_token.0.wrapping_add(first)),
                ..own
            }
        }))
    }

    /// Drives both sides of all connections; when something is to be done next, and `limit`.
    fn look_at_all(&mut self, limit: Instant) -> Vec<Instant> {
        let mut busy = false;
        let mut deadlines = vec![limit];
        for connection in self.connections.iter_mut().filter(|connection| !connection.over) {
            busy |= connection.look();
            deadlines.extend(connection.subject.deadline);
        }
        if busy {
            self.clock.is_busy();
        }
        deadlines
    }

    fn go_on(&mut self, deadlines: Vec<Instant>) {
        self.clock.go_on(deadlines);
        let now = self.clock.now;
        for connection in self.connections.iter_mut().filter(|connection| !connection.over) {
            let behind = connection.script_end().map_or(now, |end| end.now());
            connection.net.pass(now.saturating_since(behind));
        }
    }

    /// Drives all and lets time pass once, news or not.
    pub(super) fn step(&mut self, limit: Instant) {
        let deadlines = self.look_at_all(limit);
        self.go_on(deadlines);
    }

    fn at(&mut self, connection: usize) -> Result<&mut Connection, Full> {
        self.connections.get_mut(connection).ok_or(Full("no such connection"))
    }
}

impl Rig for SimRig {
    fn now(&self) -> Instant {
        self.clock.now
    }

    fn configure(&mut self, settings: &dyn Fn(&mut Params)) -> Result<Result<(), ConfigError>, Unable> {
        let mut params = self.params.clone();
        settings(&mut params);
        Ok(Config::try_from(params).map(|config| self.config = config))
    }

    fn open(&mut self, opening: &Opening) -> Result<usize, Unable> {
        let refused = self.life.as_ref().is_some_and(Life::refuses);
        let failing = opening.failing.or(refused.then_some((ConnectReason::Refused, Duration::ZERO)));
        let fate = failing.map_or(Fate::Connects, |(reason, after)| Fate::Fails(reason, after));
        let rules = WorldConfig::new(SEED, self.personality);
        let [scripts, subjects] = self.nics(opening)?;
        let (role, script, nics) = match self.role {
            UnderTest::Initiator => (Role::Initiator, Side::Acceptor, [&subjects, &scripts]),
            UnderTest::Acceptor | UnderTest::Both => (Role::Acceptor, Side::Initiator, [&scripts, &subjects]),
        };
        let mut net = SimNet::between(&rules, &self.config, nics, fate, 1);
        net.pass(self.clock.now.saturating_since(Instant::ORIGIN));
        let depth = u32::from(subjects.read_depth);
        net.say(0, script.peer(), PrivateData::Depths(IrdOrd { ird: depth, ord: depth }));
        if let Some(bytes) = &opening.private_data {
            if self.personality != Personality::Iwarp {
                return Err(Unable::NotApplicable("only on iWARP connections have private data here".into()));
            }
            net.say(0, script, PrivateData::Bytes(bytes.clone()));
        }
        let subject = Subject::new(role, &self.config, self.clock.now);
        let subject = match &self.upper {
            UpperLayer::Messages => subject,
            UpperLayer::Smb2 => subject.speaking_smb2(role),
            UpperLayer::Late => subject.answering_late(),
            UpperLayer::Server(share) => subject.serving(share),
            UpperLayer::Client => subject.copying(),
            UpperLayer::Lax(rule) => subject.copying_without(*rule),
        };
        self.connections.push(Connection {
            net,
            line: Line::new(opening),
            subject,
            script,
            personality: self.personality,
            over: false,
        });
        Ok(self.connections.len() - 1)
    }

    fn order(&mut self, connection: usize, order: Order<'_>) -> Result<u64, Full> {
        let reaction = match (&order, &self.life) {
            (Order::Send(bytes, _), Some(life)) => life.takes(connection, bytes),
            _ => Reaction::Takes,
        };
        let at = self.at(connection)?;
        let mut end = at.net.end(0, at.script).ok_or(Full("no such connection"))?;
        let ticket = match (order, reaction) {
            (Order::Send(bytes, token), Reaction::Swallows) => {
                at.line.order(&mut end, Order::Send(&without_payload(bytes), token))
            }
            (order, _) => at.line.order(&mut end, order),
        };
        self.clock.is_busy();
        if reaction == Reaction::Dies {
            for Connection { net, .. } in &mut self.connections {
                net.disrupt(0, Disruption::CutLoudly);
            }
        }
        ticket
    }

    fn allocate(&mut self, connection: usize, bytes: &[u8]) -> Result<usize, Full> {
        let at = self.at(connection)?;
        let mut end = at.net.end(0, at.script).ok_or(Full("no such connection"))?;
        at.line.allocate(&mut end, bytes)
    }

    fn contents(&mut self, connection: usize, buffer: usize) -> Vec<u8> {
        let Ok(at) = self.at(connection) else { return Vec::new() };
        let Some(end) = at.net.end(0, at.script) else { return Vec::new() };
        at.line.contents(&end, buffer)
    }

    fn fill(&mut self, connection: usize, buffer: usize, bytes: &[u8]) {
        let Ok(at) = self.at(connection) else { return };
        if let Some(mut end) = at.net.end(0, at.script) {
            at.line.fill(&mut end, buffer, bytes);
        }
    }

    fn cut(&mut self, connection: usize) -> Result<(), Unable> {
        let at = self.at(connection).map_err(|full| Unable::Broken(full.0.into()))?;
        at.net.disrupt(0, Disruption::CutLoudly);
        self.clock.is_busy();
        Ok(())
    }

    fn private_data(&mut self, connection: usize) -> Option<Vec<u8>> {
        let at = self.connections.get(connection)?;
        at.net.heard(0, at.script).map(<[u8]>::to_vec)
    }

    fn news(&mut self, connection: usize) -> Option<(Instant, News)> {
        self.connections.get_mut(connection)?.line.news()
    }

    fn pass(&mut self, limit: Instant) {
        loop {
            let deadlines = self.look_at_all(limit);
            if self.clock.now >= limit || self.connections.iter().any(|connection| connection.line.has_news())
            {
                return;
            }
            self.go_on(deadlines);
        }
    }

    fn seen(&mut self) -> Vec<Event> {
        let all = self.connections.iter_mut().enumerate();
        all.flat_map(|(index, connection)| connection.subject.take_events(index)).collect()
    }

    fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        for connection in &self.connections {
            faults.extend(connection.subject.broken.clone());
            let own = connection.net.breaches().filter(|(side, _)| *side != connection.script);
            let own = own.filter(|(_, breach)| !is_the_scripts_doing(breach));
            faults.extend(own.map(|(_, breach)| breach.to_string()));
        }
        faults
    }

    fn streams(&mut self) -> Option<&mut dyn Streams> {
        if matches!(self.upper, UpperLayer::Server(_)) { Some(self) } else { None }
    }

    fn look(&self, connection: usize) -> Option<&dyn UpperHand> {
        let connection = self.connections.get(connection).filter(|_| !self.speaks_smb2())?;
        Some(connection)
    }

    fn upper(&mut self, connection: usize) -> Option<&mut dyn UpperHand> {
        self.clock.is_busy();
        if self.speaks_smb2() {
            return None;
        }
        Some(self.connections.get_mut(connection)?)
    }

    fn given(&self, connection: usize) -> Option<NtStatus> {
        self.connections.get(connection)?.subject.given()
    }

    fn speaks(&self) -> bool {
        self.speaks_smb2() && self.role == UnderTest::Initiator
    }
}

/// The head of a Data Transfer message, credits and flags, and nothing else.
fn without_payload(message: &[u8]) -> Vec<u8> {
    let mut empty = message.get(..DATA_TRANSFER_LEN).unwrap_or(message).to_vec();
    if let Some(lengths) = empty.get_mut(LENGTHS_AT..) {
        lengths.fill(0);
    }
    empty
}

/// What comes of descriptors, tokens and credits that the script made up. Sends without a credit are found by its records.
const fn is_the_scripts_doing(breach: &Breach) -> bool {
    matches!(
        breach,
        Breach::Access { .. }
            | Breach::ReceiverNotReady
            | Breach::DoubleInvalidation(_)
            | Breach::InvalidatedNoWindow(_)
    )
}
