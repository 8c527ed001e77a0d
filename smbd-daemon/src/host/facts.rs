//! What is known of a host's RDMA. It is only told here: what it means is judged by `check`.

use std::net::{IpAddr, SocketAddr};

/// What is known of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// RDMA devices.
    pub devices: Vec<Device>,
    /// The addresses of RDMA devices; a text if the connection manager cannot be asked.
    pub addresses: Result<Vec<Address>, String>,
    /// Where the program would listen.
    pub listeners: Vec<Listening>,
    /// Memory that devices may use.
    pub memory: Memory,
}

/// An RDMA device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// Its name.
    pub name: String,
    /// The state of each port in the words of the system, such as `ACTIVE`.
    pub port_states: Vec<String>,
}

/// An address of an RDMA device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// The address.
    pub address: IpAddr,
    /// The network interface.
    pub interface: String,
    /// The device's name.
    pub device: String,
    /// What the system says of the interface's speed, in Mbit/s; `None` if it does not know.
    pub speed_mbit: Option<u64>,
}

/// An address and a port to listen at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listening {
    /// Where.
    pub at: SocketAddr,
    /// Whether it can be listened there.
    pub state: PortState,
}

/// Whether it can be listened at a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PortState {
    /// It can be, or the program that runs already does.
    Usable,
    /// Somebody else listens there.
    InUse,
    /// This user may not.
    Forbidden,
    /// For another reason.
    Failed(String),
}

/// Memory that devices may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// Most that a process may have locked, in bytes; `None` if there is no limit.
    pub locked_max: Option<u64>,
    /// The limit does not hold for it (`CAP_IPC_LOCK`).
    pub is_exempt: bool,
    /// Bytes of one connection, at most.
    pub each: u64,
    /// Connections that the program lets in.
    pub connections: u32,
}

/// A mount over SMB Direct.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// Where it is mounted.
    pub folder: String,
    /// Its options.
    pub options: Vec<String>,
}
