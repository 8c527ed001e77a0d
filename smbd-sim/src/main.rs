//! The program `smbd-sim`.

use std::process::ExitCode;

use clap::{Parser, Subcommand};

mod cli;

#[derive(Debug, Parser)]
#[command(name = "smbd-sim", version, about)]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Decode(cli::decode::DecodeArgs),
    Examples(cli::examples::ExamplesArgs),
    Run(cli::run::RunArgs),
}

fn main() -> ExitCode {
    match Args::parse().command {
        Command::Decode(args) => cli::decode::run(&args),
        Command::Examples(args) => cli::examples::run(&args),
        Command::Run(args) => cli::run::run(&args),
    }
}
