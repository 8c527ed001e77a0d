//! The program `smbd-sim`.

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use smbd_program::output::options;

mod cli;

/// SMB Direct (MS-SMBD) without hardware: peers on simulated RDMA devices, and what captures of real ones say.
///
/// Without a command it runs `examples`.
#[derive(Debug, Parser)]
#[command(name = "smbd-sim", version, after_help = AFTER_HELP)]
struct Args {
    #[command(subcommand)]
    command: Option<Command>,
}

const AFTER_HELP: &str = "\
Examples:
  smbd-sim                                     the specification's examples, message by message
  smbd-sim examples --credits 4 --pcap .       the same with other values, and as a capture for Wireshark
  smbd-sim run --seeds 0..1000 --faults heavy  a thousand random runs, every law checked after every step
  smbd-sim run --seed 7 --trace -              one of them, step by step
  smbd-sim run --seed 7 --pcap run.pcapng      one of them, as a capture for Wireshark
  smbd-sim run --seeds 0..1000 --loop any      calls that wait, engines and async calls as the two ends
  smbd-sim peers                               a connection against models of Linux, of Windows, of the texts
  smbd-sim search                              everything that two connections can do, in small configurations
  smbd-sim soak                                a day of virtual time, idle and loaded
  smbd-sim decode capture.pcapng               what two peers said to each other

Exit status: 0 all passed, 1 something did not, 2 the command line, a file or the output
is no good.";

#[derive(Debug, Subcommand)]
enum Command {
    Decode(cli::decode::DecodeArgs),
    Examples(cli::examples::ExamplesArgs),
    Peers(cli::peers::PeersArgs),
    Run(cli::run::RunArgs),
    Search(cli::search::SearchArgs),
    Soak(cli::soak::SoakArgs),
}

fn main() -> ExitCode {
    let args: Args = match options("smbd-sim") {
        Ok(args) => args,
        Err(printed) => return printed,
    };
    match args.command {
        Some(Command::Decode(args)) => cli::decode::run(&args),
        Some(Command::Examples(args)) => cli::examples::run(&args),
        Some(Command::Peers(args)) => cli::peers::run(&args),
        Some(Command::Run(args)) => cli::run::run(&args),
        Some(Command::Search(args)) => cli::search::run(&args),
        Some(Command::Soak(args)) => cli::soak::run(&args),
        None => cli::examples::run(&cli::examples::ExamplesArgs::default()),
    }
}
