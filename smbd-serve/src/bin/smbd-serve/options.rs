//! The command line.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use smbd_daemon::options::Common;
use smbd_daemon::places::Place;
use smbd_smb2::wire::Guid;

use crate::file::STATUS_SOCKET;

/// Serves directories of this host as SMB shares, over SMB Direct (RDMA) and TCP at once, in user space: no root, no kernel module.
#[derive(Debug, Parser)]
#[command(
    name = "smbd-serve",
    version,
    args_conflicts_with_subcommands = true,
    arg_required_else_help = true
)]
#[command(after_help = HELP)]
pub(crate) struct Options {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    #[command(flatten)]
    pub(crate) run: Run,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serves. `smbd-serve DIR` is the same as `smbd-serve run DIR`: a directory called like a command takes a path such as ./status
    #[command(after_help = HELP)]
    Run(Box<Run>),
    Status(Status),
    /// Prints a configuration file with every key, its default and what it means
    Config,
    /// Adds, removes and lists users of a file
    #[command(subcommand)]
    User(User),
}

#[allow(missing_docs, reason = "clap shows the text of a group in the place of that of its command")]
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Run {
    /// The directory: the only share, in the place of those of the configuration file
    #[arg(value_name = "DIR")]
    pub(crate) directory: Option<PathBuf>,
    /// Where to listen, over TCP and, if an RDMA device has the address, SMB Direct; tcp:ADDR:PORT and rdma:ADDR:PORT are one of both.
    /// May be given several times
    #[arg(long, value_name = "ADDR:PORT", value_parser = place)]
    pub(crate) listen: Vec<Place>,
    /// Admits clients of this network only, such as 10.9.0.0/16; may be given several times [default: all]
    #[arg(long, value_name = "NETWORK")]
    pub(crate) allow: Vec<String>,
    /// The socket of smbd-broker: clients come from there, over SMB Direct, and no device is needed here
    #[arg(long, value_name = "PATH")]
    pub(crate) broker: Option<PathBuf>,
    /// An address at which the broker listens. Clients are told of it, so that they make more connections of a session there. May be given
    /// several times
    #[arg(long, value_name = "ADDR")]
    pub(crate) broker_address: Vec<IpAddr>,
    /// Serves each client that comes from the broker in a process of its own, a child, which gets the client's other connections as well
    #[arg(long)]
    pub(crate) fork: bool,
    /// The most children at one time; other clients are refused. What --connections and --memory say is divided among them [default: 16]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) children: Option<u16>,
    /// A child, whose parent is at the other end of its standard input, with the ServerGuid of all of them
    #[arg(long, hide = true, value_name = "GUID", value_parser = guid)]
    pub(crate) child: Option<Guid>,
    /// A file of users: a line NAME:password:PASSWORD or NAME:nt:HASH (32 hexadecimal digits) for each. Nobody else may read it.
    /// `smbd-serve user add` writes one
    #[arg(long, value_name = "FILE")]
    pub(crate) users: Option<PathBuf>,
    /// Lets in unknown and anonymous users, unsigned and unencrypted, with the same rights as all others
    #[arg(long, conflicts_with_all = ["sign", "encrypt"])]
    pub(crate) guest: bool,
    /// Nobody changes anything
    #[arg(long)]
    pub(crate) read_only: bool,
    /// The name of the share [default: share]
    #[arg(long, value_name = "NAME", requires = "directory")]
    pub(crate) share: Option<String>,
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
    /// none, and are told nothing [default: 8]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=32))]
    pub(crate) channels: Option<u8>,
    /// The most connections at one time; more are refused [default: 64]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=4096))]
    pub(crate) connections: Option<u16>,
    /// The most connections of one address, with --fork the most children; more are refused [default: half of --connections or --children,
    /// 8 at least, but not all]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=4096))]
    pub(crate) per_client: Option<u16>,
    /// The most connections of one address, or one /64 of IPv6, that have not logged in or are a guest's; more are refused. With --fork
    /// it is --per-client [default: half of --per-client]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=4096))]
    pub(crate) logging_in: Option<u16>,
    /// Seconds in which a client has to log in; a connection without a session ends then [default: 45]
    #[arg(long, value_name = "S", value_parser = clap::value_parser!(u16).range(1..=600))]
    pub(crate) login: Option<u16>,
    /// The most memory for requests and answers of all clients together, in MiB: 24 for each of them at least [default: 4096]
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u32).range(24..=1 << 20))]
    pub(crate) memory: Option<u32>,
    /// Seconds that requests may still take when the server is told to end [default: 5]
    #[arg(long, value_name = "S", value_parser = clap::value_parser!(u16).range(0..=600))]
    pub(crate) drain: Option<u16>,
    #[command(flatten)]
    pub(crate) common: Common,
}

/// Shows the clients of a server that runs.
///
/// On a terminal again and again, otherwise once.
///
/// IN and OUT are bytes from and to the client, RDMA among them. FILES is how many files the client has open, over all of its connections.
/// With --fork a line is a child, of which the parent knows the process only.
///
/// Exit status: 0, or 1 if no server answers.
#[derive(Debug, Args)]
pub(crate) struct Status {
    /// The socket of the server.
    #[arg(long, value_name = "PATH", default_value = STATUS_SOCKET)]
    pub(crate) socket: PathBuf,
    /// Prints a JSON object, once.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum User {
    /// Adds a user, or gives one another password. Asks for the password at the terminal, which does not show it, or reads a line of
    /// standard input if that is none. The file is made if it is missing
    Add(Named),
    /// Removes a user
    Remove(Named),
    /// Prints the names of users, a line each
    List {
        /// The file of users
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Named {
    /// The file of users
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// The user's name. Capitals make no other user
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
}

/// A ServerGuid in hexadecimal digits, as a parent gives it to its children.
fn guid(text: &str) -> Result<Guid, String> {
    let number = u128::from_str_radix(text, 16).map_err(|error| error.to_string())?;
    Ok(Guid(number.to_be_bytes()))
}

/// `ADDR:PORT`, `tcp:ADDR:PORT` or `rdma:ADDR:PORT`.
fn place(text: &str) -> Result<Place, String> {
    let address = |text: &str| {
        let parsed = text.parse::<SocketAddr>();
        parsed.map_err(|_| format!("{text:?} is no ADDR:PORT, such as 10.9.0.1:445 or [fd00::1]:445"))
    };
    if let Some(text) = text.strip_prefix("tcp:") {
        return address(text).map(Place::Tcp);
    }
    if let Some(text) = text.strip_prefix("rdma:") {
        return address(text).map(Place::Socket);
    }
    address(text).map(Place::Both)
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
by one of another ClientGuid goes on until its connections end. Children read the configuration file and the file of users when they begin. They end with their
parent, in the same order: with SIGTERM, and when it is killed.

Examples:
  smbd-serve user add users tester
      a file of users, with one
  smbd-serve /srv/data --listen 10.9.0.1:445 --users users
      one share
  mount -t cifs //10.9.0.1/share /mnt -o rdma,username=tester,vers=3.1.1
      a client of Linux
  smbd-serve config >serve.toml; smbd-serve run --config serve.toml
      all settings, and several shares

It says on standard output, a line each, who comes, who logs in how, and what went there and back when a client ends.
SIGHUP: it reads the configuration file and the file of users again. Connections stay; the log names what takes a restart.
SIGTERM and SIGINT: it takes no requests any more, finishes those that it has, and ends; a second one ends it at once.
--check also looks at the file of users, at directories and at addresses.
Exit status: 0 it was told to end, 1 something failed, 2 wrong usage.";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_without_a_port_is_none() {
        for text in ["10.9.0.1", "host:445", "udp:10.9.0.1:445", "rdma:10.9.0.1", ""] {
            assert!(place(text).unwrap_err().contains("is no ADDR:PORT"), "{text}");
        }
    }

    #[test]
    fn an_address_is_of_both_ways_unless_one_is_written() {
        let at: SocketAddr = "10.9.0.1:445".parse().unwrap();
        let places = ["10.9.0.1:445", "tcp:10.9.0.1:445", "rdma:10.9.0.1:445"].map(place);
        assert_eq!(places, [Ok(Place::Both(at)), Ok(Place::Tcp(at)), Ok(Place::Socket(at))]);
    }

    #[test]
    fn commands_are_commands_and_everything_else_is_a_directory() {
        let parsed = |line: &str| Options::try_parse_from(line.split(' ')).unwrap();
        assert!(matches!(parsed("smbd-serve config").command, Some(Command::Config)));
        let of_old = parsed("smbd-serve --read-only ./config --listen 10.9.0.1:445");
        assert!(of_old.command.is_none() && of_old.run.directory == Some("./config".into()));
        let Some(Command::Run(run)) = parsed("smbd-serve run /srv --sign").command else { panic!() };
        assert!(run.sign && run.directory == Some("/srv".into()));
        assert!(Options::try_parse_from(["smbd-serve", "--sign", "run", "/srv"]).is_err());
    }
}
