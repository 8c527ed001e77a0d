//! `smbd-ping`: shows whether a peer supports SMB Direct, its parameters, and its response times.

mod json;
mod options;
mod ping;
mod text;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser};
use options::Options;
use ping::Report;
use smbd_tools::tool::{EXIT_PEER, EXIT_USAGE, Output, complain};

fn main() -> ExitCode {
    let options = Options::parse();
    let config = match options.config() {
        Ok(config) => config,
        Err(wrong) => Options::command().error(ErrorKind::ValueValidation, wrong).exit(),
    };
    let report = ping::run(&options, &config);
    match print(&report, options.json, &mut Output::standard()) {
        Ok(()) if report.is_well() => ExitCode::SUCCESS,
        Ok(()) => ExitCode::from(EXIT_PEER),
        Err(error) => {
            complain(&format!("smbd-ping: output: {error}"), None);
            ExitCode::from(EXIT_USAGE)
        }
    }
}

fn print(report: &Report, as_json: bool, out: &mut impl Write) -> io::Result<()> {
    if as_json {
        writeln!(out, "{:#}", json::of(report))?;
    } else {
        text::print(report, out)?;
    }
    out.flush()
}
