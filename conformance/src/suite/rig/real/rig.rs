//! The script's connections over a net, and waiting.

use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use smbd_core::backend::Backend;
use smbd_core::{Config, ConfigError, Instant, Params};

use super::tcp::Stream;
use super::{End, Net, Subject};
use crate::catalogue::UnderTest;
use crate::suite::rig::{
    Ability, Full, Line, Network, News, Opening, Order, Rig, Streams, Unable, UpperHand,
};
use crate::suite::script::Usual;
use crate::suite::trace::Event;

/// The ticket of what is ordered before there is an end: its end is not told by that.
const EARLY: u64 = u64::MAX;
/// Ends of connections that are over and are kept: their receive buffers are large.
const KEPT: usize = 4;

/// How long connections that are up may take to end when a play is over.
const PARTING_TIME: Duration = Duration::from_secs(5);

pub(super) struct Connection<E: End> {
    /// `None` until the subject has asked for the connection, if it connects, and when it has long been over.
    pub(super) end: Option<Box<E>>,
    pub(super) line: Line<E::Buffer>,
    /// What the end will be when the subject has asked for it, if it connects.
    pub(super) plan: Option<Plan>,
    /// It has not asked yet.
    pub(super) is_awaited: bool,
    /// The script has ended it.
    pub(super) parted: bool,
}

impl<E: End> Connection<E> {
    fn is_over(&self) -> bool {
        self.end.is_none() || self.line.is_over()
    }

    fn destroy(&mut self) {
        if let Some(end) = self.end.take() {
            end.destroy();
        }
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

/// An end and its line.
type OfConnection<'a, N> = (&'a mut <N as Net>::End, &'a mut Line<<<N as Net>::End as Backend>::Buffer>);

/// The rig.
pub struct RealRig<N: Net> {
    pub(super) net: N,
    /// Dropped before the subject: one of another program can end only when its connections have.
    pub(super) connections: Vec<Connection<N::End>>,
    pub(super) subject: Box<dyn Subject>,
    /// What the subject did not do when it should have.
    pub(super) hangs: Option<String>,
    /// Where the script listens, if the subject connects.
    pub(super) listener: Option<N::Door>,
    /// Where the subject is reached over direct TCP.
    pub(super) tcp: Vec<SocketAddr>,
    pub(super) streams: Vec<Stream>,
    usual: Option<Usual>,
}

impl<N: Net> RealRig<N> {
    pub(in crate::suite::rig) fn new(
        subject: Box<dyn Subject>,
        role: UnderTest,
        net: N,
    ) -> Result<Self, Unable> {
        let listener = match role {
            UnderTest::Initiator => Some(net.listen()?),
            UnderTest::Acceptor | UnderTest::Both => None,
        };
        let (connections, tcp, streams) = (Vec::new(), Vec::new(), Vec::new());
        Ok(Self { net, subject, listener, tcp, streams, usual: None, connections, hangs: None })
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

    fn at(&mut self, connection: usize) -> Result<OfConnection<'_, N>, Full> {
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
            again |= !line.is_over() && end.arm();
        }
        again
    }

    /// What is to be polled for devices of the script, and streams that are read.
    pub(super) fn fds(&self) -> impl Iterator<Item = PollFd<'_>> {
        let ends = self.connections.iter().filter(|known| !known.line.is_over());
        let ends = ends.filter_map(|known| known.end.as_deref()?.awaits());
        let ends = ends.map(|(fd, flags)| PollFd::from_borrowed_fd(fd, flags));
        let streams = self.streams.iter().filter(|stream| stream.is_awaited);
        ends.chain(streams.map(Stream::fd).map(readable))
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
        let until = self.net.now().saturating_add(PARTING_TIME);
        self.turn(until, |rig| rig.connections.iter().all(Connection::is_over) && rig.subject.is_over());
    }

    /// Drives the subject and the script's devices until it is `done`, or until `limit`.
    pub(super) fn turn(&mut self, limit: Instant, done: impl Fn(&Self) -> bool) {
        loop {
            let deadline = self.subject.drive();
            let again = self.look() | self.refuse_uninvited();
            let now = self.net.now();
            if done(self) || now >= limit {
                return;
            }
            let is_due = deadline.is_some_and(|at| at <= now);
            if again || is_due || self.subject.arm() {
                continue;
            }
            let listener = self.listener.as_ref().filter(|_| self.is_uninvited()).map(AsFd::as_fd);
            let fds = self.fds().chain(self.subject.fds().into_iter().chain(listener).map(readable));
            sleep(&self.net, fds, deadline.into_iter().chain([limit]).min());
        }
    }

    /// Lets go of what has been over for long.
    fn forget(&mut self) {
        let over = self.connections.iter_mut().filter(|known| known.line.is_over() && known.end.is_some());
        let over: Vec<_> = over.collect();
        let excess = over.len().saturating_sub(KEPT);
        for connection in over.into_iter().take(excess) {
            connection.destroy();
        }
    }
}

impl<N: Net> Drop for RealRig<N> {
    fn drop(&mut self) {
        self.part();
        self.connections.iter_mut().for_each(Connection::destroy);
    }
}

/// Polls for something to read.
pub(super) fn readable(fd: BorrowedFd<'_>) -> PollFd<'_> {
    PollFd::from_borrowed_fd(fd, PollFlags::IN)
}

/// Until one of them is ready, or a time.
pub(super) fn sleep<'a>(net: &impl Net, fds: impl Iterator<Item = PollFd<'a>>, until: Option<Instant>) {
    let mut fds: Vec<_> = fds.collect();
    let time = until.map(|until| until.saturating_since(net.now()));
    let timeout = time.map(|time| Timespec {
        tv_sec: i64::try_from(time.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: time.subsec_nanos().into(),
    });
    // Woken too early, by a signal for example, the caller looks and comes back.
    let _ = poll(&mut fds, timeout.as_ref());
}

impl<N: Net> Rig for RealRig<N> {
    fn now(&self) -> Instant {
        self.net.now()
    }

    fn is_real(&self) -> bool {
        true
    }

    fn open(&mut self, opening: &Opening) -> Result<usize, Unable> {
        if opening.failing.is_some() {
            return Err(Unable::NotApplicable("this network cannot be told to fail".into()));
        }
        if opening.private_data.is_some() {
            return Err(Unable::NotApplicable("private data are not the script's matter here".into()));
        }
        if !opening.send_with_invalidate && !N::TELLS_INVALIDATION && !self.subject.heeds_invalidation() {
            let why = "the peer asks its own device whether a send can invalidate a token";
            return Err(Unable::NotApplicable(why.into()));
        }
        self.forget();
        self.subject.open(opening)?;
        let config = opening.config().map_err(|error| Unable::Broken(error.to_string()))?;
        let (end, plan) = if self.listener.is_some() {
            self.subject.connect()?;
            (None, Some(Plan { opening: opening.clone(), config, receives: Vec::new() }))
        } else {
            (Some(Box::new(self.net.connect(opening, &config)?)), None)
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
        end.lacks(ability)
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
        self.connections.iter().rev().find_map(|known| known.end.as_deref()?.network())
    }

    fn device(&self) -> Option<String> {
        self.connections.iter().rev().find_map(|known| known.end.as_deref()?.device())
    }

    fn cut(&mut self, connection: usize) -> Result<(), Unable> {
        let (end, _) = self.at(connection).map_err(|full| Unable::Broken(full.0.into()))?;
        end.cut()
    }

    fn trouble(&self, connection: usize) -> Option<&str> {
        self.connections.get(connection)?.end.as_deref()?.trouble()
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
