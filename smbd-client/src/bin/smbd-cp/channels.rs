//! Further connections of a session, between the addresses that the server and this host have.

use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::time::Duration;

use smbd_client::{Session, Settings, Share};
use smbd_link::transport::Transport;
use smbd_smb2::client::RegistrationId;
use smbd_smb2::client::{Path, PathKind, paths};
use smbd_smb2::wire::{Capabilities, InterfaceCapabilities, NetworkInterface};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::place::{Place, Scheme};
use crate::reach;

/// Makes as many further connections as `settings` say, as far as the server's interfaces have room for them, and tells what is wrong.
pub(crate) async fn open(
    place: &Place,
    within: Duration,
    settings: &Settings,
    (session, share): (&Session, &Share),
    drivers: &mut Vec<JoinHandle<()>>,
) -> Result<(), String> {
    let remote = timeout(within, share.interfaces()).await.map_err(|_| reach::silent(within))?;
    let remote = remote.map_err(|error| error.to_string())?;
    let mut all = Vec::new();
    // Without RDMA only if nothing can be reached with it.
    for has_rdma in [true, false] {
        if (has_rdma && cfg!(not(feature = "verbs"))) || session.connections().0 > 1 {
            continue;
        }
        let local = local(&remote, |_| has_rdma);
        for path in in_turn(&paths(&local, &remote)) {
            if session.connections().0 >= usize::from(settings.channels) {
                return Ok(());
            }
            if let Err(why) = connect(&path, place, within, settings, session, drivers).await {
                all.push(format!("{}: {why}", path.remote));
            }
        }
    }
    match (session.connections().0, all.is_empty()) {
        (2.., _) => Ok(()),
        (_, true) => Err("the server says no address that this host could reach".into()),
        (_, false) => Err(all.join("; ")),
    }
}

/// Makes a connection over SMB Direct if the server says an address for it that a device of this host reaches, and tells what is wrong.
/// That either of them has no RDMA is not.
pub(crate) async fn look(
    place: &Place,
    within: Duration,
    settings: &Settings,
    (session, share): (&Session, &Share),
    drivers: &mut Vec<JoinHandle<()>>,
) -> Result<(), String> {
    if !share.negotiated().capabilities.contains(Capabilities::MULTI_CHANNEL) {
        return Ok(());
    }
    // A server may have multichannel and tell nobody where.
    let remote = timeout(within, share.interfaces()).await.map_err(|_| reach::silent(within))?;
    let Ok(remote) = remote else { return Ok(()) };
    let mut all = Vec::new();
    let connected = timeout(within, async {
        for path in rdma_paths(&remote, &devices()) {
            match connect(&path, place, within, settings, session, drivers).await {
                Ok(()) => return true,
                Err(why) => all.push(format!("{}: {why}", path.remote)),
            }
        }
        false
    });
    match connected.await {
        Ok(true) => Ok(()),
        Ok(false) if all.is_empty() => Ok(()),
        Ok(false) => Err(all.join("; ")),
        Err(_) => Err(reach::silent(within)),
    }
}

/// Paths over SMB Direct between addresses of a server and those of devices of this host (3.2.5.14.11).
fn rdma_paths(remote: &[NetworkInterface], devices: &[IpAddr]) -> Vec<Path> {
    let mut paths = paths(&local(remote, |address| devices.contains(&address)), remote);
    paths.retain(|path| path.kind == PathKind::Rdma);
    paths
}

/// The addresses of RDMA devices.
#[cfg(feature = "verbs")]
fn devices() -> Vec<IpAddr> {
    let found = smbd_verbs::device_addresses().unwrap_or_default();
    found.into_iter().map(|device| device.address).collect()
}

#[cfg(not(feature = "verbs"))]
const fn devices() -> Vec<IpAddr> {
    Vec::new()
}

/// Each path as often as connections are made between its addresses, one after the other.
fn in_turn(paths: &[Path]) -> Vec<Path> {
    let most = paths.iter().map(|path| path.kind.connections()).max().unwrap_or(0);
    let round = |number| paths.iter().filter(move |path| number < path.kind.connections()).copied();
    (0..most).flat_map(round).collect()
}

/// The addresses from which this host reaches those of the server.
fn local(remote: &[NetworkInterface], has_rdma: impl Fn(IpAddr) -> bool) -> Vec<NetworkInterface> {
    let mut addresses: Vec<IpAddr> = Vec::new();
    for address in remote.iter().filter_map(|interface| interface.address).filter_map(from) {
        if !addresses.contains(&address) {
            addresses.push(address);
        }
    }
    let (rss, rdma) = (InterfaceCapabilities::RSS_CAPABLE, InterfaceCapabilities::RDMA_CAPABLE);
    let interface = |(address, index)| NetworkInterface {
        index,
        capabilities: rss.with(rdma, has_rdma(address)),
        link_speed: u64::MAX,
        address: Some(address),
    };
    addresses.into_iter().zip(1..).map(interface).collect()
}

/// From where the system would send to an address. Nothing is sent.
fn from(to: IpAddr) -> Option<IpAddr> {
    let any: IpAddr = if to.is_ipv4() { [0; 4].into() } else { [0_u16; 8].into() };
    let socket = UdpSocket::bind((any, 0)).ok()?;
    socket.connect((to, reach::PORT)).ok()?;
    Some(socket.local_addr().ok()?.ip())
}

async fn connect(
    path: &Path,
    place: &Place,
    within: Duration,
    #[cfg_attr(not(feature = "verbs"), expect(unused_variables, reason = "only RDMA has buffers"))]
    settings: &Settings,
    session: &Session,
    drivers: &mut Vec<JoinHandle<()>>,
) -> Result<(), String> {
    match path.kind {
        #[cfg(feature = "verbs")]
        PathKind::Rdma => {
            let port = place.port.filter(|_| place.scheme == Scheme::Rdma);
            let ports = port.map_or(smbd_client::DEFAULT_PORTS.to_vec(), |port| vec![port]);
            let mut all = Vec::new();
            for port in ports {
                match reach::rdma(SocketAddr::new(path.remote, port), within, settings).await {
                    Ok(transport) => return bind(transport, within, session, drivers).await,
                    Err(why) => all.push(why),
                }
            }
            Err(all.join("; "))
        }
        #[cfg(not(feature = "verbs"))]
        PathKind::Rdma => Err(crate::place::NO_RDMA.into()),
        PathKind::Tcp | PathKind::Rss => {
            let port = place.port.filter(|_| place.scheme == Scheme::Smb).unwrap_or(reach::PORT);
            bind(reach::tcp(SocketAddr::new(path.remote, port), within).await?, within, session, drivers)
                .await
        }
    }
}

async fn bind(
    transport: impl Transport<RegistrationId> + Send + 'static,
    within: Duration,
    session: &Session,
    drivers: &mut Vec<JoinHandle<()>>,
) -> Result<(), String> {
    let (channel, driver) = session.channel(transport).map_err(|error| error.to_string())?;
    drivers.push(tokio::spawn(driver));
    match timeout(within, channel.bind()).await {
        Ok(bound) => bound.map_err(|error| format!("the session cannot be bound: {error}")),
        Err(_) => Err(reach::silent(within)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_path_has_a_connection_before_one_has_its_second() {
        let path = |last, kind| {
            let address = IpAddr::from([10, 0, 0, last]);
            Path { local: address, remote: address, kind, link_speed: 1 }
        };
        let turns = in_turn(&[path(1, PathKind::Rdma), path(2, PathKind::Tcp), path(3, PathKind::Rdma)]);
        let order: Vec<_> = turns.iter().map(|path| path.remote.to_string()).collect();
        assert_eq!(order, ["10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.1", "10.0.0.3"]);
    }

    #[test]
    fn rdma_is_looked_for_where_the_server_and_a_device_of_this_host_have_it() {
        let interface = |text: &str, can| NetworkInterface {
            index: 1,
            capabilities: InterfaceCapabilities::RSS_CAPABLE.with(InterfaceCapabilities::RDMA_CAPABLE, can),
            link_speed: 1,
            address: Some(text.parse().unwrap()),
        };
        let own = [IpAddr::from([127, 0, 0, 1])];
        let kinds = |remote: &[NetworkInterface], devices: &[IpAddr]| -> Vec<_> {
            rdma_paths(remote, devices).iter().map(|path| (path.kind, path.remote)).collect()
        };
        let both = [interface("127.0.0.2", false), interface("127.0.0.1", true)];
        assert_eq!(kinds(&both, &own), [(PathKind::Rdma, own[0])]);
        assert_eq!(kinds(&both, &[]), []);
        assert_eq!(kinds(&[interface("127.0.0.1", false)], &own), []);
        assert_eq!(kinds(&[], &own), []);
    }

    #[test]
    fn an_address_of_this_host_is_reached_from_itself_and_once() {
        let interface = |text: &str, index| NetworkInterface {
            index,
            capabilities: InterfaceCapabilities::NONE,
            link_speed: 1,
            address: Some(text.parse().unwrap()),
        };
        let remote = [interface("127.0.0.1", 1), interface("127.0.0.1", 2)];
        let local = local(&remote, |_| true);
        assert_eq!(local.len(), 1);
        assert_eq!((local[0].address, local[0].index), (remote[0].address, 1));
        assert!(local[0].capabilities.contains(InterfaceCapabilities::RDMA_CAPABLE));
        assert_eq!(paths(&local, &remote).len(), 2);
    }
}
