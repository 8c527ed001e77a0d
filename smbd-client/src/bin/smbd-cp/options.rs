//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use smbd_client::CHANNELS_MAX;

use crate::offer::Offer;
use crate::place::{Scheme, Url};
use crate::quantity;

/// Copies files to and from SMB servers over SMB Direct (RDMA) or TCP, in user space: no mount, no root.
#[derive(Debug, Parser)]
#[command(name = "smbd-cp", version, after_help = EXAMPLES)]
pub(crate) struct Options {
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXAMPLES: &str = "\
A URL is rdma://[DOMAIN;]USER@HOST[:PORT]/SHARE/PATH, or smb:// in the place of rdma://.
  rdma://  over SMB Direct. Without a port: 5445, then 445
  smb://   over TCP first. Without a port: 445. If the server then says that it has interfaces with RDMA
           (multichannel), and this host has a device that reaches one, a second connection goes there,
           over SMB Direct, and has the data; TCP has them when that one is lost
With --channels N up to N connections share the data: the first is that of the URL, the others go where
the server says it has interfaces, over RDMA if both sides have it. Without a port in the URL of their kind
they go to the same ports. When one is lost, the others go on. --channels 1: no other than that of the URL.
Characters that mean something in a URL are written %40 (@), %3B (;), %25 (%), %20 (a space).

A file is NAME.smbd-partial until all of it is copied, and then replaces NAME. One that stops stays there.
Names have the characters that Windows forbids (\"*:<>?\\|, control characters, a space or a dot at the end)
as cifs writes them with mapposix: U+F022 for a colon. Pipes, sockets and devices are not put; a file is put
to its end, whatever length it says it has.

Examples:
  smbd-cp get rdma://tester@10.9.0.1:5445/share/f.bin f.bin --password-file pw
  smbd-cp put a.iso b.iso rdma://tester@10.9.0.1/share/images/ --check
  smbd-cp get smb://tester@server/share/big.img /srv --resume
  smbd-cp ls smb://tester@server/share/images
  smbd-cp perf write rdma://tester@server/share/scratch --size 64K --at-once 1
  smbd-cp put a.iso smb://tester@server/share/ --channels 4

The password is read from --password-file, from SMBD_PASSWORD, or asked for on a terminal.
Exit status: 0 all is done, 1 something failed, 2 wrong usage, or no room for this text, 130 after Ctrl-C, 143 after SIGTERM.";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Copies files from a share to this host
    Get {
        /// URLs of one share, and at the end a file or a directory of this host
        #[arg(required = true, num_args = 1.., value_name = "URL... OUT")]
        paths: Vec<String>,
        #[command(flatten)]
        copy: Copy,
        #[command(flatten)]
        common: Common,
    },
    /// Copies files of this host to a share
    Put {
        /// Files of this host, and at the end a URL; one that ends in / is a directory
        #[arg(required = true, num_args = 1.., value_name = "FILE... URL")]
        paths: Vec<String>,
        #[command(flatten)]
        copy: Copy,
        #[command(flatten)]
        common: Common,
    },
    /// Lists a directory of a share, or one file
    Ls {
        url: Url,
        #[command(flatten)]
        common: Common,
    },
    /// Removes files of a share
    Rm {
        /// URLs of one share
        #[arg(required = true, value_name = "URL")]
        urls: Vec<Url>,
        /// Removes directories, which have to be empty
        #[arg(long, short)]
        directory: bool,
        #[command(flatten)]
        common: Common,
    },
    /// Measures how fast a share is: keeps reads or writes of a file under way for a time
    Perf {
        /// What to measure. A write makes the file if it is not there, and overwrites its beginning; a read needs it to be long enough
        verb: Verb,
        /// A file of the share
        url: Url,
        #[command(flatten)]
        measure: Measure,
        #[command(flatten)]
        common: Common,
    },
    /// Makes directories in a share
    Mkdir {
        /// URLs of one share
        #[arg(required = true, value_name = "URL")]
        urls: Vec<Url>,
        #[command(flatten)]
        common: Common,
    },
}

/// How files are copied.
#[derive(Debug, Args)]
pub(crate) struct Copy {
    /// Goes on behind what a copy that stopped has left: NAME.smbd-partial, else NAME itself
    #[arg(long)]
    pub(crate) resume: bool,
    /// Reads both files again when they are copied, and compares their sums (XXH3)
    #[arg(long)]
    pub(crate) check: bool,
    /// How many pieces of a file (1 MiB at most) are under way at once
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=32))]
    pub(crate) pieces: u16,
    /// How many files are copied at once
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=16))]
    pub(crate) files: u16,
    /// No progress on the terminal
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Verb {
    Read,
    Write,
}

impl Verb {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
        }
    }
}

/// How it is measured.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Measure {
    /// Bytes of an operation: a number, or one of KiB (64K) or MiB (1M)
    #[arg(long, value_name = "BYTES", default_value = "1M", value_parser = quantity::size)]
    pub(crate) size: u32,
    /// How many operations are under way at once, each at a place of its own
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=32))]
    pub(crate) at_once: u16,
    /// Seconds to measure at least
    #[arg(long, value_name = "S", default_value = "5", value_parser = quantity::time)]
    pub(crate) time: f64,
}

/// What all commands take.
#[derive(Debug, Args)]
pub(crate) struct Common {
    /// A file whose first line is the password
    #[arg(long, value_name = "FILE")]
    pub(crate) password_file: Option<PathBuf>,
    /// Encrypts everything behind the login, also what goes by RDMA. If the server cannot do that, data go in messages
    #[arg(long)]
    pub(crate) encrypt: bool,
    /// Signs everything behind the login, also what goes by RDMA. If the server cannot do that, data go in messages
    #[arg(long)]
    pub(crate) sign: bool,
    /// Goes on if the server lets the user in as a guest, with nothing signed or encrypted
    #[arg(long, conflicts_with_all = ["encrypt", "sign"])]
    pub(crate) guest: bool,
    #[command(flatten)]
    pub(crate) offer: Offer,
    /// Debugging: appends the key of the session to a file, as a line of Wireshark's table of SMB2 session keys (smb2_seskey_list).
    /// Whoever has it can read a capture of everything
    #[arg(long, value_name = "FILE")]
    pub(crate) wireshark_keys: Option<PathBuf>,
    /// Seconds to wait for each of: the server's address, the connection, the login, the share. Later requests have 60 s each
    #[arg(long, value_name = "S", default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..=600))]
    pub(crate) connect_timeout: u16,
    /// How many connections share the data at most; more than 1 asks the server for its interfaces. Without it rdma:// has one, and smb://
    /// a second one over SMB Direct where both sides can
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=i64::from(CHANNELS_MAX)))]
    pub(crate) channels: Option<u16>,
    /// Prints what was done as JSON, on one line
    #[arg(long)]
    pub(crate) json: bool,
}

/// Connections of a session over TCP that looks for RDMA: that one, which stays for when the other is lost, and one over SMB Direct. One
/// carries what a link does, and each has buffers of its own.
const CHANNELS_FOUND: u16 = 2;

impl Common {
    /// Whether RDMA is looked for, with a server that is reached so.
    pub(crate) fn looks_for_rdma(&self, scheme: Scheme) -> bool {
        cfg!(feature = "verbs") && scheme == Scheme::Smb && self.channels.is_none()
    }

    /// How many connections there are at most, with a server that is reached so.
    pub(crate) fn channels(&self, scheme: Scheme) -> u16 {
        let found = if self.looks_for_rdma(scheme) { CHANNELS_FOUND } else { 1 };
        self.channels.unwrap_or(found)
    }
}

impl Command {
    pub(crate) const fn common(&self) -> &Common {
        match self {
            Self::Get { common, .. }
            | Self::Put { common, .. }
            | Self::Ls { common, .. }
            | Self::Rm { common, .. }
            | Self::Perf { common, .. }
            | Self::Mkdir { common, .. } => common,
        }
    }
}
