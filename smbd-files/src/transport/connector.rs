//! Connections to servers over RDMA devices.

use std::net::SocketAddr;
use std::time::Duration;

use smbd_core::{Config, ConfigError, Negotiated, Params, Role};
use smbd_smb2::client;
use smbd_verbs::tokio::{AsyncEnd, Failure, Options, link};
use smbd_verbs::{Buffer, Clock, VerbsConnection};

use super::rdma::Rdma;
use super::{Memory, MemoryError};

/// Ports of SMB Direct: on iWARP, and elsewhere. They are tried in this order, as clients of Linux do.
pub const DEFAULT_PORTS: [u16; 2] = [5445, 445];
/// Transfers of more bytes go by RDMA.
const THRESHOLD: u32 = 4096;
/// The longest message that a server may send here, in bytes: as long as servers send them. READs without a channel are cut so that their
/// answers fit.
const RECEIVE_MAX: u32 = 1 << 20;

/// What connects to servers.
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

    /// Connects to a server. Call it inside a runtime with I/O and time enabled. Whoever uses the connection drives it. What is left of
    /// it in the end is a task of the runtime in which it is dropped, and goes on a thread that may block.
    ///
    /// # Errors
    /// There is no device, or no server that answers.
    pub async fn connect(&self, server: SocketAddr) -> Result<Rdma<AsyncEnd>, Failure> {
        let end = VerbsConnection::connect(server, None, &self.config, Clock::start())?;
        let invalidation = end.remote_invalidation_later();
        let (link, negotiated) = link(Role::Initiator, end, &self.config, Options::default()).await?;
        Ok(Rdma::new(link, self.limits(negotiated, invalidation.is_possible())))
    }

    fn limits(&self, negotiated: Negotiated, invalidates: bool) -> client::Transport {
        client::Transport {
            max_send: negotiated.max_fragmented_send_size,
            max_receive: self.config.max_fragmented_recv_size,
            rdma: Some(client::Rdma {
                threshold: THRESHOLD,
                max_read_write: negotiated.max_read_write_size,
                invalidates,
            }),
        }
    }
}

impl Memory for Buffer {
    fn allocate(len: u32) -> Result<Self, MemoryError> {
        Self::new(len).map_err(|_| MemoryError { offset: 0, len })
    }

    fn fill(&self, offset: u32, bytes: &[u8]) -> Result<(), MemoryError> {
        Self::fill(self, offset, bytes).map_err(|_| MemoryError::outside(offset, bytes.len()))
    }

    fn read(&self, offset: u32, out: &mut [u8]) -> Result<(), MemoryError> {
        let len = out.len();
        Self::read(self, offset, out).map_err(|_| MemoryError::outside(offset, len))
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
