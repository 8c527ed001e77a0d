//! The driver of `smbd-broker` in virtual time: over simulated devices, one pair for each connection, and simulated sockets, under the
//! faults of the simulator's swarm. Models of clients and owners keep records of their own.
//!
//! A seed decides everything. One that fails is printed with the command that repeats it.

mod arrivals;
mod broker;
mod client;
mod clock;
mod host;
mod large;
#[path = "../../../smbd-gateway/swarm/src/common/law.rs"]
mod law;
mod ledger;
mod model;
mod notes;
mod owner;
mod place;
mod plan;
mod process;
mod run;
#[path = "../../../smbd-gateway/swarm/src/common/seeds.rs"]
mod seeds;
mod shared;
mod slot;
mod socket;
mod summary;
#[cfg(test)]
mod tests;
mod turns;
mod words;

use std::ops::Range;
use std::process::ExitCode;

use clap::Parser;
use smbd_program::output;

/// The name of this program.
const PROGRAM: &str = "smbd-broker-swarm";

/// Runs the driver of smbd-broker over simulated devices and sockets, under faults.
///
/// Each run has a broker, one to three owners, and clients with devices of their own. Its seed decides everything. Exit status: 0
/// all laws hold, 1 a law is broken, 2 wrong usage, or the output cannot be written.
#[derive(Debug, Parser)]
#[command(name = "smbd-broker-swarm", version)]
struct Arguments {
    /// Seeds: A..B, B not included
    #[arg(long, value_name = "A..B", value_parser = seeds::range, default_value = "0..1000")]
    seeds: Range<u64>,
    /// One seed, with all of its steps
    #[arg(long, value_name = "N", conflicts_with = "seeds")]
    seed: Option<u64>,
}

fn main() -> ExitCode {
    match output::options(PROGRAM) {
        Ok(arguments) => output::conclude(PROGRAM, play(arguments)),
        Err(printed) => printed,
    }
}

fn play(arguments: Arguments) -> Result<ExitCode, String> {
    if let Some(seed) = arguments.seed {
        output::write(&format!("{:#?}\n", plan::Plan::of(seed)))?;
        let report = run::run(seed, true);
        let (text, done, clients) = (report.text, report.done, report.clients);
        output::write(&format!("{text}{done} of {clients} clients have done all\n"))?;
        return match report.breach {
            Some(breach) => output::write(&format!("seed {seed}: {breach}\n")).map(|()| ExitCode::FAILURE),
            None => Ok(ExitCode::SUCCESS),
        };
    }
    let summary = seeds::shown(arguments.seeds, summary::many);
    output::write(&summary.to_string())?;
    Ok(if summary.failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
