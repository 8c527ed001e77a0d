//! The command line.

use std::net::IpAddr;
use std::path::PathBuf;

use clap::Parser;
use smbd_daemon::log::Format;
use smbd_smb2::wire::Guid;

use crate::listen::Listen;

/// Serves a directory of this host as an SMB share, over SMB Direct (RDMA) and TCP at once, in user space: no root, no kernel module.
#[derive(Debug, Parser)]
#[command(name = "smbd-serve", version, after_help = HELP)]
pub(crate) struct Options {
    /// The directory
    #[arg(value_name = "DIR")]
    pub(crate) directory: PathBuf,
    /// Where to listen, over TCP and, if an RDMA device has the address, SMB Direct; tcp:ADDR:PORT and rdma:ADDR:PORT are one of both.
    /// May be given several times
    #[arg(long, required_unless_present = "broker", value_name = "ADDR:PORT")]
    pub(crate) listen: Vec<Listen>,
    /// The socket of smbd-broker: clients come from there, over SMB Direct, and no device is needed here
    #[arg(long, value_name = "PATH")]
    pub(crate) broker: Option<PathBuf>,
    /// An address at which the broker listens. Clients are told of it, so that they make more connections of a session there. May be given
    /// several times
    #[arg(long, requires = "broker", value_name = "ADDR")]
    pub(crate) broker_address: Vec<IpAddr>,
    /// Serves each client that comes from the broker in a process of its own, a child, which gets the client's other connections as well
    #[arg(long, requires = "broker", conflicts_with = "listen")]
    pub(crate) fork: bool,
    /// The most children at one time; other clients are refused. What --connections and --memory say is divided among them
    #[arg(long, requires = "fork", value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) children: u16,
    /// A child, whose parent is at the other end of its standard input, with the ServerGuid of all of them
    #[arg(long, hide = true, requires = "fork", value_name = "GUID", value_parser = guid)]
    pub(crate) child: Option<Guid>,
    /// A file of users: a line NAME:password:PASSWORD or NAME:nt:HASH (32 hexadecimal digits) for each. Nobody else may read it
    #[arg(long, value_name = "FILE", required_unless_present = "guest")]
    pub(crate) users: Option<PathBuf>,
    /// Lets in unknown and anonymous users, unsigned and unencrypted, with the same rights as all others
    #[arg(long, conflicts_with_all = ["sign", "encrypt"])]
    pub(crate) guest: bool,
    /// Nobody changes anything
    #[arg(long)]
    pub(crate) read_only: bool,
    /// The name of the share
    #[arg(long, value_name = "NAME", default_value = "share")]
    pub(crate) share: String,
    /// Names in other capitals are other files, as for programs of this host
    #[arg(long)]
    pub(crate) case_sensitive: bool,
    /// Refuses what is not signed
    #[arg(long)]
    pub(crate) sign: bool,
    /// Refuses what is not encrypted
    #[arg(long)]
    pub(crate) encrypt: bool,
    /// Signs and encrypts no data for RDMA: those of signed and encrypted sessions go in messages, whatever the client can do
    #[arg(long)]
    pub(crate) no_rdma_transforms: bool,
    /// The most connections of one session. Clients are told at which addresses they can make more, over TCP and SMB Direct; 1: they make
    /// none, and are told nothing
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u8).range(1..=32))]
    pub(crate) channels: u8,
    /// The most connections at one time; more are refused
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u16).range(1..=4096))]
    pub(crate) connections: u16,
    /// The most connections of one address, with --fork the most children; more are refused [default: half of --connections or --children,
    /// 8 at least, but not all]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=4096))]
    pub(crate) per_client: Option<u16>,
    /// The most connections of one address, or one /64 of IPv6, that have not logged in or are a guest's; more are refused. With --fork
    /// it is --per-client [default: half of --per-client]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=4096))]
    pub(crate) logging_in: Option<u16>,
    /// Seconds in which a client has to log in; a connection without a session ends then
    #[arg(long, value_name = "S", default_value_t = 45, value_parser = clap::value_parser!(u16).range(1..=600))]
    pub(crate) login: u16,
    /// The most memory for requests and answers of all clients together, in MiB: 24 for each of them at least
    #[arg(long, value_name = "MIB", default_value_t = 4096, value_parser = clap::value_parser!(u32).range(24..=1 << 20))]
    pub(crate) memory: u32,
    /// Seconds that requests may still take when the server is told to end
    #[arg(long, value_name = "S", default_value_t = 5, value_parser = clap::value_parser!(u16).range(0..=600))]
    pub(crate) drain: u16,
    /// How log lines look
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "text")]
    pub(crate) log: Format,
    /// Checks the options, the file of users, the directory and the addresses, and ends: 0 if all can be served, otherwise 2 and what is
    /// wrong
    #[arg(long)]
    pub(crate) check: bool,
}

/// A ServerGuid in hexadecimal digits, as a parent gives it to its children.
fn guid(text: &str) -> Result<Guid, String> {
    let number = u128::from_str_radix(text, 16).map_err(|error| error.to_string())?;
    Ok(Guid(number.to_be_bytes()))
}

const HELP: &str = "\
ADDR:PORT is both: TCP at the port, and SMB Direct at the same one on InfiniBand and RoCE, but at 5445 on iWARP, whose connections are
TCP themselves (so ADDR:5445 is SMB Direct only there).

It is fit for sharing a directory with clients that are trusted with all of it: copies, scratch space, tests, machines of one owner. It is
not fit as a file server of many users: all clients have the rights of the user that runs it, there are no access control lists, no
streams, no extended attributes, no oplocks or leases (so clients cache nothing), no durable handles (files are closed with the
last connection of their session), no notification of changes, no printers and no DFS. Locks hold among its clients, not against programs of this host. Links
in the directory are not followed. It has no limit of guesses of a password: do not let the internet reach it.

Data of signed and encrypted sessions go by RDMA, signed and encrypted as well, to clients that can do it in 3.1.1 (RDMA transforms:
smbd-cp, Windows 11, Windows Server 2022). With all others they go in messages: Linux has no transforms.

Clients that use several connections for a session (multichannel) are told the addresses that are listened at, which of them have RDMA, and
how fast they are: as fast as the system says, or 10 Gbit/s if it does not know. Such a session goes on until its last connection is lost.

With --fork a client is served by a child: a process that attaches to the broker by itself, gets all connections of the client (by its
ClientGuid, and by the sessions that they bind), and ends with the last of them. What happens to a child happens to its client alone.
Locks, share modes and delete-on-close hold among the connections of a child, so not among clients; and a session that a client replaces
by one of another ClientGuid goes on until its connections end. Children read the file of users when they begin. They end with their
parent, in the same order: with SIGTERM, and when it is killed.

Example:
  smbd-serve /srv/data --listen 10.9.0.1:445 --users users
  mount -t cifs //10.9.0.1/share /mnt -o rdma,username=tester,vers=3.1.1

It says on standard output, a line each, who comes, who logs in how, and what went there and back when a client ends.
SIGTERM and SIGINT: it takes no requests any more, finishes those that it has, and ends; a second one ends it at once.
Exit status: 0 it was told to end, 1 something failed, 2 wrong usage.";
