//! Looks at this host. What it cannot see is left out or told as a text; nothing is judged here.

mod port;
mod system;

use std::collections::BTreeSet;
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use smbd_verbs::{device_addresses, port_of};

use super::facts::{Address, Facts, Listening, Memory, Server};
use super::smb_conf::SmbConf;
use crate::backends::{Backend, Found, wanted};
use crate::settings::Settings;
use port::Known;

/// The time that a server has to accept a connection.
const CONNECT_WITHIN: Duration = Duration::from_secs(3);

/// Looks at all of it. A gateway that runs already is what is looked at where there is a difference: its limits, its ports.
pub(super) fn look(settings: &Settings, samba: Option<(PathBuf, SmbConf)>) -> Facts {
    let root = Path::new("/");
    let running = system::running_gateway(root);
    let found = device_addresses().map_err(|error| error.to_string());
    let known: Vec<Found> = found
        .iter()
        .flatten()
        .map(|known| Found {
            address: known.address,
            device: known.device.clone(),
            interface: known.interface.clone(),
            port: port_of(known.link_type),
        })
        .collect();
    let ask_port = |at: SocketAddr| {
        let is_of_device = found.iter().flatten().any(|found| found.address == at.ip());
        Listening { at, state: port::state(at, Known { has_gateway: running.is_some(), is_of_device }) }
    };
    let listeners = wanted(&settings.listeners, &known).into_keys().map(ask_port).collect();
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
    Facts {
        devices: system::devices(root),
        addresses,
        listeners,
        servers: servers(settings).into_iter().map(ask).collect(),
        memory: Memory { locked_max, is_exempt, each: settings.locked, connections: settings.connections },
        max_read_write_size: settings.config.max_read_write_size,
        has_ksmbd: system::has_ksmbd(root),
        mounts: system::mounts(root),
        samba,
    }
}

/// The servers behind the gateway, and whether they see the addresses of clients.
pub(super) fn servers(settings: &Settings) -> BTreeSet<(SocketAddr, bool)> {
    let backends = settings.listeners.iter().map(|rule| &rule.backend);
    let of = |backend: &Arc<Backend>| {
        let is_transparent = backend.transparent;
        let servers = backend.servers.clone();
        servers.into_iter().map(move |server| (server, is_transparent))
    };
    backends.flat_map(of).collect()
}

fn ask((address, is_transparent): (SocketAddr, bool)) -> Server {
    let answer = TcpStream::connect_timeout(&address, CONNECT_WITHIN).map(drop);
    Server { address, is_transparent, answer: answer.map_err(|error| error.to_string()) }
}
