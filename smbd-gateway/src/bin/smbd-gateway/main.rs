//! `smbd-gateway`: an SMB server that knows TCP only, reached over SMB Direct.

mod backends;
mod connection;
mod connections;
mod counters;
mod doctor;
mod file;
mod gateway;
mod listeners;
mod options;
mod reload;
mod report;
mod reverse;
mod servers;
mod settings;
mod shared;
mod status;
mod wishes;

use std::io::Write as _;
use std::process::ExitCode;

use clap::{CommandFactory, Parser};
use options::{Command, Options};
use settings::Settings;
use smbd_daemon::status::show;
use smbd_daemon::trouble::Trouble;

/// The name of this program.
const PROGRAM: &str = "smbd-gateway";
/// Exit status of wrong usage.
const EXIT_USAGE: u8 = 2;

fn main() -> ExitCode {
    match Options::parse().command {
        Command::Run(run) => match Settings::new(&run) {
            Ok(settings) => match gateway::run(settings, run) {
                Ok(()) => ExitCode::SUCCESS,
                Err(trouble) => trouble.failure(PROGRAM),
            },
            Err(wrong) => {
                Options::command().error(clap::error::ErrorKind::ValueValidation, wrong).exit();
            }
        },
        Command::Status(options::Status { socket, json }) => {
            match show(&socket, PROGRAM, json, status::table) {
                Ok(()) => ExitCode::SUCCESS,
                Err(why) => Trouble::asking(why, PROGRAM).failure(PROGRAM),
            }
        }
        Command::Reverse(options) => match reverse::run(options) {
            Ok(()) => ExitCode::SUCCESS,
            Err(reverse::Failure::Usage(wrong)) => {
                Options::command().error(clap::error::ErrorKind::ValueValidation, wrong).exit();
            }
            Err(reverse::Failure::Trouble(trouble)) => trouble.failure(PROGRAM),
        },
        // Into a full disk, for example.
        Command::Config => match std::io::stdout().write_all(file::DOCUMENTED.as_bytes()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) => ExitCode::from(EXIT_USAGE),
        },
        Command::Doctor(options) => doctor::run(&options),
    }
}
