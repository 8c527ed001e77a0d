//! Waiting for initiators.

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

/// How many connections a listener lets in, and where it listens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListenOptions {
    /// Which ports.
    pub ports: Ports,
    /// Requests that wait for [`Listener::poll`]; the connection manager refuses more.
    pub backlog: u32,
    /// Connections that were taken and are not up yet.
    pub max_pending: u32,
    /// Connections altogether, pending ones included, until their ends are destroyed.
    pub max_connections: u32,
    /// Of those, connections of one IP address, so that one host cannot take what others may have.
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

/// What a listener has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ListenerCounters {
    /// Requests handed to the upper layer.
    pub taken: u64,
    /// Requests refused by the listener itself.
    pub refused: u64,
    /// Requests lost because something failed here.
    pub failed: u64,
}

/// Listens for connection requests. Its file descriptor is readable when there may be one.
#[derive(Debug)]
pub struct Listener {
    ids: Vec<CmId>,
    channel: Arc<EventChannel>,
    options: ListenOptions,
    counts: Arc<Counts>,
    counters: ListenerCounters,
    last_refused: Option<(SocketAddr, RejectReason)>,
}

/// A connection request: to be accepted, or refused, which dropping does as well.
#[derive(Debug)]
pub struct Incoming {
    request: Request,
    permit: Permit,
    link_type: LinkType,
}

impl Listener {
    /// Listens at `address`; with [`Ports::ByLinkType`] its port does not matter.
    ///
    /// # Errors
    /// The address is taken or not of this host, or there is no RDMA connection manager.
    pub fn bind(address: SocketAddr, options: ListenOptions) -> Result<Self, Error> {
        let channel = EventChannel::open()?;
        let ids = ports::bind(&channel, address, options.ports)?;
        for id in &ids {
            id.listen(options.backlog)?;
        }
        let counts = Arc::new(Counts::default());
        Ok(Self { ids, channel, options, counts, counters: ListenerCounters::default(), last_refused: None })
    }

    /// Where it listens.
    pub fn local_addrs(&self) -> impl Iterator<Item = SocketAddr> {
        self.ids.iter().filter_map(CmId::local_addr)
    }

    /// What it has done so far.
    #[must_use]
    pub const fn counters(&self) -> ListenerCounters {
        self.counters
    }

    /// Who was refused last, and why, if anybody was since the last call. How many there were is in the
    /// [`counters`](Self::counters): a flood is not worth a line for each.
    pub const fn last_refused(&mut self) -> Option<(SocketAddr, RejectReason)> {
        self.last_refused.take()
    }

    /// Connections that were let in and are not dropped yet.
    #[must_use]
    pub fn connections(&self) -> u32 {
        self.counts.connections()
    }

    /// The next request, if there is one. Requests beyond the limits are refused here. Never blocks.
    ///
    /// # Errors
    /// The connection manager cannot be read.
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

    /// As [`poll`](Self::poll), but waits for a request; `None` if there is none within that time.
    ///
    /// # Errors
    /// As [`poll`](Self::poll), or the system cannot wait.
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
    /// Who asks.
    #[must_use]
    pub const fn peer_addr(&self) -> SocketAddr {
        self.request.peer
    }

    /// Over what kind of link.
    #[must_use]
    pub const fn link_type(&self) -> LinkType {
        self.link_type
    }

    /// An end for an acceptor's connection. The request is answered when that says so.
    ///
    /// # Errors
    /// The device cannot carry a connection of this configuration; the request is refused then.
    pub fn accept(self, config: &Config, clock: Clock) -> Result<VerbsConnection, Error> {
        VerbsConnection::accept(self.request, self.permit, config, clock)
    }

    /// Refuses.
    ///
    /// # Errors
    /// The initiator is gone.
    pub fn reject(self, reason: RejectReason) -> Result<(), Error> {
        Ok(self.request.id.reject(reason.text().as_bytes())?)
    }
}
