//! A listener for async tasks.

use std::fmt;
use std::future::poll_fn;
use std::net::SocketAddr;
use std::os::fd::AsFd;

use smbd_core::{Config, Negotiated, Role};
use smbd_link::link::Owned;

use super::ready::Readable;
use super::{AsyncEnd, Connection, Failure, Options, establish, link};
use crate::{Clock, Error, LinkType, ListenOptions, ListenerCounters, RejectReason, wait};

/// Listens for connection requests in a tokio task.
pub struct Listener {
    /// Dropped before `listener`, whose descriptor it watches.
    readable: Readable,
    listener: crate::Listener,
}

/// A connection request, to be accepted or rejected. Dropping it rejects it.
#[derive(Debug)]
pub struct Incoming(crate::Incoming);

impl Listener {
    /// Listens at `address`, like [`crate::Listener::bind`]. Returns at once. A connection counts against the limits of
    /// `options` until its end is destroyed. Call it inside a runtime with I/O enabled.
    ///
    /// # Errors
    /// The address is in use or not an address of this host, there is no RDMA connection manager, or the reactor cannot
    /// register the file descriptor.
    pub fn bind(address: SocketAddr, options: ListenOptions) -> Result<Self, Error> {
        let listener = crate::Listener::bind(address, options)?;
        Ok(Self { readable: Readable::new(listener.as_fd())?, listener })
    }

    /// The addresses on which it listens.
    pub fn local_addrs(&self) -> impl Iterator<Item = SocketAddr> {
        self.listener.local_addrs()
    }

    /// The limits from now on, as [`crate::Listener::set_limits`].
    pub const fn set_limits(&mut self, options: &ListenOptions) {
        self.listener.set_limits(options);
    }

    /// Its counters.
    #[must_use]
    pub const fn counters(&self) -> ListenerCounters {
        self.listener.counters()
    }

    /// The address of the last initiator that was rejected, and the reason; `None` if no request was rejected since the
    /// last call.
    pub const fn last_refused(&mut self) -> Option<(SocketAddr, RejectReason)> {
        self.listener.last_refused()
    }

    /// The number of connections that count against the limits: accepted or waiting, and not destroyed yet.
    #[must_use]
    pub fn connections(&self) -> u32 {
        self.listener.connections()
    }

    /// Returns the next connection request. Waits for it. Requests beyond the limits are rejected here.
    ///
    /// # Cancel safety
    /// This method is cancel safe. If the future is dropped, no request is lost.
    ///
    /// # Errors
    /// The events of the connection manager cannot be read. The method can be called again.
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
    /// The address of the initiator.
    #[must_use]
    pub const fn peer_addr(&self) -> SocketAddr {
        self.0.peer_addr()
    }

    /// The type of the link.
    #[must_use]
    pub const fn link_type(&self) -> LinkType {
        self.0.link_type()
    }

    /// Accepts the request and negotiates, with the default [`Options`]. Waits until the connection is established or
    /// has failed. The peer may delay that up to the configuration's `passive_negotiation_timeout`, so call it in a
    /// task of its own.
    ///
    /// # Cancel safety
    /// This method is not cancel safe. If the future is dropped, the request is rejected or the connection ends.
    ///
    /// # Errors
    /// [`Failure::Backend`](smbd_link::Failure::Backend): the device cannot carry the connection, or fails.
    /// [`Failure::Connect`](smbd_link::Failure::Connect): the connection was not established.
    pub async fn accept(self, config: &Config) -> Result<Connection, Failure> {
        self.accept_with(config, Options::default()).await
    }

    /// Accepts the request like [`accept`](Self::accept), with `options`.
    ///
    /// # Cancel safety
    /// This method is not cancel safe. If the future is dropped, the request is rejected or the connection ends.
    ///
    /// # Errors
    /// The errors of [`accept`](Self::accept).
    pub async fn accept_with(self, config: &Config, options: Options) -> Result<Connection, Failure> {
        let end = self.0.accept(config, Clock::start())?;
        establish(Role::Acceptor, end, config, options).await
    }

    /// Accepts the request like [`accept_with`](Self::accept_with), and returns a connection that whoever polls it drives.
    ///
    /// # Cancel safety
    /// This method is not cancel safe. If the future is dropped, the request is rejected or the connection ends.
    ///
    /// # Errors
    /// The errors of [`accept`](Self::accept).
    pub async fn link<N: Copy + PartialEq + Send + 'static>(
        self,
        config: &Config,
        options: Options,
    ) -> Result<(Owned<AsyncEnd, N>, Negotiated), Failure> {
        link(Role::Acceptor, self.0.accept(config, Clock::start())?, config, options).await
    }

    /// Rejects the request. The initiator gets the text of `reason`. Returns at once.
    ///
    /// # Errors
    /// `rdma_reject` fails, for example because the initiator has gone.
    pub fn reject(self, reason: RejectReason) -> Result<(), Error> {
        self.0.reject(reason)
    }

    /// The request without tokio, for the other event loops.
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
