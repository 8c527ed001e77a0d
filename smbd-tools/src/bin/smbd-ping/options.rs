//! The command line.

use clap::Parser;
use smbd_core::Config;
use smbd_tools::tool::{Parameters, Target};

/// Connects to an SMB Direct peer and says what it negotiates and how fast it answers.
///
/// Needs an RDMA device; `rdma link` lists those of this host. The peer may be any: Windows, the Linux kernel, or
/// smbd-echo with --no-smb2. It is asked once for the dialects of SMB2 it speaks, which needs no account.
#[derive(Debug, Parser)]
#[command(name = "smbd-ping", version, after_help = EXAMPLES)]
pub(crate) struct Options {
    /// The peer. Without a port: 5445 on iWARP, 445 on InfiniBand and RoCE. IPv6 addresses take brackets before a port.
    #[arg(value_name = "ADDR[:PORT]", required_unless_present = "device")]
    pub(crate) target: Option<Target>,
    /// Prints what an RDMA device of this host offers and what smbd uses of it, and connects to nobody.
    #[arg(long, value_name = "NAME", conflicts_with = "target")]
    pub(crate) device: Option<String>,
    /// How often to connect and to send an SMB2 NEGOTIATE: a server ends a connection on which it gets a second one.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) count: u32,
    /// Empty messages that ask for an answer (SMB_DIRECT_RESPONSE_REQUESTED), on the first connection.
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub(crate) probes: u32,
    /// Sends nothing of SMB2.
    #[arg(long)]
    pub(crate) no_smb2: bool,
    /// Prints one JSON object instead of text.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    parameters: Parameters,
}

const EXAMPLES: &str = "\
Examples:
  smbd-ping 10.9.0.1                        a file server
  smbd-ping 10.9.0.1 --max-send-size 1100   what it makes of a smaller PreferredSendSize
  smbd-ping 10.9.0.1:5445 --no-smb2         an smbd-echo
  smbd-ping 10.9.0.1 --count 100 --json     times to work with
  smbd-ping --device mlx5_0                 what a device of this host can do

Exit status:
  0  the peer did all it was asked for
  1  it did not, or there is no RDMA device that leads to it, or none of the name
  2  wrong usage, or the output cannot be written";

impl Options {
    /// # Errors
    /// Names option, value and range.
    pub(crate) fn config(&self) -> Result<Config, String> {
        self.parameters.config()
    }
}
