//! Waiting for initiators in a task.

use std::fmt;
use std::future::poll_fn;
use std::net::SocketAddr;
use std::os::fd::AsFd;

use smbd_core::{Config, Role};

use super::ready::Readable;
use super::{Connection, Failure, Options, establish};
use crate::{Clock, Error, LinkType, ListenOptions, ListenerCounters, RejectReason, wait};

/// Listens for connection requests.
pub struct Listener {
    /// Dropped before what it watches.
    readable: Readable,
    listener: crate::Listener,
}

/// A connection request: to be accepted, or refused, which dropping does as well.
#[derive(Debug)]
pub struct Incoming(crate::Incoming);

impl Listener {
    /// As [`crate::Listener::bind`], with the same limits: a connection counts against them until its end is destroyed.
    ///
    /// # Errors
    /// As there, or the reactor takes no more file descriptors.
    pub fn bind(address: SocketAddr, options: ListenOptions) -> Result<Self, Error> {
        let listener = crate::Listener::bind(address, options)?;
        Ok(Self { readable: Readable::new(listener.as_fd())?, listener })
    }

    /// Where it listens.
    pub fn local_addrs(&self) -> impl Iterator<Item = SocketAddr> {
        self.listener.local_addrs()
    }

    /// What it has done so far.
    #[must_use]
    pub const fn counters(&self) -> ListenerCounters {
        self.listener.counters()
    }

    /// As [`crate::Listener::last_refused`].
    pub const fn last_refused(&mut self) -> Option<(SocketAddr, RejectReason)> {
        self.listener.last_refused()
    }

    /// Connections that were let in and are not destroyed yet.
    #[must_use]
    pub fn connections(&self) -> u32 {
        self.listener.connections()
    }

    /// The next request. Those beyond the limits are refused here.
    ///
    /// Given up, no request is lost.
    ///
    /// # Errors
    /// The connection manager cannot be read. The listener can be asked again.
    pub async fn accept(&mut self) -> Result<Incoming, Error> {
        loop {
            if let Some(incoming) = self.listener.poll()? {
                return Ok(Incoming(incoming));
            }
            if wait::is_readable(self.listener.as_fd()) {
                // A flood of those that are refused: other tasks have their turn, and the reactor says nothing of what is left.
                ::tokio::task::yield_now().await;
            } else {
                poll_fn(|cx| self.readable.poll(cx)).await?;
            }
        }
    }
}

impl Incoming {
    /// Who asks.
    #[must_use]
    pub const fn peer_addr(&self) -> SocketAddr {
        self.0.peer_addr()
    }

    /// Over what kind of link.
    #[must_use]
    pub const fn link_type(&self) -> LinkType {
        self.0.link_type()
    }

    /// Accepts and negotiates, with the default [`Options`]. It may take as long as the peer takes, up to the configuration's
    /// `passive_negotiation_timeout`: in a task of its own, other requests need not wait for it. Given up, the connection is
    /// as well.
    ///
    /// # Errors
    /// Why it did not come up.
    pub async fn accept(self, config: &Config) -> Result<Connection, Failure> {
        self.accept_with(config, Options::default()).await
    }

    /// As [`accept`](Self::accept).
    ///
    /// # Errors
    /// As there.
    pub async fn accept_with(self, config: &Config, options: Options) -> Result<Connection, Failure> {
        let end = self.0.accept(config, Clock::start())?;
        establish(Role::Acceptor, end, config, options).await
    }

    /// Refuses.
    ///
    /// # Errors
    /// The initiator is gone.
    pub fn reject(self, reason: RejectReason) -> Result<(), Error> {
        self.0.reject(reason)
    }

    /// The request, for another loop.
    #[must_use]
    pub fn into_inner(self) -> crate::Incoming {
        self.0
    }
}

impl fmt::Debug for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Listener").field(&self.listener).finish()
    }
}
