//! `smbd-ping`: does a peer speak SMB Direct, with which parameters, and how fast does it answer?

mod json;
mod options;
mod ping;
mod text;

use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser};
use options::Options;
use smbd_tools::tool::EXIT_PEER;

fn main() -> ExitCode {
    let options = Options::parse();
    let config = match options.config() {
        Ok(config) => config,
        Err(wrong) => Options::command().error(ErrorKind::ValueValidation, wrong).exit(),
    };
    let report = ping::run(&options, &config);
    if options.json {
        println!("{:#}", json::of(&report));
    } else {
        text::print(&report);
    }
    if report.is_well() { ExitCode::SUCCESS } else { ExitCode::from(EXIT_PEER) }
}
