//! Clients over RDMA devices.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use smbd_core::{Config, ConfigError, Params};
use smbd_link::link::Owned;
use smbd_smb2::server::OperationId;
use smbd_verbs::tokio::{AsyncEnd, Failure, Incoming, Listener, Options};
use smbd_verbs::{Error, ListenOptions, PORT_IWARP, device_addresses, port_of};

use crate::link::TRANSFERS_MAX;

/// The longest message from a client, in bytes: a WRITE of 1 MiB in a message, and what is around it.
const RECEIVE_MAX: u32 = (1 << 20) + 4096;
/// The longest READ or WRITE by RDMA, in bytes.
const TRANSFER_MAX: u32 = 8 << 20;
/// How long a client may take to negotiate SMB Direct.
const NEGOTIATE_WITHIN: Duration = Duration::from_secs(5);
/// Bytes of a client's messages that wait to be served before its credits end.
const WAITING_MAX: usize = 4 << 20;

/// A connection to a client over an RDMA device.
pub type Rdma = Owned<AsyncEnd, OperationId>;

/// The configuration of connections to clients.
///
/// # Errors
/// Its numbers do not fit together, which a test refuses.
pub fn config() -> Result<Config, ConfigError> {
    Config::try_from(Params {
        max_fragmented_recv_size: RECEIVE_MAX,
        max_read_write_size: TRANSFER_MAX,
        keepalive: Params::linux_client().keepalive,
        passive_negotiation_timeout: NEGOTIATE_WITHIN,
        rdma_ops: TRANSFERS_MAX,
        registrations: 0,
        segments_max: 0,
        registration_slots: 0,
        ..Params::linux_server()
    })
}

/// Listens at the address of a device, at its port of SMB Direct: 5445 on iWARP, 445 elsewhere (MS-SMBD 1.9).
///
/// # Errors
/// No device has the address, or the port is taken.
pub fn listen(address: IpAddr) -> Result<Listener, Error> {
    let device = device_addresses()?.into_iter().find(|device| device.address == address);
    let port = device.map_or(PORT_IWARP, |device| port_of(device.link_type));
    Listener::bind(SocketAddr::new(address, port), ListenOptions::default())
}

/// Accepts a client, as [`config`] says. Waits until the connection is established.
///
/// # Cancel safety
/// If the future is dropped, the connection ends.
///
/// # Errors
/// The connection is not established, or the device fails.
pub async fn accept(incoming: Incoming, config: &Config) -> Result<Rdma, Failure> {
    let options = Options { bytes_max: WAITING_MAX, ..Options::default() };
    let (link, _) = incoming.link(config, options).await?;
    Ok(link)
}

#[cfg(test)]
mod tests {
    #[test]
    fn what_a_connection_is_configured_with_is_valid() {
        super::config().unwrap();
    }
}
