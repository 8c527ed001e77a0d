//! What is known of this host. It is only told here: what it means is judged by `check`.

use std::net::SocketAddr;
use std::path::PathBuf;

use smbd_daemon::host::{self, Mount};

use super::smb_conf::SmbConf;

/// What is known of this host.
#[derive(Clone, Debug)]
pub(crate) struct Facts {
    /// Devices, their addresses, ports and memory.
    pub(crate) host: host::Facts,
    /// Who has them, if it is not this gateway.
    pub(crate) broker: Option<Broker>,
    pub(crate) servers: Vec<Server>,
    /// The longest RDMA operation that the gateway takes, in bytes.
    pub(crate) max_read_write_size: u32,
    /// ksmbd is running.
    pub(crate) has_ksmbd: bool,
    /// What this host has mounted over SMB Direct itself.
    pub(crate) mounts: Vec<Mount>,
    /// The file of Samba's settings, and what is in it; `None` if there is none.
    pub(crate) samba: Option<(PathBuf, SmbConf)>,
}

/// The broker that gives the gateway its clients.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Broker {
    pub(crate) path: PathBuf,
    /// Whether its socket takes this user; a text if it does not.
    pub(crate) answer: Result<(), String>,
}

/// An SMB server behind the gateway.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    /// It sees the addresses of clients (`transparent`).
    pub(crate) is_transparent: bool,
    /// Whether it accepts connections; a text if it does not.
    pub(crate) answer: Result<(), String>,
}

#[cfg(test)]
pub(crate) mod sound {
    use std::path::Path;

    use smbd_daemon::host::{Address, Device, Listening, Memory, PortState};

    use super::*;

    /// A host on which nothing keeps clients from RDMA.
    pub(crate) fn facts() -> Facts {
        let address = |address: &str| Address {
            address: address.parse().unwrap(),
            interface: "eth0".into(),
            device: "mlx5_0".into(),
            speed_mbit: Some(100_000),
        };
        let host = host::Facts {
            devices: vec![Device {
                name: "mlx5_0".into(),
                port_states: vec!["ACTIVE".into(), "DOWN".into()],
            }],
            addresses: Ok(vec![address("10.9.0.1"), address("fd09::1")]),
            listeners: vec![Listening { at: "10.9.0.1:445".parse().unwrap(), state: PortState::Usable }],
            memory: Memory { locked_max: None, is_exempt: false, each: 5 << 20, connections: 256 },
        };
        let facts = Facts {
            host,
            broker: None,
            servers: vec![Server {
                address: "127.0.0.1:445".parse().unwrap(),
                is_transparent: false,
                answer: Ok(()),
            }],
            max_read_write_size: 8 << 20,
            has_ksmbd: false,
            mounts: vec![],
            samba: None,
        };
        with_samba(
            facts,
            "[global]\ninterfaces = lo \"eth0;capability=RDMA,speed=100000000000\"\n[data]\npath = /data\n",
        )
    }

    /// The same host with these settings of Samba.
    pub(crate) fn with_samba(facts: Facts, text: &str) -> Facts {
        let path = Path::new("/etc/samba/smb.conf");
        let conf = SmbConf::parse(path, text, &mut |_| Err(std::io::ErrorKind::NotFound.into()));
        Facts { samba: Some((path.into(), conf)), ..facts }
    }

    /// The sound host with lines more in `[global]`.
    pub(crate) fn with_global(lines: &str) -> Facts {
        let sound = "interfaces = lo \"eth0;capability=RDMA,speed=100000000000\"";
        with_samba(facts(), &format!("[global]\n{sound}\n{lines}\n"))
    }
}
