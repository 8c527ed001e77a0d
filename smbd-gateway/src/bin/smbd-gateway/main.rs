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

use options::{Command, Options};
use smbd_daemon::outcome::conclude;
use smbd_daemon::status::show;
use smbd_program::output;
use smbd_program::pages::Section;

/// The name of this program.
const PROGRAM: &str = "smbd-gateway";

fn main() -> ExitCode {
    let options: Options = match output::options_in(PROGRAM, Section::Administration) {
        Ok(options) => options,
        Err(printed) => return printed,
    };
    match options.command {
        Command::Run(run) => conclude::<Options>(PROGRAM, gateway::run(run)),
        Command::Status(options::Status { socket, json }) => show(&socket, PROGRAM, json, status::table),
        Command::Reverse(options) => conclude::<Options>(PROGRAM, reverse::run(options)),
        Command::Config => output::print(PROGRAM, file::DOCUMENTED),
        Command::Doctor(options) => doctor::run(&options),
    }
}
