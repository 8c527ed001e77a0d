//! Connections to servers over RDMA devices.

use std::net::SocketAddr;
use std::time::Duration;

use smbd_core::{Config, ConfigError, Params, Role};
use smbd_link::link::Owned;
use smbd_smb2::client::RegistrationId;
use smbd_verbs::tokio::{AsyncEnd, Failure, Options, link};
use smbd_verbs::{Clock, VerbsConnection};

/// Ports of SMB Direct: on iWARP, and elsewhere. They are tried in this order, as clients of Linux do.
pub const DEFAULT_PORTS: [u16; 2] = [5445, 445];
/// The longest message that a server may send here, in bytes: as long as servers send them. READs without a channel are cut so that their
/// answers fit.
const RECEIVE_MAX: u32 = 1 << 20;

/// A connection to a server over an RDMA device. Whoever polls it drives it: it makes no progress otherwise, and answers no keepalives.
pub type Rdma = Owned<AsyncEnd, RegistrationId>;

/// Connects to servers over RDMA devices.
#[derive(Clone, Debug)]
pub struct Connector {
    config: Config,
}

impl Connector {
    /// With so many buffers that may be registered at once, and so long a wait for a server.
    ///
    /// # Errors
    /// A number is not one that a connection can have.
    pub fn new(registrations: u16, connect: Duration) -> Result<Self, ConfigError> {
        let params = Params {
            max_fragmented_recv_size: RECEIVE_MAX,
            active_negotiation_timeout: connect,
            registrations,
            segments_max: registrations,
            registration_slots: registrations,
            rdma_ops: 0,
            rdma_slots: 0,
            ..Params::linux_client()
        };
        Ok(Self { config: Config::try_from(params)? })
    }

    /// Connects to a server. Call it inside a runtime with I/O and time enabled. When the connection is dropped, a task of the runtime ends
    /// it.
    ///
    /// # Errors
    /// There is no device, or no server that answers.
    pub async fn connect(&self, server: SocketAddr) -> Result<Rdma, Failure> {
        let end = VerbsConnection::connect(server, None, &self.config, Clock::start())?;
        let (link, _) = link(Role::Initiator, end, &self.config, Options::default()).await?;
        Ok(link)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_does_not_negotiate_is_waited_for_as_long_as_is_asked_for() {
        let within = Duration::from_secs(3);
        let connector = Connector::new(8, within).expect("numbers in range");
        assert_eq!(connector.config.active_negotiation_timeout, within);
    }
}
