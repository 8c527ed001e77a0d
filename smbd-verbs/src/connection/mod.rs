//! One side of one connection: the [`Backend`] that carries out operations on a queue pair.

#[cfg(feature = "tokio")]
mod apart;
mod call;
mod completions;
mod ending;
mod events;
#[cfg(feature = "faults")]
mod faults;
mod link;
mod not_chained;
mod nudge;
mod open;
mod options;
mod phase;
mod posts;
mod regions;
mod registrations;
mod reports;
mod unread;
mod wake;

use std::fmt;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::thread;

use smbd_core::backend::{
    Backend, BackendOp, HostMemory, OutOfMemory, OutOfRange, ReceiveMemory, WorkQueues,
};
use smbd_core::{Budget, Config, Head, Input, Instant, RecvId};
use smbd_link::{BusyPoll, Waitable};

use crate::ffi::{CmId, EventChannel};
use crate::permit::Permit;
use crate::quirks::Quirks;
use crate::request::Request;
use crate::wait;
use crate::{Buffer, Clock, DeviceAttributes, Error, LinkType, QueueCounters, RejectReason};
#[cfg(feature = "faults")]
pub use faults::ReadSink;
use link::Link;
use nudge::Looks;
use open::Open;
pub use options::LinkOptions;
use phase::{Phase, Route, Way};
use reports::{Report, Reports};
use wake::Wake;

/// One side of a connection over an RDMA device: a [`Backend`].
///
/// Drive it with [`smbd_core::backend::drive`], and sleep on its file descriptor after [`arm`](Self::arm). It owns its
/// event channel, protection domain, completion queue and queue pair. So the failure of one connection does not affect
/// another, and a token is valid on its own connection only. It may move between threads.
///
/// If it is dropped before [`Event::Drained`](smbd_core::Event::Drained), the connection ends at once. Memory stays
/// registered as long as the device may access it. Dropping may block on the device: see [the crate](crate).
pub struct VerbsConnection {
    clock: Clock,
    budget: Budget,
    link: Link,
    wake: Wake,
    /// Receives posted before there is a queue for them.
    early: Vec<(RecvId, u32)>,
    /// The queues, once the device is known.
    open: Option<Box<Open>>,
    queues: WorkQueues,
    reports: Reports,
    /// Calls of `next_input` that found nothing, since file descriptors were last looked at.
    quiet_calls: u32,
    first_received: Option<Head>,
    looks: Looks,
    spin: BusyPoll,
    /// Counts this end against its listener's limits.
    permit: Option<Permit>,
    moderation: Option<(u16, u16)>,
    remote_invalidation: bool,
    /// How many work requests are to be taken, until there is a queue pair for them.
    #[cfg(feature = "faults")]
    posts_max: Option<usize>,
}

impl VerbsConnection {
    /// The side of an initiator that connects to `to`, from the local address `from` if there is one. Returns at once:
    /// nothing is sent before [`BackendOp::Connect`].
    ///
    /// # Errors
    /// The host has no RDMA connection manager, no memory, or no file descriptor left.
    pub fn connect(
        to: SocketAddr,
        from: Option<SocketAddr>,
        config: &Config,
        clock: Clock,
    ) -> Result<Self, Error> {
        let channel = EventChannel::open()?;
        let id = Arc::new(CmId::create(&channel)?);
        // The negotiation timer decides; the connection manager's own must not be faster.
        let timeout = config.active_negotiation_timeout.saturating_add(link::MARGIN);
        let way = Way::Connect(Route { to, from, timeout });
        Self::new(Link::new(id, channel, way), config, clock, None)
    }

    /// An acceptor's end for a connection request.
    pub(crate) fn accept(
        request: Request,
        permit: Permit,
        config: &Config,
        clock: Clock,
    ) -> Result<Self, Error> {
        let channel = EventChannel::open()?;
        let Request { mut id, peer, offer } = request;
        id.migrate(&channel)?;
        let id = Arc::new(id);
        let mut end =
            Self::new(Link::new(Arc::clone(&id), channel, Way::Accept), config, clock, Some(permit))?;
        end.open_queues()?;
        let Some(answer) = end.depths().answer(offer) else {
            // Said at once: a peer whose request cannot be met should not wait for its timer.
            let _ = id.reject(RejectReason::ReadDepth.text().as_bytes());
            return Err(Error::ReadDepth { peer });
        };
        end.link.answer = Some(answer);
        Ok(end)
    }

    fn new(link: Link, config: &Config, clock: Clock, permit: Option<Permit>) -> Result<Self, Error> {
        let budget = config.budget();
        Ok(Self {
            clock,
            wake: Wake::new(link.channel.as_fd())?,
            link,
            early: Vec::new(),
            open: None,
            queues: WorkQueues::new(&budget),
            reports: Reports::default(),
            quiet_calls: 0,
            first_received: None,
            looks: Looks::default(),
            spin: BusyPoll::default(),
            permit,
            moderation: None,
            remote_invalidation: false,
            #[cfg(feature = "faults")]
            posts_max: None,
            budget,
        })
    }

    /// Waits until there may be something to say, at most until `until`.
    pub(crate) fn wait_until(&mut self, until: Option<Instant>) -> Result<(), Error> {
        let (clock, mut spin) = (self.clock, self.spin);
        let mut now = clock.now();
        let found = spin.look(&mut now, 1, || clock.now(), thread::yield_now, || self.is_ready());
        if !found && !self.arm()? {
            wait::sleep(self.as_fd(), clock, until)?;
            spin.waited(clock.now().saturating_since(now));
        }
        self.spin = spin;
        Ok(())
    }

    /// The attributes of the device; `None` before an initiator has resolved the address. An acceptor always has them.
    #[must_use]
    pub fn device(&self) -> Option<&DeviceAttributes> {
        self.open.as_ref().map(|open| &open.device)
    }

    /// The type of the link; `None` as long as [`device`](Self::device) is.
    #[must_use]
    pub fn link_type(&self) -> Option<LinkType> {
        self.open.as_ref().map(|open| open.link_type)
    }

    /// The quirks of the device's provider; `None` as long as [`device`](Self::device) is.
    #[must_use]
    pub fn quirks(&self) -> Option<&'static Quirks> {
        self.open.as_ref().map(|open| open.quirks)
    }

    /// Whether the peer can invalidate registrations, because they are memory windows. If not, the upper layer must not
    /// request it from the peer: a device would end the connection.
    #[must_use]
    pub const fn remote_invalidation(&self) -> bool {
        self.remote_invalidation
    }

    /// The address of the peer; `None` if it is not known yet.
    #[must_use]
    pub fn peer_addr(&self) -> Option<SocketAddr> {
        self.link.id.peer_addr()
    }

    /// The own address; `None` if it is not known yet.
    #[must_use]
    pub fn local_addr(&self) -> Option<SocketAddr> {
        self.link.id.local_addr()
    }

    /// Counters of the queue pair. All are zero before there is one.
    #[must_use]
    pub fn counters(&self) -> QueueCounters {
        self.open.as_ref().map(|open| open.qp.counters()).unwrap_or_default()
    }

    /// The first bytes, at most 32, of the first message that arrived: for an initiator the Negotiate Response, for an
    /// acceptor the Negotiate Request.
    #[must_use]
    pub const fn first_received(&self) -> Option<&Head> {
        self.first_received.as_ref()
    }

    /// The private data of the peer's reject; empty if there is none. The peer chooses the content.
    #[must_use]
    pub fn reject_data(&self) -> &[u8] {
        self.link.reject_data.as_bytes()
    }
}

impl ReceiveMemory for VerbsConnection {
    fn received(&self, id: RecvId) -> &[u8] {
        self.open.as_ref().map_or(&[], |open| open.qp.received(id.slot()))
    }
}

impl Waitable for VerbsConnection {
    type Error = Error;

    fn arm(&mut self) -> Result<bool, Error> {
        self.look_soon();
        Ok(self.arm_completions())
    }

    fn is_ready(&mut self) -> bool {
        let has_completion = |open: &mut Box<Open>| open.qp.has_completion().unwrap_or(true);
        self.reports.is_ready()
            || self.link.has_completions() && self.open.as_mut().is_some_and(has_completion)
    }

    fn busy_poll_micros_max(&self) -> u64 {
        self.quirks().map_or(0, |quirks| quirks.busy_poll_micros_max)
    }
}

impl VerbsConnection {
    /// Asks the device to say when something completes. Whether there is something to say already.
    pub(crate) fn arm_completions(&mut self) -> bool {
        if self.reports.is_ready() || self.poll_is_due() {
            return true;
        }
        let armed = match &mut self.open {
            Some(open) if self.link.has_completions() => open.arm(),
            _ => Ok(false),
        };
        // One that cannot be asked has nothing more to say about anything. That is the end of this connection, and no
        // error of those who wait for others as well.
        armed.unwrap_or_else(|error| {
            self.device_failed(error);
            true
        })
    }
}

impl Backend for VerbsConnection {
    type Buffer = Buffer;

    fn now(&self) -> Instant {
        self.clock.now()
    }

    // Into its caller, who mostly knows which operation it has.
    #[inline(always)]
    fn execute(&mut self, step: BackendOp<'_, Buffer>) {
        // Only posts are chained. Receives above all have to be with the device before `Accept` lets the peer send.
        if !matches!(
            step,
            BackendOp::PostRecv { .. } | BackendOp::PostSend { .. } | BackendOp::PostRdma { .. }
        ) {
            self.ring_chain();
        }
        match step {
            BackendOp::PostRecv { id, len } => self.post_recv(id, len),
            BackendOp::PostSend { id, head, body, invalidate, signal, solicit } => {
                self.post_send(id, head, body, posts::Flags { invalidate, signal, solicit });
            }
            BackendOp::PostRdma { id, verb, local, remote, signal } => {
                self.post_rdma(id, verb, &local, remote, signal);
            }
            BackendOp::Register { id, buffer, access, .. } => self.register(id, buffer, access),
            BackendOp::Deregister { id, segments } => self.deregister(id, segments),
            BackendOp::Connect => self.begin_connecting(),
            BackendOp::Accept => self.begin_accepting(),
            BackendOp::Disconnect => self.begin_ending(),
        }
    }

    #[inline]
    fn ring_doorbell(&mut self) {
        self.ring_chain();
    }

    #[inline]
    fn next_input(&mut self) -> Option<Input<'_>> {
        if let Some(input) = self.next_of_completions() {
            return input;
        }
        self.next_of_all()
    }
}

impl VerbsConnection {
    #[inline(never)]
    fn next_of_all(&mut self) -> Option<Input<'_>> {
        Some(match self.next_report()? {
            Report::Input(input) => input,
            Report::Registered { id, bind_complete } => {
                let segments = self.open.as_ref().map_or(&[][..], |open| open.registrations.segments(id));
                Input::Registered { id, segments, bind_complete }
            }
        })
    }
}

impl HostMemory for VerbsConnection {
    fn allocate(&mut self, len: u32) -> Result<Buffer, OutOfMemory> {
        Buffer::new(len)
    }

    fn fill(&mut self, buffer: &Buffer, offset: u32, bytes: &[u8]) -> Result<(), OutOfRange> {
        buffer.fill(offset, bytes)
    }

    fn read(&self, buffer: &Buffer, offset: u32, out: &mut [u8]) -> Result<(), OutOfRange> {
        buffer.read(offset, out)
    }
}

impl AsFd for VerbsConnection {
    /// Readable when there may be an input, if [`VerbsConnection::arm`] was called.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.wake.as_fd()
    }
}

impl Drop for VerbsConnection {
    fn drop(&mut self) {
        // A provider's call that is under way on another thread has the queue pair; it goes when the call is back.
        match std::mem::replace(&mut self.link.phase, Phase::Over) {
            Phase::Connecting(Some(call)) => call.abandon(self.open.take()),
            Phase::Connecting(None) if self.connect_blocks() => {
                self.leave_to_a_thread();
            }
            _ => {}
        }
    }
}

impl fmt::Debug for VerbsConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VerbsConnection")
            .field("peer", &self.peer_addr())
            .field("device", &self.device().map(|device| &device.name))
            .field("phase", &self.link.phase)
            .finish_non_exhaustive()
    }
}
