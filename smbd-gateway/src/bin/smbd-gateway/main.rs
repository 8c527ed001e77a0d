//! `smbd-gateway`: an SMB server that knows TCP only, reached over SMB Direct.

mod backends;
mod basics;
mod broker;
mod connection;
mod connections;
mod counters;
mod doctor;
mod file;
mod gateway;
mod listeners;
mod options;
mod passing;
mod reload;
mod report;
mod reverse;
mod servers;
mod settings;
mod shared;
mod status;
mod wishes;

use std::process::ExitCode;

use clap::CommandFactory;
use options::{Command, Options};
use settings::Settings;
use smbd_daemon::status::show;
use smbd_program::output;

/// The name of this program.
const PROGRAM: &str = "smbd-gateway";

fn main() -> ExitCode {
    let options: Options = match output::options(PROGRAM) {
        Ok(options) => options,
        Err(printed) => return printed,
    };
    match options.command {
        Command::Run(run) => match Settings::new(&run) {
            Ok(_) if run.common.check => output::checked(PROGRAM),
            Ok(settings) => match gateway::run(settings, run) {
                Ok(()) => ExitCode::SUCCESS,
                Err(trouble) => trouble.failure(PROGRAM),
            },
            Err(wrong) => {
                Options::command().error(clap::error::ErrorKind::ValueValidation, wrong).exit();
            }
        },
        Command::Status(options::Status { socket, json }) => show(&socket, PROGRAM, json, status::table),
        Command::Reverse(options) => match reverse::run(options) {
            Ok(reverse::Done::Checked) => output::checked(PROGRAM),
            Ok(reverse::Done::Served) => ExitCode::SUCCESS,
            Err(reverse::Failure::Usage(wrong)) => {
                Options::command().error(clap::error::ErrorKind::ValueValidation, wrong).exit();
            }
            Err(reverse::Failure::Trouble(trouble)) => trouble.failure(PROGRAM),
        },
        Command::Config => output::print(PROGRAM, file::DOCUMENTED),
        Command::Doctor(options) => doctor::run(&options),
    }
}
