//! One connection with nothing around it: whatever the fuzzer says happens, happens, and the simulator's laws watch.

mod act;
mod end;
mod hear;
mod setup;
mod step;

use std::collections::VecDeque;

use smbd_core::{
    Action, Connection, Event, Fragment, Input, Instant, PhaseName, RdmaId, RecvId, RegId, SendId, Token,
    WrId,
};
use smbd_sim::Side;
use smbd_sim::memory::{Buffer, Buffers};
use smbd_sim::oracle::Oracles;
use smbd_sim::probe::{At, Command, Probe};

use crate::replay::trace;
pub use setup::Setup;
pub use step::Step;

/// What stands between the connection and the laws. The canary's is not honest.
pub type Watch = fn(&mut Oracles, At, &Action);

/// The laws see what there is.
pub fn honest(oracles: &mut Oracles, at: At, action: &Action) {
    oracles.action(at, action);
}

/// A registration on its way.
#[derive(Debug)]
struct Registering {
    id: RegId,
    segments_max: u16,
}

/// A connection, what it has outstanding, and the laws.
#[derive(Debug)]
pub struct Rig {
    connection: Connection,
    /// The results of messages are not waited for.
    unsignalled: bool,
    oracles: Oracles,
    watch: Watch,
    side: Side,
    now: Instant,
    deadline: Option<Instant>,
    /// Posted and not come back, in posting order.
    recvs: VecDeque<(RecvId, u32)>,
    sends: VecDeque<SendId>,
    rdma: VecDeque<RdmaId>,
    registering: VecDeque<Registering>,
    binding: VecDeque<RegId>,
    deregistering: VecDeque<RegId>,
    /// Valid, as far as the upper layer knows.
    registered: Vec<RegId>,
    /// Tokens that may be valid.
    tokens: Vec<Token>,
    next_token: u32,
    held: Vec<Fragment>,
    /// Names that have come back.
    past: Vec<WrId>,
    link: Link,
    drained: bool,
    /// Memory that commands name; nobody looks into it.
    buffer: Buffer,
    /// What the connection did since it was last asked: to compare two.
    log: Option<String>,
}

/// What the backend was asked about the connection, and said.
#[derive(Clone, Copy, Debug, Default)]
struct Link {
    disconnect: bool,
    started: bool,
    connected: bool,
    over: bool,
}

impl Rig {
    /// A connection that is about to begin.
    #[must_use]
    pub fn new(setup: &Setup, strict: Option<bool>, watch: Watch) -> Self {
        let (side, config) = (setup.side(), setup.config(strict));
        let now = Instant::ORIGIN;
        let mut oracles = Oracles::new([config.clone(), config.clone()]);
        oracles.begin(At { now, side });
        Self {
            connection: Connection::new(side.into(), &config, now),
            unsignalled: setup.is_unsignalled(),
            oracles,
            watch,
            side,
            now,
            deadline: None,
            recvs: VecDeque::new(),
            sends: VecDeque::new(),
            rdma: VecDeque::new(),
            registering: VecDeque::new(),
            binding: VecDeque::new(),
            deregistering: VecDeque::new(),
            registered: Vec::new(),
            tokens: Vec::new(),
            next_token: 0x0100,
            held: Vec::new(),
            past: Vec::new(),
            link: Link::default(),
            drained: false,
            buffer: Buffers::new(false).alloc(1),
            log: None,
        }
    }

    /// The connection.
    #[must_use]
    pub const fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Begins to write down what the connection does.
    pub fn record(&mut self) {
        self.log = Some(String::new());
    }

    /// What was written down since the last call.
    pub fn recorded(&mut self) -> String {
        self.log.as_mut().map(std::mem::take).unwrap_or_default()
    }

    const fn at(&self) -> At {
        At { now: self.now, side: self.side }
    }

    /// Tells the connection something. What it refuses has to leave no trace. Whether it took it.
    fn tell(&mut self, input: Input<'_>) -> bool {
        let before = self.fingerprint();
        let result = self.connection.handle(self.now, input);
        trace(format_args!("{:?}: {input:?}: {result:?}", self.now));
        if result.is_err() {
            assert_eq!(before, self.fingerprint(), "{input:?} was refused and changed something");
        }
        let at = self.at();
        self.oracles.input(at, &input, result);
        self.judge();
        result.is_ok()
    }

    /// All that decides what the connection will do, as seen now.
    fn fingerprint(&self) -> u64 {
        use std::hash::{DefaultHasher, Hasher};
        let mut hasher = DefaultHasher::new();
        self.connection.fingerprint(self.now, &mut hasher);
        hasher.finish()
    }

    fn note(&mut self, command: &Command<'_>) {
        trace(format_args!("{:?}: {command:?}", self.now));
        let at = self.at();
        self.oracles.command(at, command);
        self.judge();
    }

    fn judge(&self) {
        if let Some(failure) = self.oracles.verdicts().failure() {
            panic!("{failure}");
        }
    }

    /// One action; whether there is more to do.
    pub(crate) fn poll(&mut self) -> bool {
        let action = self.connection.poll_action();
        trace(format_args!("{:?}: {action:?}", self.now));
        let at = self.at();
        (self.watch)(&mut self.oracles, at, &action);
        self.judge();
        if let Some(log) = &mut self.log {
            use std::fmt::Write as _;
            let _ = writeln!(log, "{action:?}");
        }
        if let Action::Wait(deadline) = action {
            self.deadline = deadline;
            return false;
        }
        self.execute(action);
        true
    }

    /// All actions there are.
    pub(crate) fn drain(&mut self) {
        while self.poll() {}
    }

    fn execute(&mut self, action: Action) {
        match action {
            Action::Connect | Action::Accept => self.link.started = true,
            // The answer comes when the fuzzer, or the end, says so.
            Action::Disconnect => self.link.disconnect = true,
            Action::Wait(_) => {}
            Action::PostRecv { id, len } => self.recvs.push_back((id, len)),
            Action::PostSend { id, .. } => self.sends.push_back(id),
            Action::PostRdma { id, .. } => self.rdma.push_back(id),
            Action::Register { id, segments_max, .. } => {
                self.registering.push_back(Registering { id, segments_max });
            }
            Action::Deregister { id } => self.deregistering.push_back(id),
            Action::Notify(event) => self.on_event(event),
        }
    }

    fn on_event(&mut self, event: Event) {
        match event {
            Event::Data(fragment) => self.held.push(fragment),
            Event::Registered { id, result: Ok(()) } => self.registered.push(id),
            Event::Deregistered { id, result: Ok(()) } => self.registered.retain(|known| *known != id),
            Event::Drained => self.drained = true,
            Event::Established(_)
            | Event::ConnectFailed(_)
            | Event::Invalidated { .. }
            | Event::Sent { .. }
            | Event::RdmaDone { .. }
            | Event::Registered { .. }
            | Event::Deregistered { .. }
            | Event::Probed(_)
            | Event::Writable
            | Event::Closed(_) => {}
        }
    }

    /// Whether the connection has nothing more to do with anybody.
    pub(crate) fn is_over(&self) -> bool {
        matches!(self.connection.phase(), PhaseName::Closing | PhaseName::Drained)
    }
}
