//! Looks at this host. What it cannot see is left out or told as a text; nothing is judged here.

mod port;
mod system;

use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use smbd_verbs::{device_addresses, footprint, port_of};

use super::facts::{Address, Facts, Listening, Memory, Server};
use super::smb_conf::SmbConf;
use crate::settings::Settings;
use port::Known;

/// The time that a server has to accept a connection.
const CONNECT_WITHIN: Duration = Duration::from_secs(3);

/// Looks at all of it. A gateway that runs already is what is looked at where there is a difference: its limits, its ports.
pub(super) fn look(settings: &Settings, samba: Option<(PathBuf, SmbConf)>) -> Facts {
    let root = Path::new("/");
    let running = system::running_gateway(root);
    let found = device_addresses().map_err(|error| error.to_string());
    let wanted: Vec<SocketAddr> = if settings.listeners.is_empty() {
        let found = found.iter().flatten();
        found.map(|found| SocketAddr::new(found.address, port_of(found.link_type))).collect()
    } else {
        settings.listeners.iter().map(|listener| listener.address).collect()
    };
    let ask_port = |at: SocketAddr| {
        let is_of_device = found.iter().flatten().any(|found| found.address == at.ip());
        Listening { at, state: port::state(at, Known { has_gateway: running.is_some(), is_of_device }) }
    };
    let listeners = wanted.into_iter().map(ask_port).collect();
    let addresses = found.map(|found| {
        let known = found.into_iter().map(|found| Address {
            address: found.address,
            speed_mbit: system::speed_mbit(root, &found.interface),
            interface: found.interface,
            device: found.device,
        });
        known.collect()
    });
    let (locked_max, is_exempt) = system::locked_memory(root, running.as_deref().unwrap_or("self"));
    let relay = u64::from(settings.relay.budget).saturating_mul(2);
    Facts {
        devices: system::devices(root),
        addresses,
        listeners,
        servers: servers(settings).into_iter().map(ask).collect(),
        memory: Memory {
            locked_max,
            is_exempt,
            each: footprint(&settings.config).saturating_add(relay),
            connections: settings.connections,
        },
        max_read_write_size: settings.config.max_read_write_size,
        has_ksmbd: system::has_ksmbd(root),
        mounts: system::mounts(root),
        samba,
    }
}

/// The servers behind the gateway.
pub(super) fn servers(settings: &Settings) -> Vec<SocketAddr> {
    let mut servers = settings.servers.clone();
    servers.extend(settings.listeners.iter().flat_map(|listener| listener.servers.iter().copied()));
    servers.sort_unstable();
    servers.dedup();
    servers
}

fn ask(address: SocketAddr) -> Server {
    let answer = TcpStream::connect_timeout(&address, CONNECT_WITHIN).map(drop);
    Server { address, answer: answer.map_err(|error| error.to_string()) }
}
