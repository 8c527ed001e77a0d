//! `smbd-ping`: shows whether a peer supports SMB Direct, its parameters, and its response times; or what a device can do.

mod device;
mod json;
mod options;
mod ping;
mod text;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::CommandFactory;
use clap::error::ErrorKind;
use options::Options;
use ping::Report;
use smbd_program::output::{self, Output};
use smbd_tools::tool::{EXIT_PEER, EXIT_USAGE, complain};

fn main() -> ExitCode {
    let options: Options = match output::options("smbd-ping") {
        Ok(options) => options,
        Err(printed) => return printed,
    };
    let config = match options.config() {
        Ok(config) => config,
        Err(wrong) => Options::command().error(ErrorKind::ValueValidation, wrong).exit(),
    };
    let out = &mut Output::standard();
    let printed = if let Some(name) = &options.device {
        device::run(name, options.json, out)
    } else {
        let report = ping::run(&options, &config);
        print(&report, options.json, out).map(|()| report.is_well())
    };
    match printed {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(EXIT_PEER),
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
