//! The options of `smbd-gateway reverse`.

use clap::Args;
use smbd_daemon::options::Common;

/// Lets clients that know TCP only use an SMB server over SMB Direct.
///
/// Listens for SMB over TCP, on this host only unless told otherwise, and connects to the server by RDMA for each client. READs and
/// WRITEs of sessions that are neither signed nor encrypted go by RDMA; every other byte passes as it is. Writes a line for each
/// client that comes and goes to standard output.
///
/// `smbd-gateway status --socket /run/smbd-gateway/reverse.sock` shows its connections. Settings are read once: new ones take a
/// restart.
///
/// SIGTERM or SIGINT: takes no more clients, waits until the others are idle, and ends. A second one ends it at once.
///
/// Exit status: 0 after a signal, 1 if it cannot go on, 2 for wrong usage.
#[derive(Debug, Default, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Reverse {
    /// The SMB server; may be repeated: each connection tries them in this order. Without a port 5445 and 445 are tried.
    #[arg(long, value_name = "ADDR[:PORT]")]
    pub(crate) server: Vec<String>,
    /// Where to listen, instead of at 127.0.0.1:1445; may be repeated. An address that others reach needs --allow.
    #[arg(long, value_name = "ADDR:PORT")]
    pub(crate) listen: Vec<String>,
    /// Admits clients of this network, such as 10.9.0.0/16, besides those of this host; may be repeated.
    #[arg(long, value_name = "NETWORK")]
    pub(crate) allow: Vec<String>,
    #[command(flatten)]
    pub(crate) common: Common,
}

const EXAMPLES: &str = "\
Examples:
  smbd-gateway reverse --server 10.9.0.1
      clients of this host, at 127.0.0.1:1445
  smbclient --port 1445 -U me //127.0.0.1/share
      one of them
  mount -t cifs -o port=1445,user=me //127.0.0.1/share /mnt
      another one, of Linux
  smbd-gateway reverse --server 10.9.0.1 --listen 192.0.2.7:445 --allow 192.0.2.0/24
      clients of a network";
