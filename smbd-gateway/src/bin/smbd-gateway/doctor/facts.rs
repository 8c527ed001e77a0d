//! What is known of this host. It is only told here: what it means is judged by `check`.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use super::smb_conf::SmbConf;

/// What is known of this host.
#[derive(Clone, Debug)]
pub(crate) struct Facts {
    pub(crate) devices: Vec<Device>,
    /// The addresses of RDMA devices; a text if the connection manager cannot be asked.
    pub(crate) addresses: Result<Vec<Address>, String>,
    /// Where the gateway would listen.
    pub(crate) listeners: Vec<Listening>,
    pub(crate) servers: Vec<Server>,
    pub(crate) memory: Memory,
    /// The longest RDMA operation that the gateway takes, in bytes.
    pub(crate) max_read_write_size: u32,
    /// ksmbd is running.
    pub(crate) has_ksmbd: bool,
    /// What this host has mounted over SMB Direct itself.
    pub(crate) mounts: Vec<Mount>,
    /// The file of Samba's settings, and what is in it; `None` if there is none.
    pub(crate) samba: Option<(PathBuf, SmbConf)>,
}

/// An RDMA device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Device {
    pub(crate) name: String,
    /// The state of each port in the words of the system, such as `ACTIVE`.
    pub(crate) port_states: Vec<String>,
}

/// An address of an RDMA device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    pub(crate) address: IpAddr,
    pub(crate) interface: String,
    pub(crate) device: String,
    /// What the system says of the interface's speed, in Mbit/s; `None` if it does not know.
    pub(crate) speed_mbit: Option<u64>,
}

/// An address and a port to listen at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Listening {
    pub(crate) at: SocketAddr,
    pub(crate) state: PortState,
}

/// Whether it can be listened at a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PortState {
    /// It can be, or a gateway that runs already does.
    Usable,
    InUse,
    Forbidden,
    /// For another reason.
    Failed(String),
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

/// Memory that devices may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Memory {
    /// Most that a process may have locked, in bytes; `None` if there is no limit.
    pub(crate) locked_max: Option<u64>,
    /// The limit does not hold for it (`CAP_IPC_LOCK`).
    pub(crate) is_exempt: bool,
    /// Bytes of one connection, at most.
    pub(crate) each: u64,
    /// Connections that the gateway lets in.
    pub(crate) connections: u32,
}

/// A mount over SMB Direct.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mount {
    pub(crate) folder: String,
    pub(crate) options: Vec<String>,
}

#[cfg(test)]
pub(crate) mod sound {
    use std::path::Path;

    use super::*;

    /// A host on which nothing keeps clients from RDMA.
    pub(crate) fn facts() -> Facts {
        let address = |address: &str| Address {
            address: address.parse().unwrap(),
            interface: "eth0".into(),
            device: "mlx5_0".into(),
            speed_mbit: Some(100_000),
        };
        let facts = Facts {
            devices: vec![Device {
                name: "mlx5_0".into(),
                port_states: vec!["ACTIVE".into(), "DOWN".into()],
            }],
            addresses: Ok(vec![address("10.9.0.1"), address("fd09::1")]),
            listeners: vec![Listening { at: "10.9.0.1:445".parse().unwrap(), state: PortState::Usable }],
            servers: vec![Server {
                address: "127.0.0.1:445".parse().unwrap(),
                is_transparent: false,
                answer: Ok(()),
            }],
            memory: Memory { locked_max: None, is_exempt: false, each: 5 << 20, connections: 256 },
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
