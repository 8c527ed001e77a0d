//! Where is listened, as it is written and as it is meant.

use std::net::SocketAddr;
use std::str::FromStr;

use thiserror::Error;

/// What is listened for at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Listen {
    /// TCP and, if a device has the address, SMB Direct.
    Both(SocketAddr),
    Tcp(SocketAddr),
    Rdma(SocketAddr),
}

/// An address that is none.
#[derive(Debug, PartialEq, Eq, Error)]
#[error("{0:?} is no ADDR:PORT, such as 10.9.0.1:445 or [fd00::1]:445")]
pub(crate) struct NoListen(String);

impl FromStr for Listen {
    type Err = NoListen;

    fn from_str(text: &str) -> Result<Self, NoListen> {
        let address = |text: &str| text.parse().map_err(|_| NoListen(text.to_owned()));
        if let Some(text) = text.strip_prefix("tcp:") {
            return address(text).map(Self::Tcp);
        }
        if let Some(text) = text.strip_prefix("rdma:") {
            return address(text).map(Self::Rdma);
        }
        address(text).map(Self::Both)
    }
}

/// Addresses of both kinds.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Addresses {
    pub(crate) tcp: Vec<SocketAddr>,
    pub(crate) rdma: Vec<SocketAddr>,
}

/// What is listened on. `devices` are addresses of RDMA devices with the port of SMB Direct if that has one of its own.
pub(crate) fn addresses(listens: &[Listen], devices: &[(std::net::IpAddr, Option<u16>)]) -> Addresses {
    let mut addresses = Addresses::default();
    for listen in listens {
        match *listen {
            Listen::Tcp(address) => addresses.tcp.push(address),
            Listen::Rdma(address) => addresses.rdma.push(address),
            Listen::Both(address) => {
                let of_address = |(ip, _): &&(std::net::IpAddr, Option<u16>)| {
                    *ip == address.ip()
                        || (address.ip().is_unspecified() && ip.is_ipv4() == address.is_ipv4())
                };
                let found: Vec<_> = devices
                    .iter()
                    .filter(of_address)
                    .map(|(ip, port)| SocketAddr::new(*ip, port.unwrap_or(address.port())))
                    .collect();
                // There TCP has no such port left.
                let is_taken =
                    devices.iter().filter(of_address).any(|(_, port)| *port == Some(address.port()));
                if !is_taken {
                    addresses.tcp.push(address);
                }
                addresses.rdma.extend(found);
            }
        }
    }
    addresses
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(listen: &str, devices: &[(&str, Option<u16>)]) -> (Vec<String>, Vec<String>) {
        let devices: Vec<_> = devices.iter().map(|(ip, port)| (ip.parse().unwrap(), *port)).collect();
        let Addresses { tcp, rdma } = addresses(&[listen.parse().unwrap()], &devices);
        let texts = |addresses: Vec<SocketAddr>| addresses.iter().map(ToString::to_string).collect();
        (texts(tcp), texts(rdma))
    }

    fn texts(tcp: &[&str], rdma: &[&str]) -> (Vec<String>, Vec<String>) {
        let texts = |texts: &[&str]| texts.iter().map(ToString::to_string).collect();
        (texts(tcp), texts(rdma))
    }

    #[test]
    fn smb_direct_is_at_the_same_port_unless_that_is_a_port_of_tcp_on_this_device() {
        let (roce, iwarp) = (("10.9.0.1", None), ("10.9.0.2", Some(5445)));
        let devices = [roce, iwarp];
        assert_eq!(of("10.9.0.1:445", &devices), texts(&["10.9.0.1:445"], &["10.9.0.1:445"]));
        assert_eq!(of("10.9.0.2:445", &devices), texts(&["10.9.0.2:445"], &["10.9.0.2:5445"]));
        assert_eq!(of("10.9.0.2:5445", &devices), texts(&[], &["10.9.0.2:5445"]));
        assert_eq!(of("10.9.0.3:445", &devices), texts(&["10.9.0.3:445"], &[]));
        assert_eq!(of("0.0.0.0:445", &devices), texts(&["0.0.0.0:445"], &["10.9.0.1:445", "10.9.0.2:5445"]));
        assert_eq!(of("tcp:10.9.0.1:445", &devices), texts(&["10.9.0.1:445"], &[]));
    }

    #[test]
    fn an_address_without_a_port_is_none() {
        for text in ["10.9.0.1", "host:445", "udp:10.9.0.1:445", ""] {
            assert_eq!(text.parse::<Listen>(), Err(NoListen(text.replace("rdma:", ""))), "{text}");
        }
    }
}
