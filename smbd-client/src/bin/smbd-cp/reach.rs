//! Addresses are connected.

use std::net::SocketAddr;
use std::time::Duration;

use smbd_client::Tcp;
use tokio::net::TcpStream;
use tokio::time::timeout;

/// The port of SMB over TCP.
pub(crate) const PORT: u16 = 445;

pub(crate) fn silent(within: Duration) -> String {
    format!("no answer within {} s", within.as_secs())
}

pub(crate) async fn tcp(address: SocketAddr, within: Duration) -> Result<Tcp<TcpStream>, String> {
    match timeout(within, TcpStream::connect(address)).await {
        // Messages leave at once.
        Ok(Ok(stream)) => {
            stream.set_nodelay(true).map(|()| Tcp::over(stream)).map_err(|error| error.to_string())
        }
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err(silent(within)),
    }
}

#[cfg(feature = "verbs")]
pub(crate) async fn rdma(
    address: SocketAddr,
    within: Duration,
    settings: &smbd_client::Settings,
) -> Result<smbd_client::Rdma, String> {
    let connector = smbd_client::Connector::new(settings.buffers, within);
    let connector = connector.map_err(|error| error.to_string())?;
    match timeout(within, connector.connect(address)).await {
        Ok(connected) => connected.map_err(|failure| failure.to_string()),
        Err(_) => Err(silent(within)),
    }
}
