//! The program `smbd-conformance`.

use std::process::ExitCode;

use clap::{Parser, Subcommand};

mod capture;

/// Holds SMB Direct (MS-SMBD) peers against the rules of the protocol.
#[derive(Debug, Parser)]
#[command(name = "smbd-conformance", version, after_help = AFTER_HELP)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

const AFTER_HELP: &str = "\
Examples:
  smbd-conformance capture trace.pcapng         what two peers did wrong, and their credits
  smbd-conformance capture trace.pcap --json    the same as JSON lines

Exit status: 0 nothing broken, 1 violations, 2 the command line or a file is no good.";

#[derive(Debug, Subcommand)]
enum Command {
    Capture(capture::CaptureArgs),
}

fn main() -> ExitCode {
    match Arguments::parse().command {
        Command::Capture(arguments) => capture::run(&arguments),
    }
}
