//! `smbd-broker`: one process owns RDMA, and SMB servers attach to it.

mod broker;
mod counters;
mod doctor;
mod file;
mod listeners;
mod news;
mod options;
mod owners;
mod reload;
mod settings;
mod shared;
mod status;

use std::io::Write as _;
use std::process::ExitCode;

use clap::{CommandFactory as _, Parser as _};
use options::{Command, Options};
use settings::Settings;
use smbd_daemon::status::show;
use smbd_daemon::trouble::Trouble;

/// The name of this program.
const PROGRAM: &str = "smbd-broker";
/// Exit status of wrong usage.
const EXIT_USAGE: u8 = 2;

fn main() -> ExitCode {
    match Options::parse().command {
        Command::Run(run) => match Settings::new(&run) {
            Ok(settings) => match broker::run(settings, run) {
                Ok(()) => ExitCode::SUCCESS,
                Err(trouble) => trouble.failure(PROGRAM),
            },
            Err(wrong) => Options::command().error(clap::error::ErrorKind::ValueValidation, wrong).exit(),
        },
        Command::Status(options::Status { socket, json }) => {
            match show(&socket, PROGRAM, json, status::table) {
                Ok(()) => ExitCode::SUCCESS,
                Err(why) => Trouble::asking(why, PROGRAM).failure(PROGRAM),
            }
        }
        // Into a full disk, for example.
        Command::Config => match std::io::stdout().write_all(file::DOCUMENTED.as_bytes()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) => ExitCode::from(EXIT_USAGE),
        },
        Command::Doctor(options) => doctor::run(&options),
    }
}
