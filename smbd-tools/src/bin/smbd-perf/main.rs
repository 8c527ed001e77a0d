//! `smbd-perf`: measures the performance of two SMB Direct peers. The other one is `smbd-echo`.

mod json;
mod measured;
mod options;
mod result;
mod run;
mod text;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::CommandFactory;
use clap::error::ErrorKind;
use options::{Options, Settings};
use result::{Measurement, Trouble};
use smbd_program::output::{self, Output};
use smbd_tools::tool::{EXIT_PEER, EXIT_USAGE, complain};

fn main() -> ExitCode {
    let options: Options = match output::options("smbd-perf") {
        Ok(options) => options,
        Err(printed) => return printed,
    };
    let settings = match options.settings() {
        Ok(settings) => settings,
        Err(wrong) => Options::command().error(ErrorKind::ValueValidation, wrong).exit(),
    };
    let measured = run::run(&settings);
    match print(&settings, &measured, options.json, &mut Output::standard()) {
        Ok(()) if measured.is_ok() => ExitCode::SUCCESS,
        Ok(()) => ExitCode::from(EXIT_PEER),
        Err(error) => {
            complain(&format!("smbd-perf: output: {error}"), None);
            ExitCode::from(EXIT_USAGE)
        }
    }
}

/// Results on `out`; what went wrong on standard error, unless that is for a program, too.
fn print(
    settings: &Settings,
    measured: &Result<Measurement, Trouble>,
    as_json: bool,
    out: &mut impl Write,
) -> io::Result<()> {
    match measured {
        _ if as_json => writeln!(out, "{:#}", json::of(settings, measured))?,
        Ok(result) => text::print(settings, result, out)?,
        Err(Trouble { what, advice }) => {
            complain(&format!("smbd-perf: {}: {what}", settings.address), *advice)
        }
    }
    out.flush()
}
