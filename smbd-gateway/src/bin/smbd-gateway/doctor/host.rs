//! Looks at this host. What it cannot see is left out or told as a text; nothing is judged here.

use std::collections::BTreeSet;
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use smbd_daemon::host::{self, Subject};

use super::facts::{Broker, Facts, Server};
use super::smb_conf::SmbConf;
use crate::backends::Backend;
use crate::settings::Settings;

/// The time that a server has to accept a connection.
const CONNECT_WITHIN: Duration = Duration::from_secs(3);

/// Looks at all of it. A gateway that runs already is what is looked at where there is a difference: its limits, its ports.
pub(super) fn look(settings: &Settings, samba: Option<(PathBuf, SmbConf)>) -> Facts {
    let subject =
        Subject { process: crate::PROGRAM, each: settings.locked, connections: settings.basics.connections };
    Facts {
        host: host::look(subject, &settings.listeners),
        broker: settings.broker.as_ref().map(|broker| attach(&broker.path)),
        servers: servers(settings).into_iter().map(ask).collect(),
        max_read_write_size: settings.config.max_read_write_size,
        has_ksmbd: host::has_ksmbd(),
        mounts: host::mounts(),
        samba,
    }
}

/// Opens the socket of a broker, and does not become an owner.
fn attach(path: &Path) -> Broker {
    let answer = smbd_broker::socket::connect(path).map(drop);
    Broker { path: path.to_owned(), answer: answer.map_err(|error| error.to_string()) }
}

/// The servers behind the gateway, and whether they see the addresses of clients.
pub(super) fn servers(settings: &Settings) -> BTreeSet<(SocketAddr, bool)> {
    let backends = settings.backends();
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
