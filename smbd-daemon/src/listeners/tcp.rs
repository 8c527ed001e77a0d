//! Listeners over TCP.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use socket2::{SockRef, TcpKeepalive};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::task::JoinHandle;

use super::{Routes, Service, admit, failed};
use crate::places::Over;
use crate::trouble::Unopened;

/// Clients that may wait to be accepted.
const BACKLOG: u32 = 1024;
/// How long a client may take nothing of what is sent, and how long it may be silent before it is asked.
const SILENT_MAX: Duration = Duration::from_secs(60);

/// Listens at an address, in a task that it returns.
pub(super) fn listen<S: Service>(
    address: SocketAddr,
    routes: Routes<S>,
    service: Arc<S>,
) -> Result<(SocketAddr, JoinHandle<()>), Unopened> {
    let listener = bind(address)?;
    let at = listener.local_addr()?;
    Ok((at, tokio::spawn(accept(listener, routes, service))))
}

fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    // Connections of a server that has just ended do not keep it from its port.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Whether this host has an address, at some port: a server that runs has the one that is meant.
///
/// # Errors
/// Why nothing can listen there, with what to check.
pub fn can_listen(address: SocketAddr) -> Result<(), Unopened> {
    std::net::TcpListener::bind((address.ip(), 0))?;
    Ok(())
}

async fn accept<S: Service>(listener: TcpListener, routes: Routes<S>, service: Arc<S>) {
    loop {
        let (stream, client) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                failed(service.core().log(), Over::Tcp, error).await;
                continue;
            }
        };
        // Dropped, the connection ends.
        let Some((pass, target)) = admit(&*service, &routes, client) else { continue };
        match prepare(&stream) {
            Ok(()) => service.serve_tcp(stream, client, pass, target),
            Err(error) => {
                service
                    .core()
                    .log()
                    .warning("client failed")
                    .with("client", client)
                    .with("why", error)
                    .write();
            }
        }
    }
}

/// Messages leave at once, and a client that vanishes or takes nothing is found out.
fn prepare(stream: &TcpStream) -> io::Result<()> {
    let socket = SockRef::from(stream);
    socket.set_tcp_keepalive(&TcpKeepalive::new().with_time(SILENT_MAX).with_interval(SILENT_MAX / 4))?;
    socket.set_tcp_user_timeout(Some(SILENT_MAX))?;
    stream.set_nodelay(true)
}
