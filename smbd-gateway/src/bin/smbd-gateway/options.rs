//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use smbd_daemon::options::Common;

use crate::file::STATUS_SOCKET;
use crate::reverse::Reverse;

/// Lets an SMB server that knows TCP only be reached over SMB Direct (RDMA). The server stays as it is.
#[derive(Debug, Parser)]
#[command(name = "smbd-gateway", version, subcommand_required = true, arg_required_else_help = true)]
pub(crate) struct Options {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Run(Run),
    Status(Status),
    // Its texts are those of its options.
    Reverse(Reverse),
    /// Prints a configuration file with every key, its default and what it means.
    Config,
    Doctor(Doctor),
}

/// Runs the gateway.
///
/// Listens at each address of an RDMA device, as they come and go: port 445 on InfiniBand and RoCE, 5445 on iWARP. Admits
/// clients of the subnets of these addresses. `rdma link` lists the devices of this host. Writes a line for each client
/// that comes and goes to standard output.
///
/// SIGHUP: reads the configuration again. Connections stay as they are.
///
/// SIGTERM or SIGINT: takes no more clients, waits until no request of the others waits for its answer, and ends. A second one
/// ends it at once.
///
/// Exit status: 0 after a signal, 1 if it cannot go on, 2 for wrong usage.
#[derive(Clone, Debug, Default, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Run {
    /// The SMB server; may be repeated: each connection tries them in this order. The port is 445 unless given.
    #[arg(long, value_name = "ADDR[:PORT]")]
    pub(crate) server: Vec<String>,
    /// Where to listen, instead of at all addresses of RDMA devices; may be repeated. IPv6 addresses take brackets.
    #[arg(long, value_name = "ADDR:PORT")]
    pub(crate) listen: Vec<String>,
    /// The socket of `smbd-broker`: clients come from there, and no device is needed here. The broker says whom it admits.
    #[arg(long, value_name = "SOCKET", conflicts_with_all = ["listen", "allow"])]
    pub(crate) broker: Option<PathBuf>,
    /// Admits clients of this network, such as 10.9.0.0/16, besides the subnets that are listened on; may be repeated.
    #[arg(long, value_name = "NETWORK")]
    pub(crate) allow: Vec<String>,
    /// Lets the server be on another host. What clients send without encryption passes through that network without it.
    #[arg(long)]
    pub(crate) allow_plaintext_backend: bool,
    #[command(flatten)]
    pub(crate) common: Common,
}

/// Shows the connections of a gateway that runs.
///
/// On a terminal again and again, otherwise once.
///
/// IN and OUT are bytes from and to the client. SERVER_PORT is the gateway's own port towards the server, by which the server
/// (smbstatus) knows the client. SINCE is how long the connection has been there. What a connection did is seen every 2 s.
///
/// Exit status: 0, or 1 if no gateway answers.
#[derive(Debug, Args)]
pub(crate) struct Status {
    /// The socket of the gateway.
    #[arg(long, value_name = "PATH", default_value = STATUS_SOCKET)]
    pub(crate) socket: PathBuf,
    /// Prints a JSON object, once.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Looks for what keeps clients from RDMA, and says what to do about it.
///
/// Looks at RDMA devices, their ports and addresses, at the ports that the gateway needs (it listens there for a moment), at the
/// server behind it and at Samba's settings. It changes nothing. Findings are told with their place, the reason and the cure, what
/// matters most first. Run it as the user that the gateway runs as. Where a gateway runs already, its limits are looked at.
///
/// Exit status: 0 nothing found, 1 something found, 2 it could not look.
#[derive(Debug, Default, Args)]
#[command(after_help = DOCTOR_EXAMPLES)]
pub(crate) struct Doctor {
    /// Samba's settings, instead of /etc/samba/smb.conf. The files that it includes are read, too.
    #[arg(long, value_name = "FILE")]
    pub(crate) smb_conf: Option<PathBuf>,
    /// Prints an array of JSON objects: id, severity (error, warning, advice), what, file, line, why, cure.
    #[arg(long)]
    pub(crate) json: bool,
    /// The gateway's configuration file, if it has one.
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
}

const DOCTOR_EXAMPLES: &str = "\
Examples:
  smbd-gateway doctor
      this host, with Samba
  smbd-gateway doctor --config /etc/smbd-gateway.toml --json
      for a gateway with a configuration file, read by a program";

const EXAMPLES: &str = "\
Examples:
  smbd-gateway run --server 127.0.0.1:445
      Samba or ksmbd on this host, at all addresses of its RDMA devices
  smbd-gateway run --server 127.0.0.1:445 --listen 10.9.0.1:5445 --allow 10.0.0.0/8
      one address, clients of other subnets too
  smbd-gateway run --server 127.0.0.1:445 --broker /run/smbd-broker/socket
      clients that smbd-broker gives to no other server
  smbd-gateway config > gateway.toml; smbd-gateway run --config gateway.toml
      all settings
  mount -t cifs -o rdma,user=me //10.9.0.1/share /mnt
      a client of Linux";
