//! The command line.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Parser;
use smbd_broker::broker::Settings;
use smbd_broker::wire::Limits;

/// Lets SMB servers that fork, and know nothing of RDMA, be reached over SMB Direct: this process owns all connections, and servers attach
/// to it over a Unix socket.
#[derive(Debug, Parser)]
#[command(name = "smbd-broker", version, after_help = HELP)]
pub(crate) struct Options {
    /// Where to listen for SMB Direct: port 5445 on iWARP, 445 on InfiniBand and RoCE. May be given several times
    #[arg(long, required = true, value_name = "ADDR:PORT")]
    pub(crate) listen: Vec<SocketAddr>,
    /// The socket to which servers attach
    #[arg(long, value_name = "PATH", default_value = "/run/smbd-broker/socket")]
    pub(crate) socket: PathBuf,
    /// The permissions of the socket, as octal digits
    #[arg(long, value_name = "MODE", default_value = "600", value_parser = mode)]
    pub(crate) mode: u32,
    /// A user that may attach, as a number. May be given several times. Without it: root, and the user of this process
    #[arg(long, value_name = "UID")]
    pub(crate) allow_uid: Vec<u32>,
    /// The most servers (processes) at one time
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = clap::value_parser!(u16).range(1..=4096))]
    pub(crate) owners: u16,
    /// The most connections of clients at one time; more are refused
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = clap::value_parser!(u16).range(1..=4096))]
    pub(crate) connections: u16,
    /// The most slots of a server
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) slots: u16,
    /// The size of a slot, in KiB: a multiple of 4
    #[arg(long, value_name = "KIB", default_value_t = 1024, value_parser = clap::value_parser!(u32).range(4..=65536))]
    pub(crate) slot_size: u32,
    /// The most memory for the slots of all servers together, in MiB
    #[arg(long, value_name = "MIB", default_value_t = 4096, value_parser = clap::value_parser!(u32).range(1..=1 << 20))]
    pub(crate) memory: u32,
}

const HELP: &str = "\
A server is told of a connection when its client has said whose it is: by the SessionId of a SESSION_SETUP that binds a session, by the
ClientGuid of NEGOTIATE, or because no rule matches and the server takes the rest. While no server is attached, or none would take a
connection, clients are refused. The protocol of the socket is in docs/broker-protocol.md.

Data of READ and WRITE go between the device and memory that is shared with the server; nothing of them is copied here.

Example:
  smbd-broker --listen 10.9.0.1:5445 --socket /run/smbd-broker/socket
  smbd-serve /srv/data --broker /run/smbd-broker/socket --users users

It says on standard output, a line each, who attaches, which connection goes where, and how it ends.
SIGTERM and SIGINT end it, and all connections with it.
Exit status: 0 it was told to end, 1 something failed, 2 wrong usage.";

fn mode(text: &str) -> Result<u32, String> {
    let mode = u32::from_str_radix(text, 8).ok().filter(|mode| *mode <= 0o777);
    mode.ok_or_else(|| "permissions are octal digits up to 777".to_owned())
}

impl Options {
    /// What the broker allows.
    pub(crate) fn settings(&self) -> Result<Settings, String> {
        if !self.slot_size.is_multiple_of(4) {
            return Err(format!("--slot-size: {} is no multiple of 4", self.slot_size));
        }
        let default = Settings::default();
        let limits = Limits { slot_len: self.slot_size << 10, slots_max: self.slots, ..default.limits };
        Ok(Settings {
            limits,
            memory_max: u64::from(self.memory) << 20,
            owners_max: self.owners.into(),
            connections_max: self.connections.into(),
            connections_of_owner_max: self.connections.into(),
            ..default
        })
    }
}
