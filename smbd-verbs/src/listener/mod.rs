//! Listens for connection requests.

mod ports;

use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::Duration;

use smbd_core::Config;

use crate::connection::VerbsConnection;
use crate::depth::{self, Told};
use crate::ffi::{CmEvent, CmEventKind, CmId, EventChannel};
use crate::permit::{Counts, Permit, Quota};
use crate::request::{RejectReason, Request};
use crate::{Clock, Error, LinkType, trace, wait};

pub use ports::{PORT_IWARP, PORT_ROCE, Ports, port_of};

/// Requests looked at in one [`Listener::poll`], so that a flood of those that are refused does not hold it up.
const REQUESTS_MAX: usize = 64;

/// The ports of a listener, and the limits of its connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListenOptions {
    /// The ports to listen on.
    pub ports: Ports,
    /// Most requests that wait for [`Listener::poll`] (`rdma_listen`). The connection manager rejects more.
    pub backlog: u32,
    /// Most connections that are accepted or waiting for [`Incoming::accept`], and not up yet.
    pub max_pending: u32,
    /// Most connections altogether, including pending ones. Each counts until its [`VerbsConnection`] is destroyed.
    pub max_connections: u32,
    /// Most connections of one IP address, so that one host cannot use up all of them.
    pub max_per_host: u32,
}

impl Default for ListenOptions {
    fn default() -> Self {
        Self { ports: Ports::Fixed, backlog: 128, max_pending: 64, max_connections: 1024, max_per_host: 1024 }
    }
}

impl ListenOptions {
    const fn quota(&self) -> Quota {
        let Self { max_pending, max_connections, max_per_host, .. } = *self;
        Quota { max_pending, max_connections, max_per_host }
    }
}

/// Counters of a listener, from its creation on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ListenerCounters {
    /// Requests that [`Listener::poll`] returned.
    pub taken: u64,
    /// Requests that the listener itself rejected.
    pub refused: u64,
    /// Requests that were lost because of an error on this host.
    pub failed: u64,
}

/// Listens for connection requests. Its file descriptor is readable when there may be one. No method except
/// [`wait`](Self::wait) blocks.
#[derive(Debug)]
pub struct Listener {
    ids: Vec<CmId>,
    channel: Arc<EventChannel>,
    options: ListenOptions,
    counts: Arc<Counts>,
    counters: ListenerCounters,
    last_refused: Option<(SocketAddr, RejectReason)>,
}

/// A connection request, to be accepted or rejected. Dropping it rejects it.
#[derive(Debug)]
pub struct Incoming {
    request: Request,
    permit: Permit,
    link_type: LinkType,
}

impl Listener {
    /// Listens at `address`. [`Ports::ByLinkType`] ignores its port.
    ///
    /// # Errors
    /// The address is in use or not an address of this host, or there is no RDMA connection manager.
    pub fn bind(address: SocketAddr, options: ListenOptions) -> Result<Self, Error> {
        let channel = EventChannel::open()?;
        let ids = ports::bind(&channel, address, options.ports)?;
        for id in &ids {
            id.listen(options.backlog)?;
        }
        let counts = Arc::new(Counts::default());
        Ok(Self { ids, channel, options, counts, counters: ListenerCounters::default(), last_refused: None })
    }

    /// The addresses on which it listens.
    pub fn local_addrs(&self) -> impl Iterator<Item = SocketAddr> {
        self.ids.iter().filter_map(CmId::local_addr)
    }

    /// The limits from now on: `max_pending`, `max_connections` and `max_per_host` of `options`; the rest is not looked at.
    /// Connections beyond them stay.
    pub const fn set_limits(&mut self, options: &ListenOptions) {
        let ListenOptions { max_pending, max_connections, max_per_host, .. } = *options;
        self.options = ListenOptions { max_pending, max_connections, max_per_host, ..self.options };
    }

    /// Its counters.
    #[must_use]
    pub const fn counters(&self) -> ListenerCounters {
        self.counters
    }

    /// The address of the last initiator that was rejected, and the reason; `None` if no request was rejected since the
    /// last call. [`counters`](Self::counters) has the number of rejected requests.
    pub const fn last_refused(&mut self) -> Option<(SocketAddr, RejectReason)> {
        self.last_refused.take()
    }

    /// Connections that count against the limits: accepted or waiting, and not destroyed yet.
    #[must_use]
    pub fn connections(&self) -> u32 {
        self.counts.connections()
    }

    /// The next request; `None` if there is none. Rejects requests beyond the limits. Never blocks.
    ///
    /// # Errors
    /// The events of the connection manager cannot be read.
    pub fn poll(&mut self) -> Result<Option<Incoming>, Error> {
        for _ in 0..REQUESTS_MAX {
            let Some(event) = self.channel.next()? else { return Ok(None) };
            if event.kind != CmEventKind::ConnectRequest {
                continue;
            }
            match self.admit(event) {
                Ok(Some(incoming)) => {
                    self.counters.taken = self.counters.taken.saturating_add(1);
                    return Ok(Some(incoming));
                }
                Ok(None) => self.counters.refused = self.counters.refused.saturating_add(1),
                Err(error) => {
                    self.counters.failed = self.counters.failed.saturating_add(1);
                    trace::lost_request(error);
                }
            }
        }
        Ok(None)
    }

    /// As [`poll`](Self::poll), but blocks until there is a request. `None` if none arrives within `within`.
    ///
    /// # Errors
    /// As [`poll`](Self::poll), or the system call that waits fails.
    pub fn wait(&mut self, within: Duration) -> Result<Option<Incoming>, Error> {
        let clock = Clock::start();
        let until = clock.now().saturating_add(within);
        loop {
            let incoming = self.poll()?;
            if incoming.is_some() || clock.now() >= until {
                return Ok(incoming);
            }
            wait::sleep(self.as_fd(), clock, Some(until))?;
        }
    }

    /// `None` if it was refused.
    fn admit(&mut self, event: CmEvent) -> Result<Option<Incoming>, Error> {
        let CmEvent { private_data, responder_resources, initiator_depth, request, .. } = event;
        let unknown = SocketAddr::from(([0, 0, 0, 0], 0));
        let id = request.ok_or(Error::NoDevice { address: unknown })?;
        let (local, peer) = (id.local_addr().unwrap_or(unknown), id.peer_addr().unwrap_or(unknown));
        let last_refused = &mut self.last_refused;
        let mut refuse = |reason: RejectReason| {
            trace::refused(peer, reason);
            *last_refused = Some((peer, reason));
            // The initiator may be gone; dropping the id refuses as well.
            let _ = id.reject(reason.text().as_bytes());
            Ok(None)
        };
        let device = id.device().ok_or(Error::NoDevice { address: local })?;
        let link_type = device.link_type(id.port_number())?;
        if !self.options.ports.serves(link_type, local.port()) {
            return refuse(RejectReason::WrongPort);
        }
        // Others pad private data with zeros.
        let header = match link_type {
            LinkType::Iwarp => depth::header_of(private_data.as_bytes()),
            LinkType::InfiniBand | LinkType::Roce => Ok(None),
        };
        let Ok(header) = header else { return refuse(RejectReason::ReadDepth) };
        let permit = match Permit::take(&self.counts, &self.options.quota(), peer.ip()) {
            Ok(permit) => permit,
            Err(reason) => return refuse(reason),
        };
        let offer = Told { header, incoming: responder_resources, outgoing: initiator_depth };
        Ok(Some(Incoming { request: Request { id, peer, offer }, permit, link_type }))
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.channel.as_fd()
    }
}

impl Incoming {
    /// The address of the initiator.
    #[must_use]
    pub const fn peer_addr(&self) -> SocketAddr {
        self.request.peer
    }

    /// The type of the link.
    #[must_use]
    pub const fn link_type(&self) -> LinkType {
        self.link_type
    }

    /// The backend of an acceptor for this request. Returns at once: the request is accepted with
    /// [`BackendOp::Accept`](smbd_core::backend::BackendOp::Accept).
    ///
    /// # Errors
    /// The device cannot carry a connection of this configuration, or the RDMA Read depth would be zero (6.2). The
    /// request is rejected then.
    pub fn accept(self, config: &Config, clock: Clock) -> Result<VerbsConnection, Error> {
        VerbsConnection::accept(self.request, self.permit, config, clock)
    }

    /// Rejects the request. The initiator gets the text of `reason`. Returns at once.
    ///
    /// # Errors
    /// `rdma_reject` fails, for example because the initiator has gone.
    pub fn reject(self, reason: RejectReason) -> Result<(), Error> {
        Ok(self.request.id.reject(reason.text().as_bytes())?)
    }
}
