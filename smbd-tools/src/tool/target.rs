//! An address on a command line.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::str::FromStr;

use thiserror::Error;

/// `ADDR` or `ADDR:PORT`: a name, an IPv4 address, or an IPv6 address, which takes brackets before a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    host: String,
    /// The port, if one was given.
    pub port: Option<u16>,
}

/// A text that is not an address.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TargetError {
    /// No host.
    #[error("no address; write ADDR or ADDR:PORT, such as 10.9.0.1:5445 or [fd09::1]:445")]
    Empty,
    /// The port is not a number from 1 to 65,535.
    #[error("'{0}' is no port; ports are 1 to 65535")]
    Port(String),
    /// The name has no address.
    #[error("{host} has no address: {why}")]
    Unknown {
        /// The name.
        host: String,
        /// The error of the system.
        why: String,
    },
}

impl FromStr for Target {
    type Err = TargetError;

    fn from_str(text: &str) -> Result<Self, TargetError> {
        let (host, port) = if let Some(rest) = text.strip_prefix('[') {
            let (host, behind) = rest.split_once(']').ok_or(TargetError::Empty)?;
            (host, behind.strip_prefix(':'))
        } else if text.parse::<Ipv6Addr>().is_ok() {
            (text, None)
        } else {
            text.rsplit_once(':').map_or((text, None), |(host, port)| (host, Some(port)))
        };
        if host.is_empty() {
            return Err(TargetError::Empty);
        }
        let port = match port {
            None => None,
            Some(port) => match port.parse() {
                Ok(0) | Err(_) => return Err(TargetError::Port(port.to_owned())),
                Ok(port) => Some(port),
            },
        };
        Ok(Self { host: host.to_owned(), port })
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.host.contains(':'), self.port) {
            (true, Some(port)) => write!(f, "[{}]:{port}", self.host),
            (false, Some(port)) => write!(f, "{}:{port}", self.host),
            (_, None) => f.write_str(&self.host),
        }
    }
}

impl Target {
    /// The first address of the host. Blocks until the system has resolved the name.
    ///
    /// # Errors
    /// The name has no address.
    pub fn resolve(&self) -> Result<IpAddr, TargetError> {
        let unknown = |why: String| TargetError::Unknown { host: self.host.clone(), why };
        let mut found =
            (self.host.as_str(), 0).to_socket_addrs().map_err(|error| unknown(error.to_string()))?;
        found.next().map(|address| address.ip()).ok_or_else(|| unknown("nothing found".into()))
    }

    /// Address and port; `port` if none was given.
    ///
    /// # Errors
    /// As [`resolve`](Self::resolve).
    pub fn at(&self, port: u16) -> Result<SocketAddr, TargetError> {
        Ok(SocketAddr::new(self.resolve()?, self.port.unwrap_or(port)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_with_and_without_a_port() {
        for (text, host, port) in [
            ("10.9.0.1", "10.9.0.1", None),
            ("10.9.0.1:5445", "10.9.0.1", Some(5445)),
            ("fd09::1", "fd09::1", None),
            ("[fd09::1]:445", "fd09::1", Some(445)),
            ("[fd09::1]", "fd09::1", None),
            ("server", "server", None),
            ("server:445", "server", Some(445)),
        ] {
            assert_eq!(text.parse(), Ok(Target { host: host.into(), port }), "{text}");
        }
        assert_eq!("[fd09::1]:445".parse::<Target>().expect("valid").to_string(), "[fd09::1]:445");
    }

    #[test]
    fn what_is_no_address_is_said() {
        for wrong in ["", ":445", "[fd09::1"] {
            assert_eq!(wrong.parse::<Target>(), Err(TargetError::Empty), "{wrong}");
        }
        for port in ["0", "65536", "x", ""] {
            assert_eq!(format!("a:{port}").parse::<Target>(), Err(TargetError::Port(port.into())));
        }
    }
}
