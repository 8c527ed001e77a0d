//! The script's connections on a device, and waiting.

use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use smbd_core::{Config, ConfigError, Instant, Params};
use smbd_verbs::quirks::Invalidate;
use smbd_verbs::{Buffer, Clock, LinkType, ListenOptions, Listener, VerbsConnection, Waitable};

use super::super::{Ability, Full, Line, Network, News, Opening, Order, Rig, Streams, Unable, UpperHand};
pub(super) use super::subject::Subject;
use super::tcp::Stream;
use crate::catalogue::UnderTest;
use crate::suite::script::Usual;
use crate::suite::trace::Event;

/// The ticket of what is ordered before there is an end: its end is not told by that.
const EARLY: u64 = u64::MAX;
/// Ends of connections that are over and are kept: their receive buffers are large.
const KEPT: usize = 4;

/// How long connections that are up may take to end when a play is over.
const PARTING_TIME: Duration = Duration::from_secs(5);

pub(super) struct Connection {
    /// `None` until the subject has asked for the connection, if it connects, and when it has long been over.
    pub(super) end: Option<Box<VerbsConnection>>,
    pub(super) line: Line<Buffer>,
    /// What the end will be when the subject has asked for it, if it connects.
    pub(super) plan: Option<Plan>,
    /// It has not asked yet.
    pub(super) is_awaited: bool,
    /// The script has ended it.
    pub(super) parted: bool,
}

impl Connection {
    fn is_over(&self) -> bool {
        self.end.is_none() || self.line.is_over()
    }
}

/// What an end is made of.
#[derive(Clone)]
pub(super) struct Plan {
    pub(super) opening: Opening,
    pub(super) config: Config,
    /// Bytes of the receives that were ordered before there was one.
    pub(super) receives: Vec<u32>,
}

/// The rig.
pub(super) struct VerbsRig {
    pub(super) clock: Clock,
    /// Dropped before the subject: one of another program can end only when its connections have.
    pub(super) connections: Vec<Connection>,
    pub(super) subject: Box<dyn Subject>,
    /// What the subject did not do when it should have.
    pub(super) hangs: Option<String>,
    /// Where the script listens, if the subject connects.
    pub(super) listener: Option<Listener>,
    pub(super) at: SocketAddr,
    /// Where the subject is reached over direct TCP.
    pub(super) tcp: Vec<SocketAddr>,
    pub(super) streams: Vec<Stream>,
    usual: Option<Usual>,
}

impl VerbsRig {
    pub(super) fn new(subject: Box<dyn Subject>, role: UnderTest, at: SocketAddr) -> Result<Self, Unable> {
        let listener = match role {
            UnderTest::Initiator => Some(Listener::bind(at, ListenOptions::default()).map_err(broken)?),
            UnderTest::Acceptor | UnderTest::Both => None,
        };
        let clock = subject.clock().unwrap_or_else(Clock::start);
        let (connections, tcp, streams) = (Vec::new(), Vec::new(), Vec::new());
        Ok(Self { clock, subject, listener, at, tcp, streams, usual: None, connections, hangs: None })
    }

    /// The same for a subject that is reached over direct TCP, too.
    pub(super) fn reaching(mut self, tcp: &[SocketAddr]) -> Self {
        self.tcp = tcp.to_vec();
        self
    }

    /// The same for a subject that needs other values than the usual ones.
    pub(super) fn needing(mut self, usual: Option<Usual>) -> Self {
        self.usual = usual;
        self
    }

    fn at(&mut self, connection: usize) -> Result<(&mut VerbsConnection, &mut Line<Buffer>), Full> {
        let Connection { end, line, .. } =
            self.connections.get_mut(connection).ok_or(Full("no such connection"))?;
        let end = end.as_deref_mut().ok_or(Full("work: the connection has long been over"))?;
        Ok((end, line))
    }

    /// Takes in what the script's devices say; whether there was something, or may be at once.
    pub(super) fn look(&mut self) -> bool {
        let mut again = false;
        for Connection { end, line, parted, .. } in &mut self.connections {
            let Some(end) = end else { continue };
            line.poll(&mut **end);
            if line.is_over() && !*parted {
                // On rxe a subject that has ended a connection asks for more than a minute whether this end knows.
                *parted = line.order(&mut **end, Order::Disconnect).is_ok();
            }
            // A device that cannot be asked says so with its next input.
            again |= !line.is_over() && end.arm().unwrap_or(true);
        }
        again
    }

    /// Readable when a device of the script has something to say, or a stream that is read.
    pub(super) fn fds(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let ends = self.connections.iter().filter(|known| !known.line.is_over());
        let ends = ends.filter_map(|known| known.end.as_deref()).map(AsFd::as_fd);
        ends.chain(self.streams.iter().filter(|stream| stream.is_awaited).map(Stream::fd))
    }

    fn has_news(&self) -> bool {
        self.connections.iter().any(|connection| connection.line.has_news())
    }

    /// Ends what is up, and waits for nothing.
    pub(super) fn leave(&mut self) {
        for Connection { end, line, parted, .. } in &mut self.connections {
            if let Some(end) = end.as_deref_mut().filter(|_| !line.is_over() && !*parted) {
                // What there is no room for, was not begun.
                *parted = line.order(end, Order::Disconnect).is_ok();
            }
        }
    }

    /// Ends what is up.
    fn part(&mut self) {
        self.leave();
        let until = self.clock.now().saturating_add(PARTING_TIME);
        self.turn(until, |rig| rig.connections.iter().all(Connection::is_over) && rig.subject.is_over());
    }

    /// Drives the subject and the script's devices until it is `done`, or until `limit`.
    pub(super) fn turn(&mut self, limit: Instant, done: impl Fn(&Self) -> bool) {
        loop {
            let deadline = self.subject.drive();
            let again = self.look() | self.refuse_uninvited();
            let now = self.clock.now();
            if done(self) || now >= limit {
                return;
            }
            let is_due = deadline.is_some_and(|at| at <= now);
            if again || is_due || self.subject.arm() {
                continue;
            }
            let door = self.uninvited().is_some();
            let listener = self.listener.as_ref().filter(|_| door).map(AsFd::as_fd);
            let fds = self.fds().chain(self.subject.fds()).chain(listener);
            sleep(self.clock, fds, deadline.into_iter().chain([limit]).min());
        }
    }

    /// Lets go of what has been over for long.
    fn forget(&mut self) {
        let over = self.connections.iter_mut().filter(|known| known.line.is_over() && known.end.is_some());
        let over: Vec<_> = over.collect();
        let excess = over.len().saturating_sub(KEPT);
        for connection in over.into_iter().take(excess) {
            destroy(connection.end.take());
        }
    }
}

impl Drop for VerbsRig {
    fn drop(&mut self) {
        self.part();
        for Connection { end, .. } in &mut self.connections {
            destroy(end.take());
        }
    }
}

/// Drops an end on a thread of its own: with rxe the kernel's connection manager takes more than a minute now and then to
/// forget a connection (`cm_destroy_id` waits until a message of its own was sent 16 times, 4.3 s apart).
pub(super) fn destroy(end: Option<Box<VerbsConnection>>) {
    if let Some(end) = end {
        std::thread::spawn(move || drop(end));
    }
}

pub(super) fn broken(error: smbd_verbs::Error) -> Unable {
    Unable::Broken(error.to_string())
}

/// Until one of them is readable, or a time.
pub(super) fn sleep<'a>(clock: Clock, fds: impl Iterator<Item = BorrowedFd<'a>>, until: Option<Instant>) {
    let mut fds: Vec<_> = fds.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).collect();
    let time = until.map(|until| until.saturating_since(clock.now()));
    let timeout = time.map(|time| Timespec {
        tv_sec: i64::try_from(time.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: time.subsec_nanos().into(),
    });
    // Woken too early, by a signal for example, the caller looks and comes back.
    let _ = poll(&mut fds, timeout.as_ref());
}

impl Rig for VerbsRig {
    fn now(&self) -> Instant {
        self.clock.now()
    }

    fn is_real(&self) -> bool {
        true
    }

    fn open(&mut self, opening: &Opening) -> Result<usize, Unable> {
        if opening.failing.is_some() {
            return Err(Unable::NotApplicable("this network cannot be told to fail".into()));
        }
        if opening.private_data.is_some() {
            return Err(Unable::NotApplicable("private data is smbd-verbs' own matter".into()));
        }
        self.forget();
        self.subject.open(opening)?;
        let config = opening.config().map_err(|error| Unable::Broken(error.to_string()))?;
        let (end, plan) = if self.listener.is_some() {
            self.subject.connect(self.at)?;
            (None, Some(Plan { opening: opening.clone(), config, receives: Vec::new() }))
        } else {
            let end = VerbsConnection::connect(self.subject.address(), None, &config, self.clock)
                .map_err(broken)?;
            (Some(Box::new(end)), None)
        };
        let (line, is_awaited) = (Line::new(opening), plan.is_some());
        self.connections.push(Connection { end, line, plan, is_awaited, parted: false });
        Ok(self.connections.len() - 1)
    }

    fn turn_away(&mut self) -> Result<(), Unable> {
        self.clear_the_way()
    }

    fn keeps_connections(&self) -> bool {
        !self.subject.speaks() || self.subject.connects_unasked()
    }

    fn await_request(&mut self, connection: usize) -> Result<bool, Unable> {
        self.accept_request(connection)
    }

    fn await_another(&mut self, connection: usize) -> Result<bool, Unable> {
        self.accept_another(connection)
    }

    fn order(&mut self, connection: usize, order: Order<'_>) -> Result<u64, Full> {
        if let Some(Connection { plan: Some(plan), is_awaited: true, .. }) =
            self.connections.get_mut(connection)
            && let Order::Receive(len) = order
        {
            plan.receives.push(len);
            return Ok(EARLY);
        }
        let parts = matches!(order, Order::Disconnect);
        let (end, line) = self.at(connection)?;
        let ticket = line.order(end, order)?;
        if let Some(known) = self.connections.get_mut(connection) {
            known.parted |= parts;
        }
        Ok(ticket)
    }

    fn allocate(&mut self, connection: usize, bytes: &[u8]) -> Result<usize, Full> {
        let (end, line) = self.at(connection)?;
        line.allocate(end, bytes)
    }

    fn contents(&mut self, connection: usize, buffer: usize) -> Vec<u8> {
        self.at(connection).map(|(end, line)| line.contents(end, buffer)).unwrap_or_default()
    }

    fn fill(&mut self, connection: usize, buffer: usize, bytes: &[u8]) {
        if let Ok((end, line)) = self.at(connection) {
            line.fill(end, buffer, bytes);
        }
    }

    fn news(&mut self, connection: usize) -> Option<(Instant, News)> {
        self.connections.get_mut(connection)?.line.news()
    }

    fn pass(&mut self, limit: Instant) {
        self.turn(limit, Self::has_news);
    }

    fn configure(&mut self, settings: &dyn Fn(&mut Params)) -> Result<Result<(), ConfigError>, Unable> {
        self.subject.configure(settings)
    }

    fn device_lacks(&self, ability: Ability) -> Option<String> {
        let end = self.connections.iter().rev().find_map(|known| known.end.as_deref())?;
        let quirks = end.quirks()?;
        let (lacks, what) = match ability {
            Ability::ReadRights => (quirks.read_right_unchecked, "checks no right of an RDMA Read"),
            Ability::Invalidation => (!end.remote_invalidation(), "does not tell of an invalidated token"),
            Ability::ForeignTokens => (quirks.invalidates_foreign, "invalidates tokens of other connections"),
            // The kernel does not survive it on rxe, and siw takes it without a word.
            Ability::InvalidationOnce => (
                quirks.invalidate == Invalidate::Free || !end.remote_invalidation(),
                "does not refuse the second invalidation of a token",
            ),
        };
        lacks.then(|| format!("{} {what}", quirks.name))
    }

    fn usual(&self) -> Option<Usual> {
        self.usual
    }

    fn streams(&mut self) -> Option<&mut dyn Streams> {
        if self.tcp.is_empty() { None } else { Some(self) }
    }

    fn upper(&mut self, connection: usize) -> Option<&mut dyn UpperHand> {
        self.subject.upper(connection)
    }

    fn speaks(&self) -> bool {
        self.subject.speaks()
    }

    fn network(&self) -> Option<Network> {
        let ends = self.connections.iter().rev().filter_map(|known| known.end.as_deref());
        ends.filter_map(VerbsConnection::link_type).next().map(|link| match link {
            LinkType::Iwarp => Network::Iwarp,
            LinkType::Roce | LinkType::InfiniBand => Network::Roce,
        })
    }

    fn device(&self) -> Option<String> {
        let mut ends = self.connections.iter().rev().filter_map(|known| known.end.as_deref());
        ends.find_map(|end| Some(format!("{} ({})", end.device()?.name, end.link_type()?)))
    }

    fn end(&mut self) -> Result<(), String> {
        // A subject that waits for the script, on a connection or for a new one, would wait as long as this does.
        self.listener = None;
        for known in &mut self.connections {
            known.end = None;
        }
        self.part_with_subject()
    }

    fn seen(&mut self) -> Vec<Event> {
        self.subject.seen()
    }

    fn faults(&self) -> Vec<String> {
        self.subject.faults()
    }
}
