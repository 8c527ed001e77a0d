//! Listeners over TCP and, with the feature `verbs`, SMB Direct.

use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use smbd_link::tcp::Tcp;
use socket2::{SockRef, TcpKeepalive};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use crate::accept::{Accept, take};
use crate::broker::FromBroker;
use crate::clients::Clients;
use crate::fork::{Forking, Program};
use crate::listen::Addresses;
use crate::log::{line, warning};
use crate::trouble::Trouble;

/// How long a client may take nothing of what is sent, and how long it may be silent before it is asked.
const SILENT_MAX: Duration = Duration::from_secs(60);
/// The longest message that a client may send over TCP, in bytes: a WRITE of 8 MiB and what is around it.
const TCP_MAX: u32 = (8 << 20) + 4096;

/// Listens at all addresses, and takes what comes from a broker, in processes of their own if there is a program for them. Dropping what it returns ends that.
pub(crate) async fn open(
    addresses: &Addresses,
    broker: Option<(FromBroker, Option<Program>)>,
    clients: &Clients,
) -> Result<JoinSet<()>, Trouble> {
    let mut listeners = JoinSet::new();
    match broker {
        Some((broker, None)) => drop(listeners.spawn(take(broker, "broker", clients.clone()))),
        Some((broker, Some(program))) => {
            drop(listeners.spawn(take(Forking::new(broker, program), "broker", clients.clone())));
        }
        None => {}
    }
    for address in &addresses.tcp {
        let listener = TcpListener::bind(address).await;
        let listener = listener.map_err(|error| cannot_listen(*address, &error))?;
        told(listener.local_addr().unwrap_or(*address), "tcp");
        listeners.spawn(take(listener, "tcp", clients.clone()));
    }
    #[cfg(not(feature = "verbs"))]
    without_rdma(addresses)?;
    #[cfg(feature = "verbs")]
    for address in &addresses.rdma {
        let listener = super::rdma::bind(*address)?;
        told(*address, "rdma");
        listeners.spawn(take(listener, "rdma", clients.clone()));
    }
    Ok(listeners)
}

#[cfg(not(feature = "verbs"))]
fn without_rdma(addresses: &Addresses) -> Result<(), Trouble> {
    let why = "this smbd-serve was built without RDMA (feature verbs)";
    let address = addresses.rdma.first();
    address.map_or(Ok(()), |address| Err(Trouble::Usage(format!("--listen rdma:{address}: {why}"))))
}

/// Whether this host has the addresses. Ports are not looked at: a server that runs has them.
pub(crate) fn check(addresses: &Addresses, devices: &[(IpAddr, Option<u16>)]) -> Result<(), Trouble> {
    for address in &addresses.tcp {
        let bound = std::net::TcpListener::bind((address.ip(), 0));
        bound.map_err(|error| cannot_listen(*address, &error))?;
    }
    #[cfg(not(feature = "verbs"))]
    without_rdma(addresses)?;
    let is_there = |ip: IpAddr| ip.is_unspecified() || devices.iter().any(|(device, _)| *device == ip);
    match addresses.rdma.iter().find(|address| !is_there(address.ip())) {
        Some(address) => Err(Trouble::Usage(format!(
            "--listen rdma:{address}: no RDMA device has the address: `rdma link` shows devices"
        ))),
        None => Ok(()),
    }
}

/// What is told of an address that cannot be listened at, with what to do about it.
fn cannot_listen(address: SocketAddr, error: &io::Error) -> Trouble {
    let cure = match error.kind() {
        ErrorKind::PermissionDenied => {
            "; ports below 1024 are for root and who has CAP_NET_BIND_SERVICE: take another, or give it that"
        }
        ErrorKind::AddrInUse => "; another program listens there: end it, or take another port",
        ErrorKind::AddrNotAvailable => {
            "; no interface of this host has the address: `ip address` shows those"
        }
        _ => "",
    };
    Trouble::failed(format_args!("--listen tcp:{address}"), format_args!("{error}{cure}"))
}

fn told(address: SocketAddr, over: &str) {
    line("listening").with("address", address).with("over", over).write();
}

impl Accept for TcpListener {
    type Incoming = (TcpStream, SocketAddr);

    async fn accept(&mut self) -> Result<Self::Incoming, String> {
        Self::accept(self).await.map_err(|error| error.to_string())
    }

    fn serve(&self, (stream, client): Self::Incoming, clients: &Clients, tasks: &mut JoinSet<()>) {
        let Some(place) = clients.enter(client, "tcp") else { return };
        match link(stream) {
            Ok(link) => drop(tasks.spawn(clients.clone().serve(client, "tcp", link, place))),
            Err(error) => warning("client failed").with("client", client).with("why", error).write(),
        }
    }
}

/// A client that vanishes or takes nothing is found out.
fn link(stream: TcpStream) -> io::Result<Tcp<TcpStream>> {
    let socket = SockRef::from(&stream);
    let interval = SILENT_MAX / 4;
    socket.set_tcp_keepalive(&TcpKeepalive::new().with_time(SILENT_MAX).with_interval(interval))?;
    socket.set_tcp_user_timeout(Some(SILENT_MAX))?;
    // Messages leave at once.
    stream.set_nodelay(true)?;
    Ok(Tcp::over(stream).receiving(TCP_MAX))
}
