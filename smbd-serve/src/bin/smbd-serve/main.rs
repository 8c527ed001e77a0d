//! `smbd-serve`: directories of this host as SMB shares, over SMB Direct and TCP.

mod broker;
mod child;
mod clients;
mod connection;
mod counters;
mod file;
mod fork;
mod host;
mod interfaces;
mod limits;
mod listeners;
mod options;
mod reload;
mod serve;
mod settings;
mod shared;
mod status;
mod user;
mod users;

use std::process::ExitCode;

use options::{Command, Options};
use smbd_daemon::outcome::conclude;
use smbd_daemon::status::show;
use smbd_program::output;
use smbd_program::pages::Section;

/// The name of this program.
const PROGRAM: &str = "smbd-serve";

fn main() -> ExitCode {
    let options: Options = match output::options_in(PROGRAM, Section::Administration) {
        Ok(options) => options,
        Err(printed) => return printed,
    };
    match options.command {
        None => conclude::<Options>(PROGRAM, serve::run(&options.run)),
        Some(Command::Run(run)) => conclude::<Options>(PROGRAM, serve::run(&run)),
        Some(Command::Status(options::Status { socket, json })) => {
            show(&socket, PROGRAM, json, status::table)
        }
        Some(Command::Config) => output::print(PROGRAM, file::DOCUMENTED),
        Some(Command::User(user)) => user::run(user),
    }
}
