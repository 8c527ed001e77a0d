//! The program `smbd-conformance`.

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use smbd_conformance::catalogue::Catalogue;

mod about;
mod capture;
mod choice;
mod list;
mod output;
mod peers;
mod progress;
mod run;
mod show;
mod stage;
mod statements;
mod target;
#[cfg(test)]
mod tests;

/// Everything was as it should be.
const PASSED: u8 = 0;
/// Something was not, or the peer is gone.
const FAILED: u8 = 1;
/// The command line or a file is no good, or there is no peer.
const USAGE: u8 = 2;
/// Nothing was not, and of something nothing could be said.
const NOT_JUDGED: u8 = 3;
/// A signal ended it: this and its number.
const SIGNALLED: u8 = 128;

/// Holds SMB Direct (MS-SMBD) peers against the rules of the protocol.
///
/// Without a command, `run`.
#[derive(Debug, Parser)]
#[command(name = "smbd-conformance", version, after_help = AFTER_HELP, args_conflicts_with_subcommands = true)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    run: run::RunArgs,
}

const AFTER_HELP: &str = "\
Examples:
  smbd-conformance                              all cases against smbd-core in the simulator
  smbd-conformance run --section 3.1.5.8        the cases that assert something about a section
  smbd-conformance show closing::the_upper      a case, its statements, and what happens when it is played
  smbd-conformance run --format junit --output report.xml
  smbd-conformance run --format html --output report.html
  smbd-conformance run --format json --no-messages
  smbd-conformance run --target socket --connect /tmp/smbd.sock --no-timers
                                                an implementation without an RDMA device: docs/socket-target.md
  smbd-conformance capture trace.pcapng         what two peers did wrong, and their credits
  smbd-conformance capture trace.pcap --json    the same as JSON lines

Exit status: 0 nothing broken, 1 something broken or the peer gone before the end, 2 the command line, a file or the output
is no good, there is no peer at all (no case was played), or nothing is in a capture that could be judged; 3 nothing broken,
and some cases could not be judged, for no reason that the profile knows; 130 or 143 ended by a signal, with a report of what was played until then.";

#[derive(Debug, Subcommand)]
enum Command {
    Run(run::RunArgs),
    List(list::ListArgs),
    Show(show::ShowArgs),
    Capture(capture::CaptureArgs),
}

fn main() -> ExitCode {
    let Arguments { command, run } = match smbd_program::output::options("smbd-conformance") {
        Ok(arguments) => arguments,
        Err(printed) => return printed,
    };
    let catalogue = match Catalogue::load() {
        Ok(catalogue) => catalogue,
        Err(error) => {
            output::complain(&format_args!("the catalogue this program was built with: {error}"));
            return ExitCode::from(USAGE);
        }
    };
    match command {
        None => run::run(&run, &catalogue),
        Some(Command::Run(arguments)) => run::run(&arguments, &catalogue),
        Some(Command::List(arguments)) => list::run(&arguments, &catalogue),
        Some(Command::Show(arguments)) => show::run(&arguments, &catalogue),
        Some(Command::Capture(arguments)) => capture::run(&arguments),
    }
}
