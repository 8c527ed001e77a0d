//! `smbd-perf`: how fast two SMB Direct peers are. The other one is `smbd-echo`.

mod json;
mod measured;
mod options;
mod result;
mod run;
mod text;

use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser};
use options::Options;
use smbd_tools::tool::EXIT_PEER;

fn main() -> ExitCode {
    let options = Options::parse();
    let settings = match options.settings() {
        Ok(settings) => settings,
        Err(wrong) => Options::command().error(ErrorKind::ValueValidation, wrong).exit(),
    };
    match run::run(&settings) {
        Ok(result) if options.json => println!("{:#}", json::of(&settings, &result)),
        Ok(result) => text::print(&settings, &result),
        Err(trouble) => {
            eprintln!("smbd-perf: {}: {}", settings.address, trouble.what);
            if let Some(advice) = trouble.advice {
                eprintln!("  check: {advice}");
            }
            return ExitCode::from(EXIT_PEER);
        }
    }
    ExitCode::SUCCESS
}
