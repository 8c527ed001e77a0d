//! Calls that wait: [`smbd_core::runtime::blocking`] over an [`VerbsConnection`].

use std::net::SocketAddr;

use smbd_core::runtime::{self, Accept, Connect};
use smbd_core::{Config, Instant};

pub use smbd_core::runtime::Registration;
pub use smbd_core::runtime::blocking::{Blocking, Done, INBOX_MAX};

use crate::{Clock, Error, Incoming, VerbsConnection};

/// An established connection: [`connect`](Connect) to a [`SocketAddr`], accept an [`Incoming`], or establish one over an
/// [`VerbsConnection`].
pub type Connection = runtime::blocking::Connection<VerbsConnection>;

/// A call did not bring what was asked for.
pub type Failure = runtime::Failure<Error>;

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

/// With a clock of its own.
impl Connect<SocketAddr> for VerbsConnection {
    type Error = Error;

    fn connect(to: SocketAddr, config: &Config) -> Result<Self, Error> {
        Self::connect(to, None, config, Clock::start())
    }
}

/// With a clock of its own.
impl Accept<Incoming> for VerbsConnection {
    type Error = Error;

    fn accept(incoming: Incoming, config: &Config) -> Result<Self, Error> {
        incoming.accept(config, Clock::start())
    }
}
