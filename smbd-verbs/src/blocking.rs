//! Blocking calls: [`smbd_link::blocking`] over a [`VerbsConnection`].

use std::net::SocketAddr;

use smbd_core::{Config, Instant};
use smbd_link::{self, Accept, Connect};

pub use smbd_link::Registration;
pub use smbd_link::blocking::{Blocking, INBOX_MAX, Operation};

use crate::{Clock, Error, Incoming, VerbsConnection};

/// An established connection. `connect` takes a [`SocketAddr`], `accept` an [`Incoming`], and `establish` a
/// [`VerbsConnection`].
pub type Connection = smbd_link::blocking::Connection<VerbsConnection>;

/// A finished RDMA operation: its name and its result.
pub type Done = smbd_link::blocking::Done<Error>;

/// The error of a call on a connection.
pub type Failure = smbd_link::Failure<Error>;

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Backend(error)
    }
}

impl Blocking for VerbsConnection {
    type Error = Error;

    fn wait(&mut self, until: Option<Instant>) -> Result<(), Error> {
        self.wait_until(until)
    }
}

/// The backend has a clock of its own, which starts here.
impl Connect<SocketAddr> for VerbsConnection {
    type Error = Error;

    fn connect(to: SocketAddr, config: &Config) -> Result<Self, Error> {
        Self::connect(to, None, config, Clock::start())
    }
}

/// The backend has a clock of its own, which starts here.
impl Accept<Incoming> for VerbsConnection {
    type Error = Error;

    fn accept(incoming: Incoming, config: &Config) -> Result<Self, Error> {
        incoming.accept(config, Clock::start())
    }
}
