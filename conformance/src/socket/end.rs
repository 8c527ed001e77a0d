//! One end of a connection, as a backend.

use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::os::fd::BorrowedFd;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
#[cfg(doc)]
use smbd_core::backend::Backend;
use smbd_core::backend::{TransportReports, WorkQueues};
use smbd_core::error::{ConnectReason, DisconnectReason};
use smbd_core::{BufferDescriptorV1, Config, Input, Instant, Limits, RecvId, RegId, Role, WrId};

use super::address::{Address, Stream};
use super::clock::Clock;
use super::frame::{DATA_MAX, Frame, Hello, Reason};
use super::memory::Regions;
use super::receiving::Receiving;
use super::sending::{Kind, Sending};
use super::wire::{Brought, Wire};

/// EIO, where the system gives no number.
const FAILED: i32 = 5;

/// Something that the end reports before what its queues do.
#[derive(Debug)]
pub(super) enum Report {
    Input(Input<'static>),
    Registered(RegId, BufferDescriptorV1),
}

/// Work that waits for the doorbell.
#[derive(Debug)]
pub(super) enum Chained {
    Recv(RecvId, u32),
    Send(WrId, bool, Kind),
}

/// How far a connection has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// Neither `Connect` nor `Accept` was given.
    Idle,
    /// The peer is not ready.
    Asked,
    Up,
    Over,
}

/// One end of a connection over a socket: a backend with registered memory.
///
/// A message has at most [`DATA_MAX`] bytes. A send and a Write are complete when the socket has taken
/// them, a Read when its data are there, all in posting order. After the end the socket stays open until this is dropped, so that
/// the peer can read what was sent.
pub struct SocketEnd {
    pub(super) role: Role,
    pub(super) clock: Clock,
    pub(super) wire: Wire,
    /// Why there is no socket.
    pub(super) refused: Option<ConnectReason>,
    pub(super) link: TransportReports,
    pub(super) stage: Stage,
    /// What this end says of itself.
    pub(super) own: Hello,
    /// What the peer says of itself, and whether it is ready.
    pub(super) peer: Option<(Hello, bool)>,
    pub(super) queues: WorkQueues,
    pub(super) chain: Vec<Chained>,
    pub(super) receiving: Receiving,
    pub(super) sending: Sending,
    pub(super) regions: Regions,
    pub(super) reports: VecDeque<Report>,
    pub(super) reported: Vec<BufferDescriptorV1>,
    send_queue: u16,
    pub(super) trouble: Option<String>,
}

impl fmt::Debug for SocketEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { role, stage, trouble, .. } = self;
        f.debug_struct("SocketEnd")
            .field("role", role)
            .field("stage", stage)
            .field("trouble", trouble)
            .finish()
    }
}

impl SocketEnd {
    /// One end over a connected socket. `clock` is that of [`now`](Backend::now).
    ///
    /// # Errors
    /// The socket cannot be set not to block.
    pub fn new(stream: Stream, role: Role, config: &Config, clock: Clock) -> io::Result<Self> {
        Ok(Self::on(Wire::over(stream)?, role, config, clock))
    }

    /// Connects to an acceptor; waits at most 5 s. If there is none, `Connect` is answered with that.
    #[must_use]
    pub fn connect(to: &Address, config: &Config, clock: Clock) -> Self {
        let stream = to.connect().and_then(Wire::over);
        let error = stream.as_ref().err().map(|error| format!("{to}: {error}"));
        let refused = stream.as_ref().err().map(reason_of);
        let end = Self::on(stream.unwrap_or_default(), Role::Initiator, config, clock);
        Self { refused, trouble: error, ..end }
    }

    /// Tells an initiator that its connection is not wanted.
    pub fn refuse(stream: Stream) {
        if let Ok(mut wire) = Wire::over(stream) {
            wire.queue(&Frame::End(Reason::Refused, ""));
            wire.end();
        }
    }

    fn on(wire: Wire, role: Role, config: &Config, clock: Clock) -> Self {
        let budget = config.budget();
        let own = Hello {
            role,
            remote_invalidation: true,
            inbound_reads: budget.read_depth,
            outbound_reads: budget.read_depth,
            private_data: Vec::new(),
        };
        Self {
            role,
            clock,
            wire,
            refused: None,
            link: TransportReports::default(),
            stage: Stage::Idle,
            own,
            peer: None,
            queues: WorkQueues::new(&budget),
            chain: Vec::new(),
            receiving: Receiving::new(budget.recv_slots),
            sending: Sending::default(),
            regions: Regions::default(),
            reports: VecDeque::new(),
            reported: Vec::with_capacity(1),
            send_queue: u16::try_from(budget.send_queue).unwrap_or(u16::MAX),
            trouble: None,
        }
    }

    /// The same of a device whose tokens a message cannot invalidate. Has an effect before `Connect` or `Accept`.
    #[must_use]
    pub fn keeping_tokens(mut self) -> Self {
        self.own.remote_invalidation = false;
        self
    }

    /// Why the connection ended or did not come up, if that was not in order: what the peer or this end says of it.
    #[must_use]
    pub fn trouble(&self) -> Option<&str> {
        self.trouble.as_deref()
    }

    /// Whether the peer has said who it is, or never will.
    #[must_use]
    pub fn has_heard(&self) -> bool {
        self.peer.is_some() || self.stage == Stage::Over
    }

    /// The socket, and what it is to be polled for before the next call.
    #[must_use]
    pub fn awaits(&self) -> Option<(BorrowedFd<'_>, PollFlags)> {
        self.wire.awaits()
    }

    /// Whether [`next_input`](Backend::next_input) has something, whatever the socket does.
    #[must_use]
    pub fn has_input(&self) -> bool {
        !self.reports.is_empty() || self.link.has_news()
    }

    /// Waits until the socket has something, at the longest until `deadline`.
    ///
    /// # Errors
    /// The system cannot wait.
    pub fn wait(&self, deadline: Option<Instant>) -> io::Result<()> {
        if self.has_input() {
            return Ok(());
        }
        let time = deadline.map(|at| at.saturating_since(self.clock.now()));
        let timeout = time.map(|time| Timespec {
            tv_sec: i64::try_from(time.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: time.subsec_nanos().into(),
        });
        let mut fds: Vec<_> =
            self.awaits().into_iter().map(|(fd, flags)| PollFd::from_borrowed_fd(fd, flags)).collect();
        match poll(&mut fds, timeout.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Moves what can be moved in both directions, without taking an input.
    pub fn progress(&mut self) {
        self.advance();
        match self.wire.read() {
            Brought::Nothing => {}
            Brought::Bytes => self.take_frames(),
            Brought::Closed => self.lost("the peer closed the socket without an END"),
            Brought::Failed => self.lost("the socket was reset"),
        }
        self.advance();
    }

    /// Ends the connection without a word, as a host does that loses its power.
    pub fn cut(&mut self) {
        self.wire.close();
        self.over(DisconnectReason::DeviceFailed);
    }

    fn lost(&mut self, how: &str) {
        self.wire.close();
        if self.stage != Stage::Over {
            self.trouble.get_or_insert_with(|| how.to_owned());
            self.over(DisconnectReason::PeerAborted);
        }
    }

    /// The connection is over. One that was never up was not established.
    pub(super) fn over(&mut self, reason: DisconnectReason) {
        match (self.stage, reason) {
            (Stage::Over, _) => {}
            (Stage::Up, _) | (_, DisconnectReason::Local) => self.link.disconnected(reason),
            (Stage::Idle | Stage::Asked, DisconnectReason::PeerClosed) => {
                self.link.connect_failed(ConnectReason::Refused);
            }
            (Stage::Idle | Stage::Asked, _) => self.link.connect_failed(ConnectReason::Other(FAILED)),
        }
        self.stage = Stage::Over;
        self.regions.clear();
    }

    /// Both sides are ready: the connection is up.
    pub(super) fn settle(&mut self) {
        let Some((peer, true)) = &self.peer else { return };
        if self.stage != Stage::Asked {
            return;
        }
        self.stage = Stage::Up;
        let read_depth = self.own.outbound_reads.min(peer.inbound_reads);
        self.sending.limit_reads(read_depth);
        self.link.connected(Limits {
            read_depth,
            send_queue: self.send_queue,
            rdma_len_max: u32::try_from(DATA_MAX).unwrap_or(u32::MAX),
            registration_requests: 0,
            send_with_invalidate: peer.remote_invalidation,
            reads_in_order: true,
        });
    }

    /// Says goodbye; nothing is sent behind it.
    pub(super) fn end_with(&mut self, reason: Reason, text: &str) {
        self.wire.queue(&Frame::End(reason, text));
        self.wire.end();
    }
}

fn reason_of(error: &io::Error) -> ConnectReason {
    match error.kind() {
        io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound => ConnectReason::Refused,
        io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable => ConnectReason::Unreachable,
        io::ErrorKind::TimedOut => ConnectReason::TimedOut,
        _ => ConnectReason::Other(error.raw_os_error().unwrap_or(FAILED)),
    }
}
