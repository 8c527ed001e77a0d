//! `smbd-echo`: a server for `smbd-perf` and for tests, over real RDMA devices.

mod options;
mod refusals;
mod room;
mod say;
mod serve;
mod served;
mod signals;
mod trouble;

use std::process::ExitCode;

use clap::CommandFactory;
use clap::error::ErrorKind;
use options::Options;
use serve::Echo;
use smbd_program::output;
use smbd_tools::tool::complain;
use trouble::Trouble;

fn main() -> ExitCode {
    let options: Options = match output::options("smbd-echo") {
        Ok(options) => options,
        Err(printed) => return printed,
    };
    let settings = match options.settings() {
        Ok(settings) => settings,
        Err(wrong) => Options::command().error(ErrorKind::ValueValidation, wrong).exit(),
    };
    match Echo::listen(&settings).and_then(Echo::run) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Trouble { what, advice }) => {
            complain(&format!("smbd-echo: {what}"), advice);
            ExitCode::FAILURE
        }
    }
}
