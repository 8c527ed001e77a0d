//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use smbd_daemon::options::Common;

use crate::file::STATUS_SOCKET;

/// Lets SMB servers that fork, and know nothing of RDMA, be reached over SMB Direct: this process owns all connections, and servers attach
/// to it over a Unix socket.
#[derive(Debug, Parser)]
#[command(name = "smbd-broker", version, subcommand_required = true, arg_required_else_help = true)]
pub(crate) struct Options {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Run(Run),
    Status(Status),
    /// Prints a configuration file with every key, its default and what it means.
    Config,
    Doctor(Doctor),
}

/// Runs the broker.
///
/// Listens at each address of an RDMA device, as they come and go: port 445 on InfiniBand and RoCE, 5445 on iWARP. Admits clients of the
/// subnets of these addresses.
///
/// A server is told of a connection when its client has said whose it is: by the SessionId of a SESSION_SETUP that binds a session, by the
/// ClientGuid of NEGOTIATE, or because no rule matches and the server takes the rest. While no server is attached, or none would take a
/// connection, clients are refused. The protocol of the socket is in docs/broker-protocol.md.
///
/// Data of READ and WRITE go between the device and memory that is shared with the server; nothing of them is copied here.
///
/// It says on standard output, a line each, who attaches, which connection goes where, and how it ends.
///
/// SIGHUP: reads the configuration again. Connections and servers stay as they are.
///
/// SIGTERM or SIGINT: ends it, and all connections with it. Servers are told by the end of their sockets.
///
/// Exit status: 0 after a signal, 1 if it cannot go on, 2 for wrong usage.
#[derive(Clone, Debug, Default, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Run {
    /// Where to listen, instead of at all addresses of RDMA devices; may be repeated. IPv6 addresses take brackets.
    #[arg(long, value_name = "ADDR:PORT")]
    pub(crate) listen: Vec<String>,
    /// Admits clients of this network, such as 10.9.0.0/16, besides the subnets that are listened on; may be repeated.
    #[arg(long, value_name = "NETWORK")]
    pub(crate) allow: Vec<String>,
    /// The socket to which servers attach.
    #[arg(long, value_name = "PATH")]
    pub(crate) socket: Option<String>,
    /// A user that may attach, as a number; may be repeated. Without any, and without a group: root, and the user of this process.
    #[arg(long, value_name = "UID")]
    pub(crate) allow_uid: Vec<u32>,
    #[command(flatten)]
    pub(crate) common: Common,
}

/// Shows the servers and the connections of a broker that runs.
///
/// On a terminal again and again, otherwise once.
///
/// SLOTS are those that the device uses, of those that the server has. IN and OUT are bytes from and to the client, RDMA among them. BY is
/// the rule that led a connection to its server; taken: the server has its socket from another one.
///
/// Exit status: 0, or 1 if no broker answers.
#[derive(Debug, Args)]
pub(crate) struct Status {
    /// The socket of the broker.
    #[arg(long, value_name = "PATH", default_value = STATUS_SOCKET)]
    pub(crate) socket: PathBuf,
    /// Prints a JSON object, once.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Looks for what keeps clients and servers from the broker, and says what to do about it.
///
/// Looks at RDMA devices, their ports and addresses, at the ports that the broker needs (it listens there for a moment), at limits of the
/// system and at the folder of the socket. It changes nothing. Findings are told with the reason and the cure, what matters most first. Run
/// it as the user that the broker runs as. Where a broker runs already, its limits are looked at.
///
/// Exit status: 0 nothing found, 1 something found, 2 it could not look.
#[derive(Debug, Default, Args)]
pub(crate) struct Doctor {
    /// Prints an array of JSON objects: id, severity (error, warning, advice), what, why, cure.
    #[arg(long)]
    pub(crate) json: bool,
    /// The broker's configuration file, if it has one.
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  smbd-broker run
      at all addresses of this host's RDMA devices, for servers of root and of this user
  smbd-serve /srv/data --broker /run/smbd-broker/socket --users users
      a server, which needs no device
  smbd-broker run --listen 10.9.0.1:5445 --allow 10.0.0.0/8 --socket /run/broker
      one address, clients of other subnets too
  smbd-broker config > broker.toml; smbd-broker run --config broker.toml
      all settings";
