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

use std::process::ExitCode;

use options::{Command, Options};
use smbd_daemon::outcome::conclude;
use smbd_daemon::status::show;
use smbd_program::output;
use smbd_program::pages::Section;

/// The name of this program.
const PROGRAM: &str = "smbd-broker";

fn main() -> ExitCode {
    let options: Options = match output::options_in(PROGRAM, Section::Administration) {
        Ok(options) => options,
        Err(printed) => return printed,
    };
    match options.command {
        Command::Run(run) => conclude::<Options>(PROGRAM, broker::run(run)),
        Command::Status(options::Status { socket, json }) => show(&socket, PROGRAM, json, status::table),
        Command::Config => output::print(PROGRAM, file::DOCUMENTED),
        Command::Doctor(options) => doctor::run(&options),
    }
}
